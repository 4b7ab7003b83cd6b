package fit

import (
	"errors"
	"fmt"

	"pipe/models/auto"
	"pipe/models/policy"
)

// Settings are the settings of the training. Start from [DefaultSettings].
type Settings struct {
	Auto   auto.Settings `json:"auto" yaml:"auto"`     // of every state, and of the one-shot policy
	Stages int           `json:"stages" yaml:"stages"` // pairs that are executed on a row, at most
	States int           `json:"states" yaml:"states"` // at most; where it is too few for all pairs, the least promising are executed as the first one only
	Values int           `json:"values" yaml:"values"` // most frequent values of a category that a state tells apart
	Folds  int           `json:"folds" yaml:"folds"`   // of the guard: rows of a fold are judged by what the others learned
	// Rule is that of the guard, policy.RuleBound or policy.RuleGain, and Confidence that of its bounds. States have those of Auto.
	Rule       string  `json:"rule" yaml:"rule"`
	Confidence float64 `json:"confidence" yaml:"confidence"` // one-sided
}

// DefaultSettings has two stages. The guard asks for a lower bound of the gain above 0: a cascade calls more services and takes longer than
// what it is compared with, so a gain that chance makes is worth less than that of an ordinary policy.
func DefaultSettings() Settings {
	return Settings{Auto: auto.DefaultSettings(), Stages: 2, States: 64, Values: 16, Folds: 3, Rule: policy.RuleBound, Confidence: 0.95}
}

// mostStates bounds the states of a file.
const mostStates = 4096

// Validate reports every problem at once.
func (s Settings) Validate() error {
	errs := []error{s.Auto.Validate()}
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(s.Stages >= 2, "stages: %d, at least 2 are needed: one is an ordinary policy", s.Stages)
	bad(s.States >= 4 && s.States <= mostStates, "states: %d, not 4 to %d: two pairs have four sets", s.States, mostStates)
	bad(s.Values >= 1, "values: %d, at least 1 is needed", s.Values)
	bad(s.Rule == policy.RuleBound || s.Rule == policy.RuleGain, "rule: %q, known are %s, %s", s.Rule, policy.RuleBound, policy.RuleGain)
	bad(s.Confidence > 0 && s.Confidence < 1, "confidence: %g, a probability in (0, 1) is needed", s.Confidence)
	bad(s.Folds >= 2, "folds: %d, at least 2 are needed", s.Folds)
	bad(s.Auto.Warm == nil && s.Auto.Deployed == nil && s.Auto.Usage == nil, "a cascade is compared with the one-shot policy, and knows no older or deployed policy and no prices of usage")
	return errors.Join(errs...)
}
