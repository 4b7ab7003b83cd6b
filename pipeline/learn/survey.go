package learn

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/ope"
)

// The names of problems.
const (
	FewOutcomes  = "few outcomes" // too few to learn from
	NoDraws      = "no draws"     // every pair was certain, so nothing is known of others
	NoFeatures   = "no features"  // the log does not have them
	Missing      = "missing"      // whether an outcome is known depends on the pair
	Propensities = "propensities" // they do not fit what was executed
	Drift        = "drift"        // the probabilities of pairs change over time
	Loggers      = "loggers"      // several policies decided
	Prices       = "prices"       // decisions were made at other prices than those of the deployed file
	Candidate    = "candidate"    // it cannot be tried beside the deployed policy
	OtherPolicy  = "other policy" // the last decision is not by the deployed file
)

// Problem is something about the log that whoever reads the result has to know.
type Problem struct {
	Name  string `json:"name"`
	Text  string `json:"text"`
	Fatal bool   `json:"fatal"` // nothing is learned because of it
}

// Survey counts what a log has in the window.
type Survey struct {
	First     string `json:"first,omitempty"`    // time of the first decision in the window, in RFC 3339
	Last      string `json:"last,omitempty"`     // and of the last one
	Decisions int    `json:"decisions"`          // on which a policy decided
	Outcomes  int    `json:"outcomes"`           // of these, with a known loss
	New       int    `json:"new_outcomes"`       // of these, that came after the run before
	Explored  int    `json:"explored"`           // decisions of which the executed pair was not certain
	Repriced  int    `json:"repriced"`           // decisions at other fees than those of the deployed file
	Cascades  int    `json:"cascades,omitempty"` // further decisions, of cascades, from which nothing is learned

	featureless int
	first, last int64
	came        int64          // when the last outcome came
	latest      string         // digest of the policy of the last decision that asked for it
	loggers     map[string]int // decisions by name@digest
}

// survey reads the log once. since is the begin of the window, and before when the last outcome of the run before came, both in
// microseconds.
func survey(ctx context.Context, folder string, deployed *policy.Info, since, before int64) (*Survey, error) {
	log, err := decisionlog.Read(folder)
	if err != nil {
		return nil, err
	}
	s := &Survey{loggers: map[string]int{}}
	fees := deployed.Actions.Fees(deployed.Lambda)
	for d, err := range log.Decisions() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		switch {
		case d.Time < since || d.IsFixed() || d.IsPanel():
		case d.IsCascade():
			s.Cascades++
		default:
			s.add(d, fees, before)
		}
	}
	if s.Decisions > 0 {
		s.First, s.Last = costs.TimeText(s.first), costs.TimeText(s.last)
	}
	return s, nil
}

func (s *Survey) add(d decisionlog.Decision, fees []float64, before int64) {
	if s.Decisions == 0 || d.Time < s.first {
		s.first = d.Time
	}
	s.Decisions++
	s.last = max(s.last, d.Time)
	s.loggers[d.Policy+"@"+d.Digest]++
	if !d.Canary {
		s.latest = d.Digest
	}
	if d.Propensity[d.Action] < 1 {
		s.Explored++
	}
	if !sameFees(d.Record, fees) {
		s.Repriced++
	}
	if d.Outcome == nil {
		return
	}
	if _, ok := d.Outcome.LossOf(); !ok {
		return
	}
	s.Outcomes++
	if len(d.Features) == 0 {
		s.featureless++
	}
	s.came = max(s.came, d.Outcome.Time)
	if d.Outcome.Time > before {
		s.New++
	}
}

// sameFees compares up to the rounding of float32.
func sameFees(r *decisionlog.Record, fees []float64) bool {
	if len(r.Propensity) != len(fees) {
		return false
	}
	for i, fee := range fees {
		if math.Abs(r.FixedFeeOf(i)-fee) > 1e-6*max(1, math.Abs(fee)) {
			return false
		}
	}
	return true
}

// problems are those that the counts show.
func (s *Survey) problems(deployed string, least int) (list []Problem) {
	add := func(is, fatal bool, name, format string, args ...any) {
		if is {
			list = append(list, Problem{name, fmt.Sprintf(format, args...), fatal})
		}
	}
	add(s.Outcomes < least, true, FewOutcomes, "%d decisions have an outcome; least_rows is %d", s.Outcomes, least)
	add(s.Decisions > 0 && s.Explored == 0, true, NoDraws, "every decision was certain, so the log says nothing about other pairs: the server needs decision.explore or a candidate; answers of a panel train, and do not judge")
	add(s.featureless > 0, s.featureless == s.Outcomes, NoFeatures, "%d decisions have no features in the log; it needs features: full", s.featureless)
	add(len(s.loggers) > 1, false, Loggers, "%d versions of policies decided: %s", len(s.loggers), s.named())
	add(s.Repriced > 0, false, Prices, "%d of %d decisions were made at other prices than those of the deployed file; all costs are compared at the last prices of the log", s.Repriced, s.Decisions)
	add(s.latest != "" && s.latest != deployed, false, OtherPolicy, "the last decision of the log is by %s, not by the deployed file, %s", s.latest, deployed)
	return list
}

func (s *Survey) named() string {
	var names []string
	for name, n := range s.loggers {
		names = append(names, fmt.Sprintf("%s (%d)", name, n))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// problemsOf are those that an evaluation of the log shows.
func problemsOf(r *ope.Report) (list []Problem) {
	if o := r.Outcomes; o.Depends {
		list = append(list, Problem{Missing, fmt.Sprintf("whether an outcome is known depends on the pair (p = %.2g): %s", *o.P, missingText(o)), true})
	}
	if !r.Logged.Fits {
		list = append(list, Problem{Propensities, fmt.Sprintf("the probabilities in the log do not fit what was executed: %.1f standard errors apart", r.Logged.Worst), true})
	}
	if r.Logged.Changes {
		list = append(list, Problem{Drift, "the mean probability of a pair changes by more than 0.1 over the window", false})
	}
	return list
}

func missingText(o *ope.Outcomes) string {
	var parts []string
	for _, p := range o.Pairs {
		parts = append(parts, fmt.Sprintf("%s lacks %.0f%%", p.Pair, 100*float64(p.Missing)/float64(p.Known+p.Missing)))
	}
	return strings.Join(parts, ", ")
}

// fatal are the problems because of which nothing is learned.
func fatal(list []Problem) (texts []string) {
	for _, p := range list {
		if p.Fatal {
			texts = append(texts, p.Name+": "+p.Text)
		}
	}
	return texts
}
