package patience

import (
	"math"
	"time"
)

// Wait follows one call until its answer begins. A nil Wait does nothing.
type Wait struct {
	expert *Expert
	key    cellKey
	began  time.Time

	// guarded by Expert.mu
	event     time.Time     // last sign of life of this call
	longest   time.Duration // silence so far
	allowance time.Duration // of silence; 0: the call is not cut
	cut       func()        // cuts the call; nil: no other pair could answer
	silenced  bool          // it was cut with others
}

// Begin begins to follow a call. The caller ends it.
func (e *Expert) Begin(stream bool, tokens int) *Wait {
	if e == nil {
		return nil
	}
	now := time.Now()
	w := &Wait{expert: e, key: keyOf(stream, tokens), began: now, event: now}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting[w] = struct{}{}
	return w
}

// Allow returns how long the call may be silent: what was learned, or flat if nothing is cut by that. cut is called when the
// expert is silent on this and all later calls; it must not call the Wait. A call that is not to be cut does without Allow.
func (w *Wait) Allow(flat time.Duration, cut func()) time.Duration {
	if w == nil {
		return flat
	}
	e, r := w.expert, w.expert.learner.rules.Load()
	e.mu.Lock()
	defer e.mu.Unlock()
	if w.allowance = flat; !r.cuts {
		return flat
	}
	w.cut, w.allowance = cut, e.cells[w.key].allowance(r)
	if e.check == nil {
		e.check = time.AfterFunc(r.Silence, e.checkSilence)
	}
	e.learner.metrics.Allowance(e.name, w.key.stream, tokensOf(w.key.length), w.allowance)
	return w.allowance
}

// Alive says that an event or a comment came.
func (w *Wait) Alive() {
	if w == nil {
		return
	}
	now := time.Now()
	w.expert.mu.Lock()
	defer w.expert.mu.Unlock()
	w.expert.lives(w, now)
	w.longest, w.event = max(w.longest, now.Sub(w.event)), now
}

// lives says that a call showed a sign of life.
func (e *Expert) lives(w *Wait, now time.Time) {
	if w.began.After(e.newest) {
		e.newest, e.changed, e.unheard = w.began, now, 0
	}
}

// End ends the wait: an answer began, or the call was cut, failed, or was left by its caller. It reports whether the call was
// cut together with others, after which cut is not called any more.
func (w *Wait) End(answered bool) (silenced bool) {
	if w == nil {
		return false
	}
	e, now := w.expert, time.Now()
	r := e.learner.rules.Load()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unsaved = true
	delete(e.waiting, w)
	c, took, silence := e.cell(w.key), now.Sub(w.began), max(w.longest, now.Sub(w.event))
	if answered {
		e.lives(w, now)
		c.begins.answered(took, r.keep)
		c.silence.answered(silence, r.keep)
		return w.silenced
	}
	w.countCut(now)
	// Of the calls that are given up while no later one shows a sign of life, only the first ones tell about times. The others
	// tell that the service does not work, and would make the allowance long for when it works again.
	const most = 3
	if e.unheard++; e.unheard <= most {
		c.begins.atLeast(took)
		c.silence.atLeast(silence)
	}
	return w.silenced
}

// countCut counts a call that ended because it was silent for too long.
func (w *Wait) countCut(now time.Time) {
	e := w.expert
	switch {
	case w.silenced:
		e.silent++
		e.learner.metrics.Cut(e.name, "silent")
	case w.allowance > 0 && now.Sub(w.event) >= w.allowance:
		e.slow++
		e.learner.metrics.Cut(e.name, "slow")
	}
}

// silenceError is the share of good answers that may be cut because their expert seems to be dead.
const silenceError = 1e-4

// checkSilence cuts the latest calls if their expert is silent on all of them for longer than chance explains, even if it had
// become slower by the margin.
func (e *Expert) checkSilence() {
	r, now := e.learner.rules.Load(), time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.waiting) == 0 {
		e.check = nil
		return
	}
	latest, next := e.unexplained(r, now)
	for _, w := range latest {
		w.silenced = true
		w.cut()
	}
	e.check.Reset(next)
}

// unexplained returns the latest calls, those that began after every call that showed a sign of life, if their silence is none
// of chance; and when to look again.
//
// While an expert works, the answers to the calls that began after a moment are a point process with the sum of the hazards
// of those that wait as compensator. By the theorem of time change (Brown et al. 2002, doi:10.1162/08997660252741149), the
// integral of it until the first answer is exponential with mean 1. So it passes x with probability exp(-x). Each answer can
// be the last one before such a moment. So cutting n calls at x = ln(n / silenceError) cuts at most this share of the answers.
// What passed before the last such answer came is left out, since calls may queue at the service. The times of calls are divided
// by the margin.
func (e *Expert) unexplained(r *rules, now time.Time) (latest []*Wait, next time.Duration) {
	hazards, sum, first := make(map[cellKey]*[binCount]float64), 0.0, now
	scaled := func(t time.Time, w *Wait) time.Duration { return time.Duration(float64(t.Sub(w.began)) / r.Margin) }
	for w := range e.waiting {
		if !w.began.After(e.newest) {
			continue
		}
		if w.began.Before(first) {
			first = w.began
		}
		if w.cut != nil && !w.silenced {
			latest = append(latest, w)
		}
		sum += e.hazardOf(w, scaled(now, w), r, hazards) - e.hazardOf(w, scaled(e.changed, w), r, hazards)
	}
	if e.changed.After(first) {
		first = e.changed
	}
	if left := first.Add(r.Silence).Sub(now); left > 0 {
		return nil, left
	}
	if sum < math.Log(float64(len(latest))/silenceError) {
		latest = nil
	}
	return latest, max(r.Silence/20, minTime)
}

// hazardOf is the hazard that a call has passed at an age; 0 if nothing is known about such calls.
func (e *Expert) hazardOf(w *Wait, age time.Duration, r *rules, hazards map[cellKey]*[binCount]float64) float64 {
	c := e.cells[w.key]
	if c == nil || c.begins.n < r.Answers {
		return 0
	}
	h := hazards[w.key]
	if h == nil {
		all := c.begins.hazards()
		h, hazards[w.key] = &all, &all
	}
	return hazardAt(h, age)
}
