package trials

import (
	"errors"
	"fmt"
	"time"

	"pipe/pipeline/decisionlog"
	"pipe/pipeline/gate"
	"pipe/serve/decision"
)

// begin makes the trial that is running that of the versions that are served: it goes on, or another one begins, or none runs.
// An error means that the file or the log cannot be used.
func (t *Trials) begin(c *tried) error {
	next, err := t.versions(c)
	switch {
	case err != nil:
		t.rest(c, err.Error())
		return nil
	case c.gate != nil && c.gate.Trial().Live.Digest == next.Live.Digest && c.gate.Trial().Candidate.Digest == next.Candidate.Digest:
		return nil
	}
	known := t.record.find(c.settings.Of, next.Live.Digest, next.Candidate.Digest)
	if known != nil && known.ended() {
		t.rest(c, fmt.Sprintf("these two versions were tried before: the candidate was %s, %s", known.Phase, at(known.Ended)))
		return nil
	}
	now := trial{Candidate: c.settings.Policy, Old: next.Live.Digest, New: next.Candidate.Digest, Phase: Trying, Share: c.settings.Share, Started: time.Now().UnixMicro()}
	last := t.record.latest(c.settings.Of)
	goesOn := known != nil && last.Started == known.Started && last.New == known.New && c.gate == nil
	if goesOn {
		now = *known
	}
	next.Started, next.Share = now.Started, now.Share
	g, err := gate.New(next, c.settings.Settings)
	if err != nil {
		t.rest(c, err.Error())
		return nil
	}
	if goesOn {
		err = t.count(g)
	} else {
		err = t.save(c, now)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.now, c.gate, c.why, c.acted = &now, g, "", gate.GoOn
	c.mu.Unlock()
	t.decider.OpenCandidate(c.settings.Of, true)
	t.log.Info("a candidate is tried", "candidate", c.settings.Policy, "of", c.settings.Of, "live", now.Old, "new", now.New, "since", at(now.Started))
	return nil
}

// rest ends the share of a candidate because nothing can be tried.
func (t *Trials) rest(c *tried, why string) {
	t.decider.OpenCandidate(c.settings.Of, false)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why != why {
		t.log.Info("a candidate is not tried", "candidate", c.settings.Policy, "of", c.settings.Of, "reason", why)
	}
	c.gate, c.why = nil, why
}

// versions are those of the two policies that are served. The error says why they cannot be compared.
func (t *Trials) versions(c *tried) (next gate.Trial, err error) {
	about := func(name string) (*decisionlog.PolicyInfo, error) {
		p, err := t.set.Acquire(name)
		if err != nil {
			return nil, err
		}
		defer p.Release()
		if p.Info().MeasuredFees() {
			return nil, fmt.Errorf("policy %q: %w", name, gate.ErrMeasuredFees)
		}
		a := decision.About(p)
		return &a, nil
	}
	if next.Live, err = about(c.settings.Of); err != nil {
		return next, err
	}
	if next.Candidate, err = about(c.settings.Policy); err != nil {
		return next, err
	}
	if !t.set.SameEncoder(c.settings.Of, c.settings.Policy) {
		return next, errors.New("the two policies have different encoders under policies.encoders")
	}
	next.Share = c.settings.Share
	return next, next.Validate()
}

// count counts the log again.
func (t *Trials) count(g *gate.Gate) error {
	if !decisionlog.IsLog(t.folder) {
		return nil
	}
	began := time.Now()
	log, err := decisionlog.Read(t.folder)
	if err == nil {
		err = g.Read(log)
	}
	if err != nil {
		return fmt.Errorf("candidates: %w", err)
	}
	t.log.Info("the decisions of a trial were counted again", "records", log.Counts().Records, "seconds", time.Since(began).Seconds())
	return nil
}
