package methods

import (
	"slices"
	"testing"

	"pipe/models"
	"pipe/models/baseline"
)

// TestBaselinesAreNoPolicies: every baseline has a caption, and no policy may
// have its name.
func TestBaselinesAreNoPolicies(t *testing.T) {
	for _, b := range baseline.All() {
		if m := Named(b.Name); m.Role == models.RolePolicy || m.About == "" {
			t.Errorf("%s is a %s, %q", b.Name, m.Role, m.About)
		}
	}
}

// TestOrderOfTables: composite policies, other policies, then methods for comparison; each name once.
func TestOrderOfTables(t *testing.T) {
	mine := models.Method{Name: "mine", Surrogate: models.Methods()[0].Surrogate}
	var names []string
	for _, m := range All(mine) {
		if slices.Contains(names, m.Name) || m.Role == "" {
			t.Errorf("%s is a duplicate, or has no role", m.Name)
		}
		names = append(names, m.Name)
	}
	want := []string{"ours", "auto", AnyPrice, "mine", "l2d", "separated", "separated_softmax", "knn", "best_fixed"}
	known := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(want, name) })
	if !slices.Equal(known, want) {
		t.Errorf("order is %v", names)
	}
	for _, order := range [][]string{want[:2], {"separated_softmax", "a file's own"}, {"a file's own", "knn"}, {"knn", "best_fixed", "oracle", "bayes"}} {
		if !slices.IsSortedFunc(order, func(a, b string) int { return Rank(a) - Rank(b) }) {
			t.Errorf("%v are in another order", order)
		}
	}
	if got := Composite(mine); !slices.Equal(got, want[:4]) {
		t.Errorf("composite are %v", got)
	}
	for name, ok := range map[string]bool{"mine": true, "ours": false, "oracle": false, "": false, "../up": false, "mine\nx": false} {
		if err := CheckOwn([]models.Method{{Name: name}}); (err == nil) != ok {
			t.Errorf("own method %q: %v", name, err)
		}
	}
	if CheckOwn([]models.Method{mine, mine}) == nil {
		t.Error("a name is taken twice")
	}
}
