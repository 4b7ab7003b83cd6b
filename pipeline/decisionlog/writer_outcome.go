package decisionlog

import (
	"fmt"
	"slices"
)

// Outcome keeps an outcome of a decision in the log. When it returns, a kill of the process loses neither it nor the decision. An outcome
// that states the same as an earlier one of the decision is a duplicate, which is not written again. If the log has no
// such decision the error is an *[UnknownError], a *[ConflictError] if the earlier outcome states something else and o is not to
// replace it, and a *[StoppedError] if it cannot be written, whatever Settings.OnFull is.
func (w *Writer) Outcome(o Outcome) (duplicate bool, err error) {
	kept, err := w.Keep(o)
	return kept == KeptBefore, err
}

// Kept says what became of an outcome.
type Kept int

// What becomes of outcomes that are not refused.
const (
	KeptNew     Kept = iota // it was written
	KeptBefore              // the log had it
	KeptInPlace             // it was written, and holds in place of an earlier one
)

// Keep is [Writer.Outcome], and also says whether the outcome is new or replaced another one.
func (w *Writer) Keep(o Outcome) (Kept, error) {
	if err := o.Check(); err != nil {
		return KeptNew, err
	}
	if err := o.checkRange(w.settings.MaxLoss); err != nil {
		return KeptNew, err
	}
	o.Comment = cut(o.Comment)
	hash, content := hashOf(o.ID), contentOf(&o)
	if err := w.knows(o.ID, hash); err != nil {
		return KeptNew, err
	}
	w.outcome.Lock()
	defer w.outcome.Unlock()
	if w.isClosed() {
		return KeptNew, ErrClosed
	}
	before, found, err := w.outcomes.find(o.ID, hash)
	switch {
	case err != nil:
		return KeptNew, fmt.Errorf("decision log: outcomes: %w", err)
	case found && before == content:
		w.counts(func(s *Stats) { s.Duplicates++ })
		return KeptBefore, nil
	case found && !o.Replace:
		return KeptNew, &ConflictError{ID: o.ID}
	}
	o.Replace = found
	line, err := appendOutcome(nil, &o)
	if err != nil {
		return KeptNew, err
	}
	if err := w.settle(hash); err != nil {
		return KeptNew, &StoppedError{err}
	}
	if err := w.outcomes.append(line, []entry{{id: o.ID, hash: hash, content: content, time: o.Time}}, w.policy); err != nil {
		w.count(err)
		return KeptNew, &StoppedError{err}
	}
	w.counts(func(s *Stats) { s.Outcomes++ })
	w.outcomes.sealFull()
	if o.Replace {
		return KeptInPlace, nil
	}
	return KeptNew, nil
}

// knows is an error unless the log has a decision.
func (w *Writer) knows(id string, hash uint64) error {
	w.mu.Lock()
	found := w.recent.has(hash)
	removed := w.stats.Removed > 0 // and its segment may be
	w.mu.Unlock()
	if found && removed {
		found, _ = w.waits(hash)
	}
	if found {
		return nil
	}
	_, found, err := w.records.find(id, hash)
	switch {
	case err != nil:
		return fmt.Errorf("decision log: %w", err)
	case !found:
		return &UnknownError{ID: id, Sampled: !kept(hash, w.settings.Sample)}
	}
	return nil
}

// settle writes the queue if the decision is in it. Otherwise a kill between an outcome and its decision would leave an outcome
// without a decision. While writing fails, only the ticks try again.
func (w *Writer) settle(hash uint64) error {
	waits, failure := w.waits(hash)
	if !waits || failure != nil {
		return failure
	}
	return w.write()
}

// waits reports whether a decision is not yet in its segment, and then why writing fails, nil if it does not.
func (w *Writer) waits(hash uint64) (waits bool, failure error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range []*batch{w.queue, w.writing} {
		if b != nil && slices.ContainsFunc(b.entries, func(e entry) bool { return e.hash == hash }) {
			return true, w.failure
		}
	}
	return false, nil
}

func (w *Writer) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

func (w *Writer) counts(change func(*Stats)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.stats)
}
