package fromlog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// fellBack is a log of 8 decisions, of which the last ones were answered by another pair than the chosen one, first.
func fellBack(t *testing.T, last int) string {
	return mixed(t, func(n int, r *decisionlog.Record) {
		r.Policy, r.Digest, r.Canary, r.Share, r.Action, r.Greedy = "greedy", "sha256:planted", false, 0, 0, 0
		r.Available, r.Propensity, r.OwnPropensity = []bool{true, true, true, true}, []float64{0.7, 0.1, 0.1, 0.1}, nil
		switch {
		case n >= 8-last:
			r.Executed = 1
		case n%2 == 0:
			r.Executed = 0
		}
	})
}

// A decision that another pair answered says nothing of the chosen pair: exports leave it out and count it, unless they are to
// have the cost of a choice with its fallback. Tensors have the pair that answered.
func TestFallbacks(t *testing.T) {
	for _, keep := range []bool{false, true} {
		out, o := t.TempDir(), DefaultOptions()
		o.Log, o.Fallbacks, o.DSJSON, o.OBP = storage.File(fellBack(t, 3)), keep, storage.File(filepath.Join(out, "l.dsjson")), storage.File(filepath.Join(out, "l.json"))
		o.Partial = storage.File(filepath.Join(out, "p.parquet"))
		r, err := Import(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]int{false: 5, true: 8}[keep]
		var text strings.Builder
		if err := r.WriteText(&text); err != nil || r.Fallbacks != 3 || r.Exported != want || !strings.Contains(text.String(), "3 decisions that another pair answered") {
			t.Errorf("keep %v: %+v\n%s, %v", keep, r, &text, err)
		}
		lines, err := os.ReadFile(o.DSJSON.String())
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(lines), `"executed":"small/search"`); n != want-5 || strings.Count(string(lines), `"executed":""`) == 0 {
			t.Errorf("keep %v: %d lines of fallbacks\n%s", keep, n, lines)
		}
		var of struct{ Action, Executed []int }
		dictionary, err := os.ReadFile(o.OBP.String())
		if err == nil {
			err = json.Unmarshal(dictionary, &of)
		}
		if err != nil || len(of.Executed) != want {
			t.Fatalf("%+v, %v", of, err)
		}
		for n, pair := range of.Executed {
			if of.Action[n] != 0 || pair != map[bool]int{false: -n % 2, true: 1}[n >= 5] {
				t.Errorf("row %d: pair %d answered", n, pair)
			}
		}
		tensor, err := costs.Read(t.Context(), o.Partial, costs.ReadOptions{Unknown: true})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 8 {
			if l := tensor.Losses(n); (l[0] == l[0]) == (n >= 5) || (l[1] == l[1]) != (n >= 5) {
				t.Errorf("row %d: %v", n, l)
			}
		}
	}
}

// A log without fallbacks has nothing to say of them, and one of fallbacks only cannot be exported without them.
func TestNoFallbacks(t *testing.T) {
	if rows, r := exported(t, fellBack(t, 0), ""); len(rows) != 8 || r.Fallbacks != 0 {
		t.Errorf("%d rows, %+v", len(rows), r)
	}
	o := DefaultOptions()
	o.Log, o.DSJSON = storage.File(fellBack(t, 8)), storage.File(filepath.Join(t.TempDir(), "l.dsjson"))
	if _, err := Import(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--fallbacks keeps them") {
		t.Errorf("only fallbacks: %v", err)
	}
	s, err := decisionlog.Summarize(fellBack(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Policies[0]; p.Fallbacks != 3 || p.Proven.Rows != 5 {
		t.Errorf("a measured saving of %d rows, %d fallbacks", p.Proven.Rows, p.Fallbacks)
	}
}
