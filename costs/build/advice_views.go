package build

import (
	"context"
	"errors"

	"pipe/featurize"
)

// views shows an image in several ways; image experts average what they say of
// each. Levels that share views share the work.
type views struct{ list []featurize.View }

type viewsSettings struct {
	Views  []string `json:"views"`  // as featurize.ParseView knows them
	Pixels int      `json:"pixels"` // size of a shift
}

func newViews(_ context.Context, s *Setup, settings map[string]any) (Advice, error) {
	cfg := viewsSettings{Pixels: 2}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if len(cfg.Views) == 0 {
		return nil, errors.New("views: none are listed")
	}
	a := &views{}
	for _, name := range cfg.Views {
		v, err := featurize.ParseView(name, cfg.Pixels)
		if err != nil {
			return nil, err
		}
		a.list = append(a.list, v)
	}
	return a, nil
}

// Show returns the same views for every instance.
func (a *views) Show(_ context.Context, batch []Instance) ([]Shown, error) {
	return same(batch, Shown{Views: a.list}), nil
}
