package advice

import (
	"context"
	"fmt"

	"pipe/experts/builder/part"
	"pipe/experts/retrieval"
)

// passages shows the best passages for an instance's text, or for a query that
// a model writes from it.
type passages struct {
	retriever retrieval.Retriever
	top       int
	queries   *retrieval.Reformulator // nil: the instance's text is the query
}

type passagesSettings struct {
	retrieval.Settings
	Top          int            `json:"top"`                    // largest number of passages shown
	Reformulator map[string]any `json:"reformulator,omitempty"` // kind and settings of a chat model
}

func newPassages(ctx context.Context, s *part.Setup, settings map[string]any) (part.Advice, error) {
	var cfg passagesSettings
	if err := part.DecodeSettings(settings, &cfg); err != nil {
		return nil, err
	}
	asks := cfg.Reformulator != nil
	own := cfg
	own.Reformulator = nil // since the reformulator makes its settings an input itself
	if err := s.InputSettings(struct {
		passagesSettings
		Asks bool `json:"asks"`
	}{own, asks}); err != nil {
		return nil, err
	}
	if cfg.Top <= 0 || cfg.Top > retrieval.MaxPassages {
		return nil, fmt.Errorf("top is %d, not 1 to %d passages", cfg.Top, retrieval.MaxPassages)
	}
	a := &passages{top: cfg.Top}
	var err error
	if a.retriever, err = retrieval.Open(ctx, s, cfg.Settings, cfg.Top); err != nil {
		return nil, err
	}
	if asks {
		a.queries, err = retrieval.OpenReformulator(ctx, s, cfg.Reformulator)
	}
	return a, err
}

// OpenRetriever opens the retriever of advice of kind passages with these settings. It returns nil if a model writes
// the queries, since a search for the instances' own texts would not find the passages that are shown. The build closes
// it.
func OpenRetriever(ctx context.Context, s *part.Setup, settings map[string]any) (*retrieval.CachedRetriever, error) {
	var cfg passagesSettings
	if err := part.DecodeSettings(settings, &cfg); err != nil || cfg.Reformulator != nil {
		return nil, err
	}
	return retrieval.Open(ctx, s, cfg.Settings, cfg.Top)
}

// Most is the largest number of passages shown for an instance.
func (a *passages) Most() int { return a.top }

// QueriesModel reports whether a model writes the queries.
func (a *passages) QueriesModel() bool { return a.queries != nil }

// Show finds the passages of every instance.
func (a *passages) Show(ctx context.Context, batch []part.Instance) ([]part.AdvicePayload, error) {
	shown, queries := make([]part.AdvicePayload, len(batch)), make([]string, len(batch))
	for n := range batch {
		if err := batch[n].NeedText(); err != nil {
			return nil, err
		}
		queries[n] = batch[n].Text
	}
	if a.queries != nil {
		var err error
		if queries, err = a.queries.Queries(ctx, batch); err != nil {
			return nil, err
		}
		for n, q := range queries {
			shown[n].Query = q
		}
	}
	found, err := a.retriever.Find(ctx, queries, a.top)
	if err != nil {
		return nil, err
	}
	for n, list := range found {
		shown[n].Passages = list
	}
	return shown, nil
}

// Close frees the model; the retriever is the build's.
func (a *passages) Close() error {
	if a.queries == nil {
		return nil
	}
	return a.queries.Close()
}
