package advice

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/experts/builder/part"
	"pipe/internal/storage"
)

// tableSource is a source whose instances have cells.
type tableSource struct {
	part.Source
	columns *part.Columns
}

func (s tableSource) Columns() *part.Columns { return s.columns }

// TestColumnsAreRevealed draws the columns of two levels: each reveals those that it lists, and one that extends another
// those of the other too, which stays as it is.
func TestColumnsAreRevealed(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	rapid.Check(t, func(r *rapid.T) {
		b := &part.Build{Source: tableSource{columns: part.NewColumns(storage.File("t.csv"), names)}, Inputs: part.Inputs{}}
		list := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, len(names), rapid.ID)
		base, more := list.Draw(r, "base"), list.Draw(r, "more")
		show := func(settings map[string]any) []bool {
			a, err := newColumns(t.Context(), b.Setup(`advice "x"`), settings)
			if err != nil {
				r.Fatal(err)
			}
			b.Levels = append(b.Levels, part.Level{Name: "base", Advice: a})
			shown, err := a.Show(t.Context(), make([]part.Instance, 3))
			if err != nil || len(shown) != 3 {
				r.Fatal(len(shown), err)
			}
			for _, s := range shown {
				if !slices.Equal(s.Revealed, shown[0].Revealed) {
					r.Fatal("instances are shown different columns")
				}
			}
			return shown[0].Revealed
		}
		check := func(got []bool, want ...string) {
			for i, name := range names {
				if got[i] != slices.Contains(want, name) {
					r.Fatalf("%v are revealed of %v, want %v", got, names, want)
				}
			}
		}
		first := show(map[string]any{"reveal": base})
		check(first, base...)
		check(show(map[string]any{"reveal": more, "extends": "base"}), append(base, more...)...)
		check(first, base...)
		check(show(map[string]any{"reveal": more}), more...)
	})
}

func TestBadColumns(t *testing.T) {
	table := &part.Build{
		Source: tableSource{columns: part.NewColumns(storage.File("t.csv"), []string{"a"})}, Inputs: part.Inputs{},
		Levels: []part.Level{{Name: "none", Advice: none{}}},
	}
	for name, c := range map[string]struct {
		b        *part.Build
		settings map[string]any
		want     string
	}{
		"no columns":     {table, map[string]any{}, "reveal: no columns are listed"},
		"unknown column": {table, map[string]any{"reveal": []string{"b"}}, "t.csv"},
		"unknown level":  {table, map[string]any{"reveal": []string{"a"}, "extends": "x"}, `extends: "x" is not an earlier advice that reveals columns`},
		"other advice":   {table, map[string]any{"reveal": []string{"a"}, "extends": "none"}, `extends: "none" is not an earlier advice that reveals columns`},
		"no table":       {&part.Build{Source: tableSource{}, Inputs: part.Inputs{}}, map[string]any{"reveal": []string{"a"}}, "the instances are not a table"},
	} {
		if _, err := newColumns(t.Context(), c.b.Setup(`advice "x"`), c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
