package fromlog

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// partial imports the partial tensor of a log.
func partial(t *testing.T, folder, policy string) (*costs.Tensor, *Result) {
	t.Helper()
	o := DefaultOptions()
	o.Log, o.Policy, o.Partial = storage.File(folder), policy, storage.File(filepath.Join(t.TempDir(), "p.parquet"))
	r, err := Import(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	tensor, err := costs.Read(t.Context(), o.Partial, costs.ReadOptions{Unknown: true})
	if err != nil {
		t.Fatal(err)
	}
	return tensor, r
}

// Instances of one decision have the propensities of the record, those of policy and canary together; of one policy alone they
// have its own.
func TestPropensitiesOfTensors(t *testing.T) {
	folder := mixed(t, func(int, *decisionlog.Record) {})
	for policy, want := range map[string][2]float64{"": {0.75, 0.25}, "greedy": {1, 0}, "canary": {0, 1}} {
		tensor, r := partial(t, folder, policy)
		if *r.Propensity != (Propensities{Known: tensor.Len()}) {
			t.Errorf("%q: %+v", policy, r.Propensity)
		}
		for n := range tensor.Len() {
			if p := tensor.Propensities(n); p[0] != want[0] || p[1] != want[1] || p[2] != 0 {
				t.Errorf("%q: row %d: %v", policy, n, p)
			}
		}
	}
}

// Propensities are unknown where they are not those of the executed pair, each for its reason.
func TestUnknownPropensities(t *testing.T) {
	for name, c := range map[string]struct {
		folder string
		want   Propensities
		says   string
	}{
		"fallbacks":               {fellBack(t, 3), Propensities{Known: 5, Fallbacks: 3}, "not known of 3: another pair answered than the drawn one"},
		"other failed":            {mixed(t, alone(0.25)), Propensities{Unmixed: 8}, "not known of 8: the log has the probabilities of one policy alone"},
		"earlier version, canary": {mixed(t, alone(decisionlog.ShareUnknown)), Propensities{Unmixed: 8}, "of 0 instances"},
		"joined":                  {replay(t, decisionlog.FullFeatures), Propensities{Joined: 2, Fallbacks: 1}, "not known of 2: several decisions"},
	} {
		tensor, r := partial(t, c.folder, "")
		if *r.Propensity != c.want {
			t.Errorf("%s: %+v, want %+v", name, *r.Propensity, c.want)
		}
		known := 0
		for n := range tensor.Len() {
			if tensor.Propensity != nil && !slices.ContainsFunc(tensor.Propensities(n), math.IsNaN) {
				known++
			}
		}
		var text strings.Builder
		if err := r.WriteText(&text); err != nil || known != c.want.Known || !strings.Contains(text.String(), c.says) {
			t.Errorf("%s: %d known rows, %v\n%s", name, known, err, &text)
		}
	}
}
