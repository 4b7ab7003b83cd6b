package grade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pipe/costs/prompt"
	"pipe/internal/config"
)

// pair asks a model that reads two texts how probable a class is.
type pair struct {
	*question
	model  PairModel
	first  *prompt.Template
	second *prompt.Template
	class  int
}

type pairSettings struct {
	Model  map[string]any `json:"model"`
	Class  string         `json:"class"`  // whose probability is the score; "": the only one
	First  string         `json:"first"`  // templates of the two texts
	Second string         `json:"second"` //
}

func newPair(ctx context.Context, settings map[string]any, models Models) (Grader, error) {
	cfg := pairSettings{First: "{{.Reference}}", Second: "{{.Answer}}"}
	if err := config.DecodeSettings(settings, &cfg); err != nil {
		return nil, err
	}
	first, errFirst := prompt.Parse("first", cfg.First)
	second, errSecond := prompt.Parse("second", cfg.Second)
	if err := errors.Join(errFirst, errSecond); err != nil {
		return nil, err
	}
	q, err := newQuestion(first, second)
	if err == nil {
		err = canOpen(cfg.Model, models)
	}
	if err != nil {
		return nil, err
	}
	g := &pair{question: q, first: first, second: second}
	if g.model, err = models.Pair(ctx, cfg.Model); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	classes := g.model.Classes()
	g.class = slices.Index(classes, cfg.Class)
	if cfg.Class == "" && len(classes) == 1 {
		g.class = 0
	}
	if g.class < 0 {
		return nil, errors.Join(fmt.Errorf("class is %q; the classes of the model are %s", cfg.Class, strings.Join(classes, ", ")), g.model.Close())
	}
	return g, nil
}

// Close frees the model.
func (g *pair) Close() error { return g.model.Close() }

// Grade asks about every reference of every answer. Without a reference in the templates it asks once.
func (g *pair) Grade(ctx context.Context, answers []Answer) ([]float64, error) {
	var pairs [][2]string
	var of []int // the answer of each pair
	for i, a := range answers {
		list, err := g.versions(a)
		if err != nil {
			return nil, &AnswerError{i, err}
		}
		for _, values := range list {
			one, err := g.first.Write(values)
			two, err2 := g.second.Write(values)
			if err := errors.Join(err, err2); err != nil {
				return nil, &AnswerError{i, err}
			}
			pairs, of = append(pairs, [2]string{one, two}), append(of, i)
		}
	}
	scores := make([]float64, len(answers))
	found, err := g.model.Probabilities(ctx, pairs)
	if err != nil {
		return nil, about(err, of)
	}
	for n, p := range found {
		scores[of[n]] = max(scores[of[n]], min(max(float64(p[g.class]), 0), 1))
	}
	return scores, nil
}

// versions returns the values of the templates for each reference. An empty answer has none: its score is 0.
func (g *pair) versions(a Answer) ([]map[string]any, error) {
	if strings.TrimSpace(WithoutThoughts(a.Text)) == "" {
		return nil, nil
	}
	if !g.NeedsReference() {
		return []map[string]any{g.values(a, a.References)}, nil
	}
	if err := checkAll(g, a.References); err != nil {
		return nil, err
	}
	var list []map[string]any
	for i := range a.References {
		list = append(list, g.values(a, a.References[i:i+1]))
	}
	return list, nil
}
