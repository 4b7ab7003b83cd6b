package budget

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"pipe/internal/config"
	"pipe/serve/ledger"
)

// Settings are the budgets of a server.
type Settings struct {
	// List has the budgets. Several can hold for a request.
	List []Budget `yaml:"list"`
	// Shared is a folder or a bucket that several servers use, so that they have the budgets together. Empty: the budgets are
	// those of this server alone, and are kept in the folder of the decision log.
	Shared config.Path `yaml:"shared"`
	// Folder keeps the budgets of this server, and what it has learned of its traffic. pipe serve sets it. Empty: in memory only.
	Folder string `yaml:"-"`
}

// Budget is the most that a period may cost.
type Budget struct {
	Name   string     `yaml:"name"`
	Money  float64    `yaml:"money"`  // in the currency of the prices of the experts; or
	Tokens float64    `yaml:"tokens"` // of prompts and answers together
	Per    ledger.Per `yaml:"per"`    // minute, day or month of UTC
	Of     Of         `yaml:"of"`
	Only   []string   `yaml:"only"`   // names of keys, policies or experts that have the budget, each its own; empty: all of them
	AtEnd  AtEnd      `yaml:"at_end"` // what happens when it is used up
}

// Of says whose calls a budget counts.
type Of string

// The values of Of.
const (
	Total  Of = "total"  // all calls together
	Key    Of = "key"    // of each key of a caller
	Policy Of = "policy" // of each policy
	Expert Of = "expert" // of each expert
)

// AtEnd says what happens to a request that a budget has no room for.
type AtEnd string

// The values of AtEnd.
const (
	// Cheapest leaves out the pairs that the budget does not cover. The last one is the cheapest. If it covers none, the request
	// is refused.
	Cheapest AtEnd = "cheapest"
	Refuse   AtEnd = "refuse" // the request is refused if the budget does not cover the pair that was chosen
)

// Enabled reports whether there are budgets.
func (s *Settings) Enabled() bool { return len(s.List) > 0 }

// AsRead are the settings as they were read from a file.
func (s Settings) AsRead() Settings {
	s.Folder = ""
	return s
}

// maxBudgets bounds what is done for each request.
const maxBudgets = 64

// nameOf matches the names of budgets, which are names of files and labels of metrics.
var nameOf = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Validate reports every problem.
func (s *Settings) Validate() error {
	var p config.Problems
	p.Check(len(s.List) <= maxBudgets, "list: there are %d budgets, more than %d", len(s.List), maxBudgets)
	p.Check(s.Enabled() || s.Shared == "", "shared: there are no budgets to share")
	seen := map[string]bool{}
	for i := range s.List {
		b := &s.List[i]
		at := fmt.Sprintf("list[%d]", i)
		if nameOf.MatchString(b.Name) {
			at += " (" + b.Name + ")"
		}
		p.Add(config.Under(at, b.validate()))
		p.Check(!seen[b.Name], "%s: the name is used twice", at)
		seen[b.Name] = true
	}
	return p.Err()
}

func (b *Budget) validate() error {
	var p config.Problems
	p.Check(nameOf.MatchString(b.Name), "name: %q is not a name of at most 64 letters, digits, dots, dashes and underscores", b.Name)
	p.Check((b.Money == 0) != (b.Tokens == 0), "money, tokens: set one of them")
	if limit := b.Limit(); b.Money != 0 || b.Tokens != 0 {
		p.Check(limit > 0 && !math.IsInf(limit, 0), "money, tokens: %g is not a number above 0", limit)
	}
	p.Check(slices.Contains([]ledger.Per{ledger.Minute, ledger.Day, ledger.Month}, b.Per), "per: %q is not %s, %s or %s", b.Per, ledger.Minute, ledger.Day, ledger.Month)
	p.Check(slices.Contains([]Of{Total, Key, Policy, Expert}, b.Of), "of: %q is not %s, %s, %s or %s", b.Of, Total, Key, Policy, Expert)
	p.Check(b.Of != Total || len(b.Only) == 0, "only: all calls together have no names")
	p.Check(b.AtEnd == "" || b.AtEnd == Cheapest || b.AtEnd == Refuse, "at_end: %q is not %s or %s", b.AtEnd, Cheapest, Refuse)
	return p.Err()
}

// Limit is the most of a period, in the unit of the budget.
func (b *Budget) Limit() float64 {
	if b.Money != 0 {
		return b.Money
	}
	return b.Tokens
}

// Unit names what the budget counts.
func (b *Budget) Unit() string {
	if b.Money != 0 {
		return "money"
	}
	return "tokens"
}

// amount is what a budget counts of a call.
func (b *Budget) amount(a Amount) float64 {
	if b.Money != 0 {
		return a.Money
	}
	return a.Tokens
}

// covers reports whether the budget holds for a name.
func (b *Budget) covers(name string) bool { return len(b.Only) == 0 || slices.Contains(b.Only, name) }

// Amount is what a call uses.
type Amount struct{ Money, Tokens float64 }
