package decisionlog

import (
	"errors"
	"time"
)

// gather is how long the writer waits for more records after the first one, so that it writes a few times per second and
// not once per record.
const gather = 10 * time.Millisecond

// work writes the queue until the writer is closed.
func (w *Writer) work() {
	tick := time.NewTicker(w.settings.FlushInterval / 2)
	defer tick.Stop()
	for {
		select {
		case <-w.done:
			return
		case <-tick.C: // what could not be written, and segments that are old
			_ = w.write() // counted
			w.records.sealFull()
			w.outcomes.sealFull()
		case <-w.wake:
			if !w.pause() {
				return
			}
			if w.works() {
				_ = w.write() // counted
			}
		}
	}
}

// flush makes what was written durable, in every half of the flush interval, until the writer is closed.
func (w *Writer) flush() {
	tick := time.NewTicker(w.settings.FlushInterval / 2)
	defer tick.Stop()
	for {
		select {
		case <-w.done:
			return
		case <-tick.C:
			w.sync()
			poke(w.convert)
		}
	}
}

func (w *Writer) sync() error {
	w.mu.Lock()
	w.syncing, w.unsynced = w.unsynced, time.Time{}
	w.mu.Unlock()
	err := errors.Join(w.records.sync(), w.outcomes.sync())
	w.count(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.syncFailure, w.syncing = err, time.Time{}
	return err
}

// pause waits for more records; false if the writer was closed.
func (w *Writer) pause() bool {
	timer := time.NewTimer(min(gather, w.settings.FlushInterval/4))
	defer timer.Stop()
	select {
	case <-w.done:
		return false
	case <-timer.C:
		return true
	}
}

// works reports whether the last write succeeded. While it did not, only the ticks try again.
func (w *Writer) works() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure == nil
}

// write appends the queue to the open segment. After an error the batch is kept for the next call.
func (w *Writer) write() error {
	w.writes.Lock()
	defer w.writes.Unlock()
	for range 2 { // what was kept, then what came since
		b := w.take()
		if b == nil {
			return nil
		}
		if err := w.records.append(b.lines, b.entries, w.policy); err != nil {
			w.count(err)
			w.mu.Lock()
			w.failure = err
			w.mu.Unlock()
			return err
		}
		w.wrote(b)
		w.records.sealFull()
	}
	return nil
}

func (w *Writer) policy(digest string) *PolicyInfo {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.policies[digest]
}

// take returns the batch to be written next, nil if there is none.
func (w *Writer) take() *batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writing == nil && len(w.queue.entries) > 0 {
		w.writing, w.queue, w.spare = w.queue, w.spare, nil
		if w.queue == nil {
			w.queue = &batch{}
		}
	}
	return w.writing
}

// wrote counts a batch that is in the segment.
func (w *Writer) wrote(b *batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing, w.failure = nil, nil
	defer w.reuse(b)
	w.stats.Records += int64(len(b.entries))
	w.stats.Bytes += int64(len(b.lines))
	if w.unsynced.IsZero() {
		w.unsynced = b.first
	}
}

// mostSpare is the memory of a batch that is kept for the next one.
const mostSpare = 8 << 20

func (w *Writer) reuse(b *batch) {
	if cap(b.lines) <= mostSpare {
		w.spare = &batch{lines: b.lines[:0], entries: b.entries[:0]}
	}
}

// count counts an error of the disk; nil is none.
func (w *Writer) count(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.Errors++
	w.stats.LastError = err.Error()
}
