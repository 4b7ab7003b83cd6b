package models

import (
	"strings"
	"testing"

	"pipe/costs"
)

func TestMethodsFitActions(t *testing.T) {
	actions := func(experts, advice int, missing ...costs.Pair) *costs.Actions {
		return &costs.Actions{Experts: make([]costs.Expert, experts), Advice: make([]costs.Advice, advice), Unavailable: missing}
	}
	for _, c := range []struct {
		method string
		a      *costs.Actions
		want   string // of the error; empty: it fits
	}{
		{"l2d", actions(1, 1), ""},
		{"l2d", actions(2, 2, costs.Pair{Expert: 0}), ""},
		{"l2d", actions(2, 2, costs.Pair{Expert: 0}, costs.Pair{Expert: 1}), "no expert is available without"},
		{"ours", actions(1, 2, costs.Pair{}), ""},
		{"separated", actions(2, 2), ""},
		{"separated", actions(3, 2), "separated_softmax takes more"},
		{"separated_softmax", actions(3, 4), ""},
		{"separated_softmax", actions(1, 2), "2 experts"},
		{"separated_softmax", actions(3, 4, costs.Pair{Expert: 1, Advice: 1}), "some are unavailable"},
	} {
		m, err := MethodNamed(c.method)
		if err != nil {
			t.Fatal(err)
		}
		err = m.Fits(c.a)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %d x %d: %v, want %q", c.method, len(c.a.Experts), len(c.a.Advice), err, c.want)
		}
	}
}

// TestNamesOfMethods: the names in use are allowed, and what would leave a folder or break a line is not.
func TestNamesOfMethods(t *testing.T) {
	for _, m := range Methods() {
		if err := m.CheckNames(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"mine", "Mine-2", "a.b", "_x", strings.Repeat("a", longestName)} {
		if err := checkName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{
		"", ".", "..", ".hidden", "../up", "a/b", `a\b`, "a b", "mine\nx", "ä", "a\x00", "a:b", strings.Repeat("a", longestName+1),
		"ours-lambda1", "ours-seed0",
	} {
		if checkName(name) == nil {
			t.Errorf("the name %q is allowed", name)
		}
	}
}
