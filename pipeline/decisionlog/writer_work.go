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
		case <-tick.C:
			w.retry()
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

// retry is what happens at every tick: what is left is written and made durable, and old segments are closed. If all of
// that succeeds, the log works again.
func (w *Writer) retry() {
	err := w.write()
	if err == nil {
		if err = w.records.sync(); err == nil {
			w.durable()
		}
		err = errors.Join(err, w.outcomes.sync(), w.records.sealFull(), w.outcomes.sealFull())
		w.count(err)
	}
	w.mu.Lock()
	w.failure = err
	w.mu.Unlock()
	poke(w.convert)
}

// durable forgets the oldest record that was not yet on disk.
func (w *Writer) durable() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unsynced = time.Time{}
}

// write appends the queue to the open segment. After an error the batch is kept for the next call.
func (w *Writer) write() error {
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
		w.count(w.records.sealFull())
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
		w.writing, w.queue = w.queue, &batch{}
	}
	return w.writing
}

// wrote counts a batch that is in the segment.
func (w *Writer) wrote(b *batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing = nil
	w.stats.Records += int64(len(b.entries))
	w.stats.Bytes += int64(len(b.lines))
	if w.unsynced.IsZero() {
		w.unsynced = b.first
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
