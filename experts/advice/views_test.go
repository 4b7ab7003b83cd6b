package advice

import (
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/featurize/pixel"
)

// TestViewsAreShown: the views come in their order, shifts with the size of the settings and corners with their share.
func TestViewsAreShown(t *testing.T) {
	s := (&part.Build{Inputs: part.Inputs{}}).Setup(`advice "x"`)
	names := []string{"centre", "mirror", "top-left", "left"}
	a, err := newViews(t.Context(), s, map[string]any{"views": names, "pixels": 3, "corners": 0.5})
	if err != nil {
		t.Fatal(err)
	}
	var want []pixel.View
	for _, name := range names {
		v, err := pixel.ParseView(name, 3)
		if err != nil {
			t.Fatal(err)
		}
		if v.Corner != "" {
			v.Share = 0.5
		}
		want = append(want, v)
	}
	shown, err := a.Show(t.Context(), make([]part.Instance, 2))
	if err != nil || len(shown) != 2 {
		t.Fatal(len(shown), err)
	}
	for _, s := range shown {
		if !slices.Equal(s.Views, want) {
			t.Errorf("shown %+v, want %+v", s.Views, want)
		}
	}
	if list := a.(part.ViewLister).Views(); !slices.Equal(list, want) {
		t.Errorf("listed %+v, want %+v", list, want)
	}
}

func TestBadViews(t *testing.T) {
	for name, c := range map[string]struct {
		settings map[string]any
		want     string
	}{
		"no views":       {map[string]any{}, "views: not set"},
		"unknown view":   {map[string]any{"views": []string{"upside"}}, "upside"},
		"duplicate":      {map[string]any{"views": []string{"mirror", "mirror"}}, `views: "mirror" is a duplicate`},
		"corners":        {map[string]any{"views": []string{"top-left"}, "corners": 1}, "corners is 1; it must be a share"},
		"negative":       {map[string]any{"views": []string{"top-left"}, "corners": -0.5}, "corners is -0.5"},
		"lonely corners": {map[string]any{"views": []string{"mirror"}, "corners": 0.5}, "corners is set, but no view of a corner is listed"},
	} {
		s := (&part.Build{Inputs: part.Inputs{}}).Setup(`advice "x"`)
		if _, err := newViews(t.Context(), s, c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
