package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"

	"pipe/internal/strictjson"
)

// saved is the content of the file.
type saved struct {
	Format   int     `json:"format"`
	Day      string  `json:"day"`
	Reserved float64 `json:"reserved"` // of the allowance of that day: spent, or free to be spent by the running process
}

// read takes over what the file says. A day in the future, by a clock that was set back, stays the day of the ledger.
func (l *Ledger) read() error {
	if l.file == "" {
		return nil
	}
	text, err := os.ReadFile(l.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return l.parse(text)
}

// parse takes over the content of the file.
func (l *Ledger) parse(text []byte) error {
	var s saved
	err := strictjson.Unmarshal(text, &s)
	period, bad := l.per.parse(s.Day)
	if err != nil || bad != nil || s.Format != 1 || !(s.Reserved >= 0) || math.IsInf(s.Reserved, 0) {
		return fmt.Errorf("ledger: %q is not a ledger of pipe serve; remove it to begin the allowance of this %s again", l.file, l.per)
	}
	if period >= l.period {
		l.period, l.spent, l.reserved = period, s.Reserved, s.Reserved
	}
	return nil
}

// write replaces the file. When it returns, the file is on disk.
func (l *Ledger) write(period int64, reserved float64) error {
	if l.file == "" {
		return nil
	}
	text, err := json.Marshal(saved{1, l.per.text(period), reserved})
	if err != nil {
		return err
	}
	return l.save(l.file, append(text, '\n'))
}

// Reserve begins a new period if there is one, and reserves the next part of the allowance if little is left of the last one. The
// ledger does so by itself in the background.
func (l *Ledger) Reserve() error {
	l.saving.Lock()
	defer l.saving.Unlock()
	l.mu.Lock()
	period, fresh, next, needed := l.next()
	have, wishes := l.reserved, l.wishes
	l.mu.Unlock()
	if !needed {
		return nil
	}
	next, all, err := l.reserve(period, fresh, have, next)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && l.failure == nil {
		l.log.Error("a ledger cannot be written: nothing is spent beyond what it has reserved", "ledger", l.name, "error", err.Error())
	}
	if l.failure = err; err != nil {
		if !fresh {
			l.reserved = next // what was claimed before the failure
		}
		return fmt.Errorf("ledger: %w", err)
	}
	if fresh {
		if l.full {
			l.log.Info("a ledger begins a new day", "ledger", l.name, "day", l.per.text(period))
		}
		l.period, l.spent, l.refused, l.full = period, 0, 0, false
	}
	l.reserved, l.all = next, all
	l.look()
	switch more := l.spent + l.wanted; {
	case more <= l.reserved || more > l.limit() && wishes == l.wishes:
		l.wanted = 0
	default: // it was wanted while the file was written, or while the folder was asked
		poke(l.wake)
	}
	return nil
}

// reserve makes the file say what is reserved, or claims it from the folder that other processes use too. It returns what is
// reserved then, and whether the others have all the rest.
func (l *Ledger) reserve(period int64, fresh bool, have, next float64) (reserved float64, all bool, err error) {
	if l.shared == nil {
		if err := l.write(period, next); err != nil {
			return have, false, err
		}
		return next, false, nil
	}
	reserved, all, err = l.shared.claim(l.per.text(period), fresh, l.allowance, have, next)
	if fresh && err == nil {
		err = l.shared.sweep(l.per.text(period - 1))
	}
	return reserved, all, err
}

// look takes over what is known of the other processes.
func (l *Ledger) look() {
	if l.shared == nil {
		return
	}
	all, taken, mine := l.shared.of.Known()
	l.free = float64(max(0, all-taken)) * l.shared.of.Slice()
	l.share = float64(mine+1) / float64(max(taken, mine)+1)
}

// next is what the file should say, and whether it has to be written.
func (l *Ledger) next() (period int64, fresh bool, reserved float64, needed bool) {
	period = l.today()
	fresh = period > l.period
	spent, before := l.spent, l.reserved
	if fresh {
		spent, before = 0, 0
	}
	reserved = max(before, spent, min(l.allowance, spent+max(l.allowance/blocks, l.wanted)))
	needed = fresh || reserved > before && (l.isShort() || l.wanted > 0 || spent > before)
	return period, fresh, reserved, needed && !l.closed
}

// keep reserves when a part is used up, and periodically, until Close.
func (l *Ledger) keep(every time.Duration) {
	var tick <-chan time.Time // nil: never
	if every > 0 {
		t := time.NewTicker(every)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-l.stop:
			return
		case <-l.wake:
		case <-tick:
		}
		if l.Reserve() == nil { // an error was logged, and State has it
			continue
		}
		select {
		case <-l.stop:
			return
		case <-time.After(retryAfter):
		}
	}
}

// retryAfter is how long nothing is written after a failure.
const retryAfter = time.Second

// Close writes what was really spent, and spends nothing after that. It is idempotent.
func (l *Ledger) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	period, spent, rest := l.period, l.spent, l.reserved-l.spent
	l.mu.Unlock()
	close(l.stop)
	l.done.Wait()
	l.saving.Lock()
	defer l.saving.Unlock()
	if l.shared != nil {
		return l.shared.giveBack(rest)
	}
	if err := l.write(period, spent); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}
