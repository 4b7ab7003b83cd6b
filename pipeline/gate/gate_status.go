package gate

import (
	"fmt"
	"math"
	"time"

	"pipe/models/offpolicy/anytime"
	"pipe/pipeline/decisionlog"
)

// Verdict is what a gate says.
type Verdict string

// The verdicts.
const (
	Promote Verdict = "promote" // the candidate costs less
	GoOn    Verdict = "go on"   // not known yet
	Stop    Verdict = "stop"    // the candidate costs more
)

// Why a candidate is not promoted although the interval is above 0.
const (
	ReasonMissing = "missing outcomes" // the two policies clearly differ in them
	ReasonRange   = "range"            // costs were outside the given range
)

// Status is what a gate knows. Numbers that are not known are nil.
type Status struct {
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"` // why it goes on although the interval is above 0
	// Gain is the cost of the live policy minus that of the candidate, per decision on which they differ, in the unit of the
	// task loss: its mean over users, with the interval that may be looked at at any time. nil: no outcome yet.
	Gain  *anytime.Interval `json:"gain"`
	Alpha float64           `json:"alpha"`
	Costs []float64         `json:"costs"` // the range
	// Share is the part of the decisions on which the policies differ. Share times Gain is the gain per decision.
	Share     *float64 `json:"differ_share"`
	Decisions int64    `json:"decisions"` // with the probabilities of both policies
	Users     int      `json:"users"`     // with a decision on which they differ
	Outcomes  int      `json:"outcomes"`  // of these users
	Effective float64  `json:"effective"` // users with equal weights who would say as much
	Live      Arm      `json:"live"`
	Candidate Arm      `json:"candidate"`
	// MissingP is the p-value that outcomes are missing as often of both policies: a test of two proportions. nil: too few.
	MissingP *float64 `json:"missing_p"`
	Outside  int64    `json:"outside"`       // outcomes whose cost is outside the range; with one, nothing is promoted
	Skipped  int64    `json:"skipped_users"` // decisions of users beyond the memory of the gate
	Next     string   `json:"next"`          // what will happen, and when, in one sentence
	Started  string   `json:"started"`       // in RFC 3339
}

// Arm has the figures of one of the two policies.
type Arm struct {
	Policy   string   `json:"policy"`
	Digest   string   `json:"digest"`
	Users    int      `json:"users"`
	Outcomes int      `json:"outcomes"`
	Missing  *float64 `json:"missing"`   // share of the users whose decision has no outcome so far
	MeanCost *float64 `json:"mean_cost"` // of the outcomes
}

// Status returns what is known at a time, which is for Next only.
func (g *Gate) Status(now time.Time) Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := Status{
		Verdict: g.verdict, Alpha: g.settings.interval(g.trial.Share).Alpha, Costs: g.settings.Costs, Decisions: g.decisions, Users: len(g.users),
		Live: g.arms[liveArm].figures(g.trial.Live), Candidate: g.arms[candidateArm].figures(g.trial.Candidate), MissingP: g.missing(),
		Outside: g.outside, Skipped: g.skipped, Started: time.UnixMicro(g.trial.Started).UTC().Format(time.RFC3339),
	}
	s.Outcomes = s.Live.Outcomes + s.Candidate.Outcomes
	if g.verdict == GoOn {
		_, s.Reason = g.judge()
	}
	if g.decisions > 0 {
		share := float64(g.differ) / float64(g.decisions)
		s.Share = &share
	}
	if g.gain.Units() > 0 {
		gain := g.gain.Interval()
		s.Gain, s.Effective = &gain, g.weight*g.weight/g.squares
	}
	s.Next = s.next(now, g.trial.Started)
	return s
}

func (a arm) figures(p *decisionlog.PolicyInfo) Arm {
	out := Arm{Policy: p.Name, Digest: p.Digest, Users: a.users, Outcomes: a.outcomes}
	if a.users > 0 {
		missing := 1 - float64(a.outcomes)/float64(a.users)
		out.Missing = &missing
	}
	if a.outcomes > 0 {
		cost := a.cost / float64(a.outcomes)
		out.MeanCost = &cost
	}
	return out
}

