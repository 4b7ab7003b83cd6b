package decision

import (
	"fmt"
	"slices"

	"pipe/internal/config"
)

// validateCanaries reports every problem of canaries and candidates.
func (s Settings) validateCanaries() (problems []error) {
	of := map[string]string{}
	check := func(kind string, i int, c Canary) {
		add := func(format string, args ...any) {
			problems = append(problems, fmt.Errorf("%s: entry %d: "+format, append([]any{kind, i + 1}, args...)...))
		}
		if c.Policy == "" || c.Policy == c.Of {
			add("policy must name another policy than %q", c.Of)
		}
		if !(c.Share >= 0 && c.Share <= 1) {
			add("share %g is not from 0 to 1", c.Share)
		}
		if before := of[c.Of]; before != "" {
			add("%q has a %s already", c.Of, before)
		}
		of[c.Of] = kind
	}
	for i, c := range s.Canary {
		check("canary", i, c)
	}
	for i, c := range s.Candidate {
		check("candidate", i, c.Canary)
		for _, err := range c.validate() {
			problems = append(problems, fmt.Errorf("candidate: entry %d: %w", i+1, err))
		}
	}
	if len(s.Candidate) > 0 && s.UserKey == "" {
		problems = append(problems, fmt.Errorf("candidate: user_key is empty; without a secret key, users could choose their policy"))
	}
	return problems
}

// validate reports what a candidate needs besides a canary.
func (c Candidate) validate() (problems []error) {
	if c.Share <= 0 || c.Share >= 1 {
		problems = append(problems, fmt.Errorf("share %g is not between 0 and 1: both policies must decide", c.Share))
	}
	if err := c.Settings.Validate(); err != nil {
		problems = append(problems, err)
	}
	if !slices.Contains([]string{"", PromoteAuto, PromoteReport}, c.Promote) {
		problems = append(problems, fmt.Errorf("promote %q is not %s or %s", c.Promote, PromoteAuto, PromoteReport))
	}
	if c.Ledger != nil {
		if err := c.Ledger.Validate(); err != nil {
			problems = append(problems, config.Under("ledger", err))
		}
	}
	return problems
}
