package retrieval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"pipe/experts/builder/part"
	"pipe/experts/retrieval/bm25"
	"pipe/experts/retrieval/search"
	"pipe/experts/service"
)

// Settings say where passages are found. Exactly one of index, pages and
// opensearch is set. Parts with the same settings share one retriever.
type Settings struct {
	Index      part.Path        `json:"index,omitempty"`      // an index file of pipe index
	Pages      part.Path        `json:"pages,omitempty"`      // pages in FEVER's format, indexed in the folder of experts
	Ranking    *ranking         `json:"ranking,omitempty"`    // of pages; an index has its own
	OpenSearch *search.Settings `json:"opensearch,omitempty"` // an OpenSearch or Elasticsearch service
}

// ranking is how pages are ranked; missing settings have their defaults.
type ranking bm25.Settings

// UnmarshalJSON starts from the defaults.
func (r *ranking) UnmarshalJSON(b []byte) error {
	var given map[string]any
	if err := json.Unmarshal(b, &given); err != nil {
		return err
	}
	s := bm25.DefaultSettings()
	if err := part.DecodeSettings(given, &s); err != nil {
		return err
	}
	*r = ranking(s)
	return s.Validate()
}

// MaxPassages is the largest number of passages that may be requested.
const MaxPassages = 1000

// Open opens the retriever of the settings for a part that needs up to top
// passages, and makes it an input of that part. The build closes it.
func Open(ctx context.Context, s *part.Setup, cfg Settings, top int) (*CachedRetriever, error) {
	named := 0
	for _, there := range []bool{cfg.Index != "", cfg.Pages != "", cfg.OpenSearch != nil} {
		if there {
			named++
		}
	}
	if named != 1 {
		return nil, errors.New("index, pages, opensearch: exactly one must be set")
	}
	if cfg.Ranking != nil && cfg.Pages == "" {
		return nil, errors.New("ranking applies to pages only; an index and a service have their own")
	}
	key, err := cfg.key(s)
	if err != nil {
		return nil, err
	}
	r, err := part.Shared(s.Build, key, func() (*CachedRetriever, error) {
		corpus, err := cfg.open(ctx, s)
		if err != nil {
			return nil, err
		}
		return &CachedRetriever{corpus: corpus}, nil
	})
	if err != nil {
		return nil, err
	}
	r.most = max(r.most, top)
	s.Input("pages", r.Identity())
	return r, nil
}

// key is equal for equal settings. Paths are resolved, and all settings of a service are included.
func (cfg Settings) key(s *part.Setup) (string, error) {
	b, err := json.Marshal(cfg)
	key := fmt.Sprintf("%s\n%s\n%s", s.Path(cfg.Index), s.Path(cfg.Pages), b)
	if cfg.OpenSearch != nil {
		key += fmt.Sprintf("\n%+v", *cfg.OpenSearch)
	}
	return key, err
}

func (cfg Settings) open(ctx context.Context, s *part.Setup) (corpus, error) {
	switch {
	case cfg.Index != "":
		path, err := s.Path(cfg.Index).Fetch(ctx)
		if err != nil {
			return nil, err
		}
		return OpenIndex(path)
	case cfg.Pages != "":
		settings := bm25.DefaultSettings()
		if cfg.Ranking != nil {
			settings = bm25.Settings(*cfg.Ranking)
		}
		return indexPages(ctx, s, s.Path(cfg.Pages), settings)
	}
	return openSearch(ctx, s, cfg.OpenSearch)
}

// openSearch requests the number of pages of the index, so that a build with a
// wrong address or key fails at once.
func openSearch(ctx context.Context, s *part.Setup, cfg *search.Settings) (corpus, error) {
	accounts := service.AccountsOf(s.Build)
	certificates, err := s.Path(cfg.CAFile).Fetch(ctx)
	if err != nil {
		return nil, err
	}
	found, err := search.Open(cfg, certificates, accounts.Unshared(), accounts.WarnOpen)
	if err != nil {
		return nil, err
	}
	if err := found.Count(ctx); err != nil {
		return nil, errors.Join(err, found.Close())
	}
	return found, nil
}

// Retriever finds passages. It is safe for concurrent use.
type Retriever interface {
	// Find returns up to top passages per query, best first, without
	// duplicates. Ties are in the order of their pages' names.
	Find(ctx context.Context, queries []string, top int) ([][]part.Passage, error)
}

// corpus is a retriever that the build owns.
type corpus interface {
	Retriever
	Identity() string // identifies the corpus: a digest, or a short text
	Close() error
}

// CachedRetriever caches recent results, so that levels of advice which show
// different numbers of passages for the same query search only once. It is safe
// for concurrent use.
type CachedRetriever struct {
	corpus
	most int // largest number of passages of any level; every search is for this many

	mu          sync.Mutex
	recent, old map[string]foundList // by query
}

// foundList is the best passages of a query.
type foundList struct {
	passages []part.Passage
	asked    int // number of passages requested
}

// rememberedQueries is the least number of recent queries that are kept.
const rememberedQueries = 4096

// Find returns up to top passages for every query. It searches for as many as
// any level shows, and caches them.
func (r *CachedRetriever) Find(ctx context.Context, queries []string, top int) ([][]part.Passage, error) {
	most := max(r.most, top)
	out, missing := r.recall(queries, top)
	if len(missing) == 0 {
		return out, nil
	}
	asked := make([]string, len(missing))
	for i, n := range missing {
		asked[i] = queries[n]
	}
	found, err := r.corpus.Find(ctx, asked, most)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, n := range missing {
		out[n] = found[i][:min(top, len(found[i]))]
		r.remember(asked[i], foundList{found[i], most})
	}
	return out, nil
}

// recall returns the cached results, and the indices of the queries without one.
func (r *CachedRetriever) recall(queries []string, top int) (out [][]part.Passage, missing []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out = make([][]part.Passage, len(queries))
	for n, q := range queries {
		list, ok := r.recent[q]
		if !ok {
			list = r.old[q]
		}
		if list.asked < top {
			missing = append(missing, n)
			continue
		}
		out[n] = list.passages[:min(top, len(list.passages))]
	}
	return out, missing
}

func (r *CachedRetriever) remember(query string, list foundList) {
	if len(r.recent) >= rememberedQueries || r.recent == nil {
		r.old, r.recent = r.recent, make(map[string]foundList, rememberedQueries)
	}
	r.recent[query] = list
}

// has reports whether a page is in the corpus. It is true for a corpus that
// does not know its pages.
func (r *CachedRetriever) has(page string) (bool, error) {
	if c, ok := r.corpus.(pageLister); ok {
		return c.has(page)
	}
	return true, nil
}
