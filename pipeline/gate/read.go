package gate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"pipe/internal/dataerror"
	"pipe/pipeline/decisionlog"
)

// Read takes the decisions of a trial from a log, and then their outcomes in the order in which these came. An outcome that was
// replaced counts as the one that holds. So a gate that is made again from the log counts what it counted before, once. It
// judges once, at the end.
func (g *Gate) Read(log *decisionlog.Log) error {
	var outcomes []decisionlog.Outcome
	for d, err := range log.Decisions() {
		if err != nil {
			return err
		}
		outcomes = g.take(d, outcomes)
	}
	g.countAll(outcomes)
	return nil
}

// take takes a decision, and appends its outcome if it counts.
func (g *Gate) take(d decisionlog.Decision, outcomes []decisionlog.Outcome) []decisionlog.Outcome {
	g.Decision(d.Record)
	if d.Outcome != nil && g.waiting[d.ID] != nil {
		outcomes = append(outcomes, *d.Outcome)
	}
	return outcomes
}

// countAll counts outcomes in the order in which they came, and judges once at the end: the decisions were all taken before, so the
// shares of missing outcomes are only right then.
func (g *Gate) countAll(outcomes []decisionlog.Outcome) {
	slices.SortStableFunc(outcomes, func(a, b decisionlog.Outcome) int { return cmp.Compare(a.Time, b.Time) })
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range outcomes {
		g.count(o)
	}
	if g.verdict == GoOn {
		g.verdict, _ = g.judge()
	}
}

// ErrNoTrial means that a log has no trial of a candidate.
var ErrNoTrial = errors.New("there are no decisions of it and of its live policy with the probabilities of both")

// Read judges the latest trial in the log of a folder: of the last version of a candidate beside the last version of the live
// policy. live is the name of that; empty: the only one that has canaries or candidates. A log without such a trial is a
// *dataerror.Error that wraps [ErrNoTrial]. Costs that are not known are [ErrMeasuredFees].
func Read(folder, live, candidate string, s Settings) (*Gate, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	log, err := decisionlog.Read(folder)
	if err != nil {
		return nil, err
	}
	r := reader{live: live, candidate: candidate, settings: s}
	for d, err := range log.Decisions() {
		if err == nil {
			err = r.take(d)
		}
		if err != nil {
			return nil, err
		}
	}
	if r.why != nil {
		return nil, r.why
	}
	if r.gate == nil {
		return nil, &dataerror.Error{File: folder, Msg: fmt.Sprintf("candidate %q", candidate), Err: ErrNoTrial}
	}
	r.gate.countAll(r.outcomes)
	return r.gate, nil
}

// reader follows the versions of two policies in a log.
type reader struct {
	live, candidate string
	settings        Settings
	now             [2]*decisionlog.PolicyInfo // the last versions of both
	gate            *Gate                      // nil: one of them has not decided yet
	why             error                      // the last versions cannot be compared; earlier ones do not matter
	outcomes        []decisionlog.Outcome
}

func (r *reader) take(d decisionlog.Decision) error {
	arm := r.armOf(d.Record)
	if arm < 0 {
		return nil
	}
	if arm == liveArm && r.live == "" {
		r.live = d.Policy
	}
	if arm == liveArm && d.Policy != r.live {
		return fmt.Errorf("policies %q and %q both share their users with another one: name the live one", r.live, d.Policy)
	}
	if before := r.now[arm]; before == nil || before.Digest != d.Digest {
		r.now[arm], r.gate, r.why, r.outcomes = d.About, nil, nil, nil
		if r.now[liveArm] != nil && r.now[candidateArm] != nil {
			r.gate, r.why = New(Trial{Live: r.now[liveArm], Candidate: r.now[candidateArm], Share: d.Share, Started: d.Time}, r.settings)
		}
	}
	if unknownCost(d.About, d.Record) {
		r.gate, r.why = nil, fmt.Errorf("policy %q: %w", d.Policy, ErrMeasuredFees)
	}
	if r.gate != nil {
		r.outcomes = r.gate.take(d, r.outcomes)
	}
	return nil
}

// armOf is the arm of a decision; -1 if it is of no trial of the candidate.
func (r *reader) armOf(d *decisionlog.Record) int {
	switch {
	case d.OwnPropensity == nil || !(d.Share > 0):
		return -1
	case d.Canary && d.Policy == r.candidate:
		return candidateArm
	case !d.Canary && (r.live == "" || d.Policy == r.live):
		return liveArm
	}
	return -1
}
