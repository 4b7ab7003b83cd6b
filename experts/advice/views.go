package advice

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/experts/builder/part"
	"pipe/featurize/pixel"
)

// views shows several views of an image; image experts average their
// predictions over them. Levels that share views share the work.
type views struct{ list []pixel.View }

type viewsSettings struct {
	Views   []string `json:"views"`             // names for featurize.ParseView
	Pixels  int      `json:"pixels"`            // size of a shift
	Corners float64  `json:"corners,omitempty"` // side of crops in corners as a share of the image's shorter side; 0: as each expert's resizing leaves it
}

func newViews(_ context.Context, s *part.Setup, settings map[string]any) (part.Advice, error) {
	cfg := viewsSettings{Pixels: 2}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if len(cfg.Views) == 0 {
		return nil, errors.New("views: not set")
	}
	if !(cfg.Corners >= 0 && cfg.Corners < 1) {
		return nil, fmt.Errorf("corners is %v; it must be a share of the shorter side, between 0 and 1", cfg.Corners)
	}
	a := &views{}
	if err := a.add(&cfg); err != nil {
		return nil, err
	}
	if isCorner := func(v pixel.View) bool { return v.Corner != "" }; cfg.Corners > 0 && !slices.ContainsFunc(a.list, isCorner) {
		return nil, errors.New("corners is set, but no view of a corner is listed")
	}
	return a, nil
}

// add parses the views. A duplicate is an error, since it would count twice.
func (a *views) add(cfg *viewsSettings) error {
	for i, name := range cfg.Views {
		v, err := pixel.ParseView(name, cfg.Pixels)
		if err != nil {
			return err
		}
		if slices.Contains(cfg.Views[:i], name) {
			return fmt.Errorf("views: %q is a duplicate", name)
		}
		if v.Corner != "" {
			v.Share = cfg.Corners
		}
		a.list = append(a.list, v)
	}
	return nil
}

// Views returns the views, in their order.
func (a *views) Views() []pixel.View { return a.list }

// Show returns the same views for every instance.
func (a *views) Show(_ context.Context, batch []part.Instance) ([]part.AdvicePayload, error) {
	return part.ShowAll(batch, part.AdvicePayload{Views: a.list}), nil
}
