package trials

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/gate"
	"pipe/serve/decision"
	"pipe/serve/policies"
)

// Trials are the candidates of a server. It is a [decision.Observer], and safe for concurrent use.
type Trials struct {
	decider *decision.Decider
	set     *policies.Set
	folder  string // of the decision log
	log     *slog.Logger
	step    func(name string) // called between the steps that a kill may part, for tests
	all     []*tried

	wake chan struct{}
	stop context.CancelFunc
	work sync.WaitGroup

	acting sync.Mutex // held while a trial is begun, ended or changed
	record *record    // guarded by acting
}

// tried is a candidate of the settings.
type tried struct {
	settings decision.Candidate // Of is a name

	mu    sync.RWMutex
	now   *trial     // nil: nothing was ever tried
	gate  *gate.Gate // of now, if it is Trying; nil: nothing is tried
	why   string     // nothing is tried
	acted gate.Verdict
	retry time.Time // what was begun and failed is not tried before
}

// checkEvery is how often the versions are compared with those that are tried.
const checkEvery = time.Second

// Open goes on with the trials of the last run: what was being done is finished, and the log is counted again. folder is that
// of the decision log. The caller closes it before the decider.
func Open(ctx context.Context, d *decision.Decider, folder string, log *slog.Logger) (*Trials, error) {
	return open(ctx, d, folder, log, func(string) {})
}

func newTrials(d *decision.Decider) *Trials {
	t := &Trials{decider: d, set: d.Policies(), wake: make(chan struct{}, 1)}
	for _, c := range d.Settings().Candidate {
		c.Of = cmp.Or(c.Of, t.set.Default())
		t.all = append(t.all, &tried{settings: c, acted: gate.GoOn})
	}
	return t
}

// Check reports candidates that cannot be compared with their live policies. One that has the same content waits for another
// file. It begins nothing.
func Check(d *decision.Decider) error {
	var problems []error
	t := newTrials(d)
	for _, c := range t.all {
		if err := t.hopeless(c); err != nil {
			problems = append(problems, fmt.Errorf("candidate %q: %w", c.settings.Policy, err))
		}
	}
	return errors.Join(problems...)
}

// hopeless says why a candidate cannot be tried; nil if it can, or waits for another file.
func (t *Trials) hopeless(c *tried) error {
	if _, err := t.versions(c); !errors.Is(err, gate.ErrSame) {
		return err
	}
	return nil
}

func open(ctx context.Context, d *decision.Decider, folder string, log *slog.Logger, step func(string)) (*Trials, error) {
	t := newTrials(d)
	t.folder, t.log, t.step = folder, log, step
	var err error
	if t.record, err = readRecord(folder); err != nil {
		return nil, err
	}
	t.acting.Lock()
	defer t.acting.Unlock()
	for _, c := range t.all {
		if c.now = t.record.latest(c.settings.Of); c.now != nil {
			t.finish(ctx, c)
		}
		if err := t.begin(c); err != nil {
			return nil, err
		}
		if err := t.hopeless(c); err != nil && c.now == nil {
			return nil, fmt.Errorf("candidate %q: %w", c.settings.Policy, err)
		}
	}
	ctx, t.stop = context.WithCancel(context.WithoutCancel(ctx))
	t.work.Go(func() { t.run(ctx) })
	return t, nil
}

// Close waits until what is being done is done. It is idempotent.
func (t *Trials) Close() error {
	t.stop()
	t.work.Wait()
	return nil
}

// run acts on verdicts, and begins trials of new versions.
func (t *Trials) run(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		case <-tick.C:
		}
		for _, c := range t.all {
			if err := t.check(context.WithoutCancel(ctx), c); err != nil {
				t.log.Error("a candidate", "candidate", c.settings.Policy, "of", c.settings.Of, "error", err.Error())
			}
		}
	}
}

// check acts on the verdict of a trial, and begins one if the versions have changed.
func (t *Trials) check(ctx context.Context, c *tried) error {
	t.acting.Lock()
	defer t.acting.Unlock()
	if c.now != nil && (c.now.Phase == Promoting || c.now.Phase == Returning) {
		if time.Now().Before(c.retry) {
			return nil
		}
		if t.finish(ctx, c); c.now.Phase == Promoting || c.now.Phase == Returning {
			return nil
		}
	}
	if err := t.begin(c); err != nil {
		return err
	}
	if c.gate == nil {
		return nil
	}
	s := c.gate.Status(time.Now())
	switch {
	case s.Verdict == c.acted:
		return nil
	case s.Verdict == gate.Stop:
		return t.end(c, Stopped, s)
	case c.settings.Promote != decision.PromoteAuto:
		t.log.Info("a candidate costs less than the live policy, and would be promoted", "candidate", c.settings.Policy, "of", c.settings.Of, "low", s.Gain.Low, "high", s.Gain.High)
		c.acted = s.Verdict
		return nil
	}
	if err := t.end(c, Promoting, s); err != nil {
		return err
	}
	t.finish(ctx, c)
	return nil
}