// judge is the verdict now, and why it is not Promote if the interval is above 0.
func (g *Gate) judge() (v Verdict, reason string) {
	if g.gain.Units() == 0 {
		return GoOn, ""
	}
	gain := g.gain.Interval()
	switch p := g.missing(); {
	case gain.High < 0:
		return Stop, ""
	case !(gain.Low > 0):
		return GoOn, ""
	case g.outside > 0:
		return GoOn, ReasonRange
	case p != nil && *p < missingLevel:
		return GoOn, ReasonMissing
	}
	return Promote, ""
}

const (
	missingLevel = 0.01 // p-value below which missing outcomes clearly differ
	missingUsers = 20   // of each policy, below which the test says nothing
)

// missing is the p-value of the test of two proportions, by the normal approximation with the pooled variance.
func (g *Gate) missing() *float64 {
	a, b := g.arms[liveArm], g.arms[candidateArm]
	if a.users < missingUsers || b.users < missingUsers {
		return nil
	}
	n, m := float64(a.users), float64(b.users)
	p, q := float64(a.outcomes)/n, float64(b.outcomes)/m
	pooled := float64(a.outcomes+b.outcomes) / (n + m)
	out := 1.0 // all or none are missing
	if variance := pooled * (1 - pooled) * (1/n + 1/m); variance > 0 {
		out = math.Erfc(math.Abs(p-q) / math.Sqrt(2*variance))
	}
	return &out
}

// next is the sentence of Status.Next.
func (s *Status) next(now time.Time, started int64) string {
	switch {
	case s.Verdict == Promote:
		return "The candidate costs less: the lower end of the gain is above 0."
	case s.Verdict == Stop:
		return "The candidate costs more: the upper end of the gain is below 0."
	case s.Reason == ReasonMissing:
		return fmt.Sprintf("The lower end of the gain is above 0, but the candidate is not promoted while the shares of missing outcomes differ clearly (%.1f%% and %.1f%%, p = %.2g).", 100**s.Live.Missing, 100**s.Candidate.Missing, *s.MissingP)
	case s.Reason == ReasonRange:
		return fmt.Sprintf("The lower end of the gain is above 0, but the candidate is never promoted: %d costs were outside the range from %g to %g.", s.Outside, s.Costs[0], s.Costs[1])
	case s.Gain == nil:
		return "It goes on: no outcome of a decision on which the two policies differ has come yet."
	}
	const rule = "It goes on until the lower end of the gain is above 0 or the upper end is below 0"
	more := s.more()
	if math.IsInf(more, 1) {
		return rule + "; when that will be cannot be said yet."
	}
	text := fmt.Sprintf("%s: if the gain stays %.4f, after about %.0f more users", rule, s.Gain.Mean, more)
	perUser := now.Sub(time.UnixMicro(started)).Seconds() / float64(s.Outcomes)
	if wait := more * perUser; wait > 0 && wait < 10*365*24*3600 {
		text += ", around " + now.Add(time.Duration(wait*float64(time.Second))).UTC().Format("2006-01-02 15:04 UTC")
	}
	return text + "."
}

// fewest is the number of outcomes below which nothing is predicted.
const fewest = 50

// more is about how many more users with an outcome are needed if the gain stays as it is, because the width of the interval
// shrinks with the root of their number; +Inf if that cannot be said.
func (s *Status) more() float64 {
	bound := s.Gain.Mean - s.Gain.Low
	if s.Gain.Mean < 0 {
		bound = s.Gain.High - s.Gain.Mean
	}
	ratio := bound / math.Abs(s.Gain.Mean)
	if s.Outcomes < fewest || !(ratio < 1000) {
		return math.Inf(1)
	}
	n := float64(s.Outcomes)
	return max(1, math.Ceil(n*ratio*ratio-n))
}
