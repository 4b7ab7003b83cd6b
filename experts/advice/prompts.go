package advice

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/experts/builder/part"
)

// prompts shows prompt templates, into which an expert for images and texts
// inserts the names of the classes. Levels with the same file and the same
// first templates are nested: each is a prefix of the same list.
type prompts struct{ templates []string }

type promptsSettings struct {
	Templates part.Path `json:"templates"`
	First     []string  `json:"first"` // templates to put first, in this order; the others follow as in the file
	Count     int       `json:"count"` // number of templates shown, from the start of the list
}

func newPrompts(ctx context.Context, s *part.Setup, settings map[string]any) (part.Advice, error) {
	var cfg promptsSettings
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if cfg.Templates == "" {
		return nil, errors.New("templates: not set")
	}
	path := s.Path(cfg.Templates)
	if err := s.File(ctx, "templates", path); err != nil {
		return nil, fmt.Errorf("read templates: %w", err)
	}
	list, err := readTemplates(ctx, path)
	if err != nil {
		return nil, err
	}
	if list, err = moveFirst(list, cfg.First); err != nil {
		return nil, &costs.DataError{File: path.String(), Err: err}
	}
	if cfg.Count < 1 || cfg.Count > len(list) {
		return nil, fmt.Errorf("count is %d, not 1 to %d, the templates of %q", cfg.Count, len(list), path)
	}
	return &prompts{list[:cfg.Count]}, nil
}

// moveFirst returns the templates with some of them moved to the front.
func moveFirst(list, first []string) ([]string, error) {
	for i, t := range first {
		if !slices.Contains(list, t) {
			return nil, fmt.Errorf("first: there is no template %q", t)
		}
		if slices.Contains(first[:i], t) {
			return nil, fmt.Errorf("first: %q is a duplicate", t)
		}
	}
	rest := slices.DeleteFunc(slices.Clone(list), func(t string) bool { return slices.Contains(first, t) })
	return slices.Concat(first, rest), nil
}

// Templates returns the templates, in their order.
func (a *prompts) Templates() []string { return a.templates }

// Show returns the same templates for every instance.
func (a *prompts) Show(_ context.Context, batch []part.Instance) ([]part.AdvicePayload, error) {
	return part.ShowAll(batch, part.AdvicePayload{Prompts: a.templates}), nil
}
