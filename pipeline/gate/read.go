package gate

import (
	"cmp"
	"fmt"
	"slices"

	"pipe/internal/dataerror"
	"pipe/pipeline/decisionlog"
)

// Read takes the decisions of a trial from a log, and then their outcomes in the order in which these came. An outcome that was
// replaced counts as the one that holds. So a gate that is made again from the log counts what it counted before, once. It
// judges once, at the end.
func (g *Gate) Read(log *decisionlog.Log) error {
	var told []decisionlog.Outcome
	for d, err := range log.Decisions() {
		if err != nil {
			return err
		}
		told = g.take(d, told)
	}
	g.tell(told)
	return nil
}

// take takes a decision, and appends its outcome if it counts.
func (g *Gate) take(d decisionlog.Decision, told []decisionlog.Outcome) []decisionlog.Outcome {
	g.Decision(d.Record)
	if d.Outcome != nil && g.waiting[d.ID] != nil {
		told = append(told, *d.Outcome)
	}
	return told
}

// tell counts outcomes in the order in which they came, and judges once at the end: the decisions were all taken before, so the
// shares of missing outcomes are only right then.
func (g *Gate) tell(told []decisionlog.Outcome) {
	slices.SortStableFunc(told, func(a, b decisionlog.Outcome) int { return cmp.Compare(a.Time, b.Time) })
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range told {
		g.count(o)
	}
	if g.verdict == GoOn {
		g.verdict, _ = g.judge()
	}
}

// Read judges the latest trial in the log of a folder: of the last version of a candidate beside the last version of the live
// policy. live is the name of that; empty: the only one that has canaries or candidates. A log without such a trial is a
// *dataerror.Error.
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
		return nil, &dataerror.Error{File: folder, Msg: fmt.Sprintf("has no decisions of both %q and its live policy with the probabilities of both", candidate)}
	}
	r.gate.tell(r.told)
	return r.gate, nil
}

// reader follows the versions of two policies in a log.
type reader struct {
	live, candidate string
	settings        Settings
	now             [2]*decisionlog.PolicyInfo // the last versions of both
	gate            *Gate                      // nil: one of them has not decided yet
	why             error                      // the last versions cannot be compared; earlier ones do not matter
	told            []decisionlog.Outcome
}

func (r *reader) take(d decisionlog.Decision) error {
	arm := r.armOf(d.Record)
	if arm < 0 {
		return nil
	}
	if unknownCost(d.About, d.Record) {
		return fmt.Errorf("what policy %q expects includes measured fees, which outcomes do not have: costs are not known", d.Policy)
	}
	if arm == liveArm && r.live == "" {
		r.live = d.Policy
	}
	if arm == liveArm && d.Policy != r.live {
		return fmt.Errorf("policies %q and %q both share their users with another one: name the live one", r.live, d.Policy)
	}
	if before := r.now[arm]; before == nil || before.Digest != d.Digest {
		r.now[arm], r.gate, r.why, r.told = d.About, nil, nil, nil
		if r.now[liveArm] != nil && r.now[candidateArm] != nil {
			r.gate, r.why = New(Trial{Live: r.now[liveArm], Candidate: r.now[candidateArm], Share: d.Share, Started: d.Time}, r.settings)
		}
	}
	if r.gate != nil {
		r.told = r.gate.take(d, r.told)
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
