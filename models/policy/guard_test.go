package policy

import (
	"strings"
	"testing"
)

// TestGuardVerdict: the rule, the single prices, and files of before the rule had a name.
func TestGuardVerdict(t *testing.T) {
	good, bad := PriceGuard{Lambda: 1, UpperBound: 0.1}, PriceGuard{Lambda: 8, Scaled: "expert=large", Factor: 4, UpperBound: -0.1}
	for name, c := range map[string]struct {
		g      Guard
		passes bool
		reason string
	}{
		"nothing held out":      {Guard{Gain: 1, LowerBound: 1}, false, "none could be held out"},
		"bound above 0":         {Guard{Rows: 9, Rule: RuleBound, Gain: 0.2, LowerBound: 0.1, Confidence: 0.84}, true, "at 84%, 0.1000, is above 0"},
		"bound of 0":            {Guard{Rows: 9, Rule: RuleBound, Gain: 0.2}, false, "lower bound"},
		"a file without a rule": {Guard{Rows: 9, Gain: 0.2, LowerBound: -0.1, Confidence: 0.95}, false, "at 95%, -0.1000, is not above 0"},
		"gain":                  {Guard{Rows: 9, Rule: RuleGain, Gain: 0.2, LowerBound: -0.1}, true, "the gain, 0.2000, is above 0"},
		"a gain of nothing":     {Guard{Rows: 9, Rule: RuleGain, Gain: 0.0009, LowerBound: 0.0008, FixedLoss: 0.5}, false, "the gain, 0.0009, is not above 0.0010 (0.2% of the loss of the best fixed pair)"},
		"a small gain":          {Guard{Rows: 9, Rule: RuleGain, Gain: 0.0011, LowerBound: -1, FixedLoss: 0.5}, true, "the gain, 0.0011, is above 0.0010"},
		"loss":                  {Guard{Rows: 9, Rule: RuleGain, Gain: -0.2, LowerBound: 0.1}, false, "the gain, -0.2000, is not above 0"},
		"good prices":           {Guard{Rows: 9, Rule: RuleGain, Gain: 0.2, Prices: []PriceGuard{good, good}}, true, "is above 0"},
		"close":                 {Guard{Rows: 9, LowerBound: 0.1, Draws: 10, Close: true}, true, "is above 0; a mean over 10 draws of folds, and close"},
		"clear after two draws": {Guard{Rows: 9, LowerBound: 0.1, Draws: 2}, true, "is above 0; a mean over 2 draws of folds"},
		"one bad price":         {Guard{Rows: 9, Rule: RuleGain, Gain: 0.2, Prices: []PriceGuard{good, bad}}, false, "at lambda 8 and expert=large times 4"},
	} {
		if passes, reason := c.g.Verdict(); passes != c.passes || !strings.Contains(reason, c.reason) {
			t.Errorf("%s: %v, %q", name, passes, reason)
		}
	}
}
