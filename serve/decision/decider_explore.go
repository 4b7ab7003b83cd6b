package decision

import (
	"math"

	"pipe/models/policy"
	"pipe/serve/ledger"
)

// proposal are the propensities with which a policy would explore on a row.
type proposal struct {
	p       []float64 // shared if nothing is explored
	certain []float64 // of the policy's choice
	extra   float64   // upper bound on the expected extra cost, with a ledger
	ok      bool      // a pair may be drawn
}

// stay takes the policy's choice.
func (o *proposal) stay() { o.p, o.ok = o.certain, false }

// propose returns the propensities of a policy's decision on a row, which is the n-th one of the policy that can explore.
func (e Explore) propose(u used, dec *policy.Decisions, row int, n int64) proposal {
	first, end, greedy := row*dec.Actions, (row+1)*dec.Actions, int(dec.Action[row])
	var loss, cost []float32
	if dec.Loss != nil {
		loss, cost = dec.Loss[first:end], dec.Cost[first:end]
	}
	o := proposal{certain: u.version.certain[greedy]}
	if !e.explores(cost) || e.Ledger != nil && u.version.bound == nil {
		o.stay()
		return o
	}
	o.p, o.ok = make([]float64, dec.Actions), true
	e.at(n).propensities(o.p, allowedPairs(u.prices.Available, dec.Scores[first:end]), greedy, cost)
	if e.Ledger != nil {
		o.extra = u.version.bound.extra(o.p, greedy, loss, cost)
	}
	return o
}

// at sets the gamma of decision n, from 1 on.
func (e Explore) at(n int64) Explore {
	if e.Gamma == 0 {
		e.Gamma = 10 * math.Sqrt(float64(n))
	}
	return e
}

// explore decides how row i of a result is explored: the propensities of the policy that decides and, if there is a canary,
// those that the other one of the two would have had at this moment. Both may be refused by the ledger, and then have the
// propensities of the policy's choice.
func (d *Decider) explore(e Explore, res *Result, i int) (own, other proposal) {
	x, u := d.exploring, res.used
	n, beside := int64(0), int64(0)
	if !e.off() {
		var heard bool
		if n, heard = x.count(u.policy.Name); !heard {
			d.metrics.NotExplored(u.policy.Name, "outcomes")
			e = Explore{}
		}
	}
	own = e.propose(u, res.Decisions, i, n)
	if res.other != nil {
		if !e.off() {
			beside = x.of(u.other.policy.Name).Load() + 1
		}
		other = e.propose(*u.other, res.other, i, beside)
	}
	if x.ledger == nil || !own.ok && !other.ok {
		return own, other
	}
	fits, otherFits := x.fits(own, other)
	if own.ok && !fits {
		own.stay()
		d.metrics.NotExplored(u.policy.Name, "ledger")
	}
	if other.ok && !otherFits {
		other.stay()
	}
	return own, other
}

// fits spends the extra cost of the policy that decides, and says for both whether it may explore.
func (x *exploring) fits(own, other proposal) (ownFits, otherFits bool) {
	if !own.ok { // the other one is not drawn, so nothing is spent
		return false, x.ledger.Fits(other.extra)
	}
	_, ownFits, otherFits = x.ledger.SpendBeside(own.extra, other.extra)
	return ownFits, otherFits
}

// Exploration is the state of the exploration of a decider.
type Exploration struct {
	How    string        `json:"how"`              // such as epsilon 0.02; off
	Ledger *ledger.State `json:"ledger,omitempty"` // nil: none
	// SinceOutcome are the decisions that could explore since the last outcome, and Within is after how many nothing is explored.
	// Within is 0 if that never stops exploration.
	SinceOutcome int64 `json:"since_outcome"`
	Within       int64 `json:"within"`
	Silent       bool  `json:"silent"` // nothing is explored until an outcome comes
}

// Exploration returns the state of the exploration.
func (d *Decider) Exploration() Exploration {
	x := d.exploring
	e := Exploration{How: x.settings.String(), SinceOutcome: x.silent.Load()}
	if x.feed {
		e.Within, e.Silent = x.settings.OutcomesWithin, x.isSilent(e.SinceOutcome)
	}
	if x.ledger != nil {
		s := x.ledger.State()
		e.Ledger = &s
	}
	return e
}