// end ends the share of a candidate. The file says so before anything else is done.
func (t *Trials) end(c *tried, phase Phase, s gate.Status) error {
	t.decider.OpenCandidate(c.settings.Of, false)
	now := *c.now
	now.Phase, now.Gain = phase, s.Gain
	if phase == Stopped {
		now.Ended = time.Now().UnixMicro()
	}
	if err := t.save(c, now); err != nil {
		return err
	}
	c.acted = s.Verdict
	t.log.Info("a candidate", "candidate", c.settings.Policy, "of", c.settings.Of, "verdict", string(s.Verdict), "low", s.Gain.Low, "high", s.Gain.High, "users", s.Outcomes)
	return nil
}

// save writes the state of a trial, and then puts it in use.
func (t *Trials) save(c *tried, now trial) error {
	t.record.put(c.settings.Of, now)
	if err := t.record.write(t.folder); err != nil {
		return fmt.Errorf("candidates: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = &now
	return nil
}

// finish does what the phase of a trial says was begun. It can be called again after a kill at any moment.
func (t *Trials) finish(ctx context.Context, c *tried) {
	now, of := *c.now, c.settings.Of
	var err error
	switch now.Phase {
	case Promoting:
		t.step("promoting")
		err = t.set.Replace(ctx, of, now.Old, now.Candidate, now.New)
		t.step("replaced")
		now.Phase = Promoted
	case Returning:
		t.step("returning")
		err = t.set.Restore(ctx, of, now.New, now.Old)
		t.step("restored")
		now.Phase = Returned
	default:
		return
	}
	switch {
	case err == nil:
	case errors.As(err, new(*policies.ChangedError)) || errors.As(err, new(*policies.NotServedError)):
		now.Phase, now.Why = Refused, err.Error()
	default: // such as a full disk
		t.later(c, err)
		return
	}
	now.Ended = time.Now().UnixMicro()
	if err := errors.Join(err, t.save(c, now)); err != nil {
		t.log.Error("a candidate", "candidate", now.Candidate, "of", of, "phase", string(now.Phase), "error", err.Error())
		return
	}
	t.step("saved")
	t.log.Info("a candidate", "candidate", now.Candidate, "of", of, "phase", string(now.Phase), "old", now.Old, "new", now.New)
}

// retryAfter is how long after a failure what was begun is tried again.
const retryAfter = time.Minute

// later leaves what was begun for another time.
func (t *Trials) later(c *tried, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why != err.Error() {
		t.log.Error("a candidate: it is tried again", "candidate", c.settings.Policy, "of", c.settings.Of, "phase", string(c.now.Phase), "error", err.Error())
	}
	c.why, c.retry = err.Error(), time.Now().Add(retryAfter)
}

// Back undoes the promotion of a candidate: the policy of gets the version before it. It is done once: the same two versions are
// not tried again.
func (t *Trials) Back(ctx context.Context, of string) error {
	t.acting.Lock()
	defer t.acting.Unlock()
	for _, c := range t.all {
		if of != "" && c.settings.Of != of || of == "" && len(t.all) > 1 {
			continue
		}
		if c.now == nil || c.now.Phase != Promoted {
			return &NoWayBackError{c.settings.Of}
		}
		now := *c.now
		now.Phase, now.Ended = Returning, 0
		if err := t.save(c, now); err != nil {
			return err
		}
		t.finish(ctx, c)
		if c.now.Phase != Returned {
			return fmt.Errorf("the version before is not served: %s", cmp.Or(c.now.Why, c.why))
		}
		return t.begin(c)
	}
	return &NoWayBackError{of}
}

// NoWayBackError means that no candidate was promoted last.
type NoWayBackError struct{ Of string }

func (e *NoWayBackError) Error() string {
	if e.Of == "" {
		return "several policies have a candidate: name one"
	}
	return fmt.Sprintf("policy %q was not promoted from a candidate, so there is no version to go back to", e.Of)
}

// Add implements decision.Observer.
func (t *Trials) Add(_, _ string, _ *policy.Info, records []*decisionlog.Record) {
	for _, c := range t.all {
		if g := c.current(); g != nil {
			for _, r := range records {
				g.Decision(r)
			}
		}
	}
}

// Shadow implements decision.Observer.
func (t *Trials) Shadow(*decisionlog.Record, decisionlog.Shadow, bool) {}

// Outcome implements decision.Observer.
func (t *Trials) Outcome(o decisionlog.Outcome) {
	for _, c := range t.all {
		g := c.current()
		if g == nil || g.Outcome(o) == gate.GoOn {
			continue
		}
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

func (c *tried) current() *gate.Gate {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.gate
}
