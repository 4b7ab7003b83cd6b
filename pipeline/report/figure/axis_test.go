package figure

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Marks of an axis have different texts, and every axis has some.
func TestTicksDiffer(t *testing.T) {
	check := func(a Axis, low, high float64) error {
		marks := newScale(a, low, high, 0, 300).ticks(4)
		seen := map[string]bool{}
		for _, m := range marks {
			if seen[m.text] {
				return fmt.Errorf("from %g to %g: %v", low, high, marks)
			}
			seen[m.text] = true
		}
		if len(marks) < 2 {
			return fmt.Errorf("from %g to %g: only %v", low, high, marks)
		}
		return nil
	}
	for _, c := range []struct {
		axis      Axis
		low, high float64
	}{
		{Axis{}, 123456, 123456.001},
		{Axis{}, 123456.00001, 123456.00002},
		{Axis{}, 1234567, 1234569},
		{Axis{}, 0, 0},
		{Axis{}, 5e-7, 6e-7},
		{Axis{Log: true}, 1100, 1900},
		{Axis{Log: true}, 2100, 4800},
		{Axis{Log: true}, 1, 1},
		{Axis{Log: true}, 3e-7, 3.1e-7},
		{Axis{}, 1e200, 2e200},
	} {
		if err := check(c.axis, c.low, c.high); err != nil {
			t.Fatalf("%+v %v", c.axis, err)
		}
	}
	if s := newScale(Axis{}, 0, 0, 0, 100); s.low < -0.1 || s.high < 1 {
		t.Fatalf("all values are 0: the axis goes from %g to %g", s.low, s.high)
	}
	rapid.Check(t, func(t *rapid.T) {
		low, wide, log := amount(t), math.Abs(amount(t)), rapid.Bool().Draw(t, "log")
		if log {
			low = math.Abs(low) + 1e-6
		}
		if err := check(Axis{Log: log}, low, low+wide); err != nil {
			t.Fatal(err)
		}
	})
}

// The middle of a long name is cut, so that pairs can be told apart.
func TestCutNamesKeepTheirEnds(t *testing.T) {
	const expert = "Qwen3-30B-A3B-Instruct-2507"
	for _, width := range []float64{80, 120, 160} {
		seen := map[string]string{}
		for _, advice := range []string{"/none", "/top-1", "/top-3", "/rag"} {
			short := shortened(expert+advice, width, usual, false)
			if !strings.HasPrefix(short, "Qw") || !strings.HasSuffix(short, "…"+advice) && !strings.HasSuffix(short, advice) || textWidth(short, usual, false) > width || seen[short] != "" {
				t.Errorf("%g wide: %q of %q", width, short, expert+advice)
			}
			seen[short] = advice
		}
	}
}

// A cut text is never wider than its room.
func TestCutTextsFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, width := names.Draw(t, "s"), rapid.Float64Range(15, 300).Draw(t, "width")
		if short := shortened(s, width, usual, false); textWidth(short, usual, false) > width {
			t.Fatalf("%q is wider than %g", short, width)
		}
	})
}
