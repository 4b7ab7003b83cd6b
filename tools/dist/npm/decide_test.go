package npm

import (
	"encoding/json"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"pipe/onnx/ort/orttest"
)

// answer is what testdata/cases.mjs says of a case.
type answer struct {
	Answer struct {
		Prices    struct{ Unchecked []string }
		Decisions []struct {
			pair
			Accepted *bool
			Instead  string
			Ranked   []pair
		}
	}
	Names struct{ Experts, Advice, Pairs []string }
	Same  bool
}

type pair struct {
	Index                int
	Pair, Expert, Advice string
	Score                float64
	Loss                 *float64 `json:"expected_loss"`
	Cost                 *float64 `json:"expected_cost"`
}

// TestDecidesAsPipe: every decision of the installed package is that of pipe decide, and numbers agree up to rounding.
func TestDecidesAsPipe(t *testing.T) {
	folder := installed(t)
	rt := orttest.Open(t, 1)
	all := cases(t, rt)
	list := listCases(t, folder, all)
	t.Run("node", func(t *testing.T) { compare(t, all, node(t, folder, "node.mjs", list)) })
	t.Run("browser", func(t *testing.T) { compare(t, all, inBrowser(t, folder, filepath.Dir(all[0].Policy))) })
	t.Run("cascades", func(t *testing.T) { checkSteps(t, rt, folder) })
	t.Run("types", func(t *testing.T) { checkTypes(t, folder) })
	t.Run("calls", func(t *testing.T) { checkCalls(t, folder, all) })
	t.Run("errors", func(t *testing.T) { checkErrors(t, folder) })
}

func compare(t *testing.T, all []testCase, out []byte) {
	t.Helper()
	var got []answer
	if err := json.Unmarshal(out, &got); err != nil || len(got) != len(all) {
		t.Fatalf("%d answers to %d cases: %v\n%.2000s", len(got), len(all), err, out)
	}
	gap, chosen := 0.0, 0
	for n, c := range all {
		gap = max(gap, compareCase(t, c, got[n]))
		pairs := map[int]bool{}
		for _, d := range c.want {
			pairs[d.Index] = true
		}
		chosen += len(pairs)
	}
	t.Logf("%d cases, %d pairs chosen; numbers differ by at most %.1g", len(all), chosen, gap)
	if chosen < 3*len(all) {
		t.Errorf("only %d pairs are chosen in %d cases: the decisions tell little", chosen, len(all))
	}
}

// compareCase returns how much numbers differ.
func compareCase(t *testing.T, c testCase, got answer) (gap float64) {
	t.Helper()
	decisions, names := got.Answer.Decisions, c.names.Names()
	if len(decisions) != len(c.want) || !got.Same || len(got.Names.Experts) != len(c.names.Experts) || got.Names.Advice[0] != c.names.Advice[0].Name {
		t.Errorf("%s: %d decisions for %d rows, the same twice: %v, names %v", c.Name, len(decisions), len(c.want), got.Same, got.Names)
		return 0
	}
	if !slices.Equal(inWords(got.Answer.Prices.Unchecked), inWords(c.unchecked)) {
		t.Errorf("%s: unchecked are\n%q, not\n%q", c.Name, got.Answer.Prices.Unchecked, c.unchecked)
	}
	for n, want := range c.want {
		d := decisions[n]
		if d.Expert != want.Expert || d.Advice != want.Advice || d.Index != want.Index || d.Pair != names[want.Index] || !slices.Contains(got.Names.Pairs, d.Pair) {
			t.Errorf("%s, row %d: %s (%d), not %s", c.Name, n, d.Pair, d.Index, names[want.Index])
			return 0
		}
		if (d.Accepted == nil) != (want.Accepted == nil) || d.Accepted != nil && (*d.Accepted != *want.Accepted || (d.Instead == "") != *d.Accepted) {
			t.Errorf("%s, row %d: accepted %v, not %v; instead %q", c.Name, n, d.Accepted, want.Accepted, d.Instead)
		}
		gap = max(gap, far(d.Loss, want.Loss), far(d.Cost, want.Cost))
		for i, p := range d.Ranked {
			gap = max(gap, math.Abs(p.Score-float64(want.Scores[p.Index]))/max(1, math.Abs(p.Score)))
			if i == 0 && p.Index != d.Index || i > 0 && p.Score > d.Ranked[i-1].Score {
				t.Errorf("%s, row %d: ranked %v", c.Name, n, d.Ranked)
			}
		}
	}
	if gap > 1e-4 {
		t.Errorf("%s: numbers differ by %g", c.Name, gap)
	}
	return gap
}

func far(got *float64, want *float32) float64 {
	if got == nil || want == nil {
		if got == nil && want == nil {
			return 0
		}
		return math.Inf(1)
	}
	return math.Abs(*got-float64(*want)) / max(1, math.Abs(*got))
}

var number = regexp.MustCompile(`\d+\.\d{6,}`)

// inWords shortens long numbers, which Go and JavaScript write differently where they compute with other precision.
func inWords(list []string) (out []string) {
	for _, text := range list {
		out = append(out, number.ReplaceAllStringFunc(text, func(n string) string { return n[:6] }))
	}
	return out
}
