package ope

import (
	"slices"

	"pipe/models/drift"
	"pipe/models/offpolicy"
)

// Support says how far the log has evidence of the choices of a policy.
type Support struct {
	Effective float64      `json:"effective_rows"`        // rows of equal weight that would tell as much
	Same      int          `json:"same"`                  // rows on which the executed pair is the policy's choice
	Largest   []Weight     `json:"largest_weights"`       // at most five
	Untried   float64      `json:"untried"`               // share of the choices that the log cannot have tried
	Pairs     []PairChoice `json:"pairs_without_support"` // of which pairs these are
	// Covered is how many rows the executed choices stand for by their probabilities, over the rows on which the log can have
	// tried them: about 1. nil: too few rows to tell. Misfit is true where chance does not make more, or less by a tenth.
	Covered *float64 `json:"covered,omitempty"`
	Misfit  bool     `json:"misfit,omitempty"`
}

// Weight is how many rows one row stands for.
type Weight struct {
	ID         string  `json:"id"`
	Pair       string  `json:"pair"`
	Propensity float64 `json:"propensity"`
	Weight     float64 `json:"weight"`
}

// PairChoice counts choices of a pair.
type PairChoice struct {
	Pair  string  `json:"pair"`
	Rows  int     `json:"rows"`
	Share float64 `json:"share"` // of all choices
}

// supportOf describes the choices of a policy; support is what the log says of them.
func supportOf(r *rows, choices []int, support offpolicy.Support) *Support {
	s := &Support{Effective: support.Effective}
	for n, choice := range choices {
		if r.executed[n] == choice {
			s.Same++
		}
	}
	for _, l := range support.Largest {
		if l.Ratio > 0 {
			s.Largest = append(s.Largest, Weight{r.id[l.Row], r.actions.Name(l.Pair), 1 / l.Ratio, l.Ratio})
		}
	}
	s.untried(r, choices)
	s.Untried = support.Unsupported
	s.cover(r, choices)
	return s
}

// tried says of every pair whether it was executed on some row.
func (r *rows) tried() []bool {
	executed := make([]bool, r.pairs())
	for _, pair := range r.executed {
		executed[pair] = true
	}
	return executed
}

// untried counts choices whose probability in the log is 0, and those of pairs that the log never executed.
func (s *Support) untried(r *rows, choices []int) {
	executed, lacks := r.tried(), make([]int, r.pairs())
	for n, choice := range choices {
		if r.propensities(n)[choice] == 0 || !executed[choice] {
			lacks[choice]++
		}
	}
	for pair, rows := range lacks {
		if rows > 0 {
			s.Pairs = append(s.Pairs, PairChoice{r.actions.Name(pair), rows, float64(rows) / float64(len(choices))})
		}
	}
	slices.SortStableFunc(s.Pairs, func(a, b PairChoice) int { return b.Rows - a.Rows })
}

// Outcomes says which outcomes are missing and how late they come.
type Outcomes struct {
	Known   int           `json:"known"`
	Missing int           `json:"missing"` // of answered decisions
	Share   float64       `json:"share"`   // missing ones among both
	Pairs   []PairOutcome `json:"pairs"`   // in the order of the actions
	// P is the probability of shares that differ as much by pair, if the pair has no influence on them; nil: nothing is missing.
	P       *float64 `json:"p,omitempty"`
	Depends bool     `json:"depends_on_pair"` // P is below 1%: estimates of outcomes that are missing by pair are wrong
}

// PairOutcome is about the outcomes of one pair.
type PairOutcome struct {
	Pair    string   `json:"pair"`
	Known   int      `json:"known"`
	Missing int      `json:"missing"`
	Delay   *float64 `json:"delay,omitempty"`       // median seconds until an outcome comes; nil: not known
	Late    *float64 `json:"delay_90pct,omitempty"` // a tenth of the outcomes comes later
}

// outcomesOf looks at what is known of outcomes.
func outcomesOf(r *rows) *Outcomes {
	known, missing, delays := make([]int64, r.pairs()), make([]int64, r.pairs()), make([][]float64, r.pairs())
	for n, pair := range r.executed {
		known[pair]++
		if d := r.delay[n]; d == d {
			delays[pair] = append(delays[pair], d)
		}
	}
	for _, pair := range r.missing {
		missing[pair]++
	}
	o := &Outcomes{Known: r.len(), Missing: len(r.missing), Share: float64(len(r.missing)) / float64(r.len()+len(r.missing))}
	for pair := range known {
		if known[pair]+missing[pair] == 0 {
			continue
		}
		p := PairOutcome{Pair: r.actions.Name(pair), Known: int(known[pair]), Missing: int(missing[pair])}
		if d := delays[pair]; len(d) > 0 {
			slices.Sort(d)
			p.Delay, p.Late = &d[len(d)/2], &d[len(d)*9/10]
		}
		o.Pairs = append(o.Pairs, p)
	}
	if o.Missing > 0 {
		p := drift.Homogeneity(known, missing).P
		o.P, o.Depends = &p, p < 0.01
	}
	return o
}

// Propensities says whether the logged probabilities fit what was executed, and whether they change.
type Propensities struct {
	Estimated []offpolicy.Calibration `json:"estimated,omitempty"` // whether estimated ones come true; nil: they are those of the log
	Pairs     []PairPropensity        `json:"pairs"`
	Worst     float64                 `json:"worst_z"`         // largest deviation in standard errors
	Fits      bool                    `json:"fits"`            // no deviation that chance would not make once in a thousand logs
	Changes   bool                    `json:"changes"`         // the mean of some pair differs by more than 0.1 between parts of the time
	Parts     []string                `json:"parts,omitempty"` // first time of each part of the rows, in RFC 3339
}

// PairPropensity compares the probability of a pair with how often it was executed.
type PairPropensity struct {
	Pair     string    `json:"pair"`
	Expected *float64  `json:"expected,omitempty"` // share of the rows by the probabilities; nil: they are not known of all rows
	Executed float64   `json:"executed"`           // share of the rows
	Z        *float64  `json:"z,omitempty"`        // the difference in standard errors
	Parts    []float64 `json:"parts,omitempty"`    // mean probability in each part of the time; as far as known
}

// Logger counts the rows of each policy that decided.
type Logger struct {
	Policy string `json:"policy"` // name@digest
	Rows   int    `json:"rows"`
}

const (
	timeParts   = 4   // of equal numbers of rows
	mostChange  = 0.1 // of a mean probability between these that is no news
	mostZ       = 4   // standard errors, of the worst of some pairs
	mostUntried = 0.1 // share of choices without support from which the log cannot tell
)
