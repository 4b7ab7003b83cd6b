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

// textOf is a day such as 2026-01-31.
func textOf(day int64) string { return time.Unix(day*24*60*60, 0).UTC().Format(time.DateOnly) }

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
	at, bad := time.Parse(time.DateOnly, s.Day)
	if err != nil || bad != nil || s.Format != 1 || !(s.Reserved >= 0) || math.IsInf(s.Reserved, 0) {
		return fmt.Errorf("ledger: %q is not a ledger of pipe serve; remove it to begin this day's allowance again", l.file)
	}
	if day := dayOf(at); day >= l.day {
		l.day, l.spent, l.reserved = day, s.Reserved, s.Reserved
	}
	return nil
}

// write replaces the file. When it returns, the file is on disk.
func (l *Ledger) write(day int64, reserved float64) error {
	if l.file == "" {
		return nil
	}
	text, err := json.Marshal(saved{1, textOf(day), reserved})
	if err != nil {
		return err
	}
	return l.save(l.file, append(text, '\n'))
}

// Reserve begins a new day if there is one, and reserves the next part of the allowance if little is left of the last one. The
// ledger does so by itself in the background.
func (l *Ledger) Reserve() error {
	l.saving.Lock()
	defer l.saving.Unlock()
	l.mu.Lock()
	day, fresh, next, needed := l.next()
	l.mu.Unlock()
	if !needed {
		return nil
	}
	err := l.write(day, next)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && l.failure == nil {
		l.log.Error("a ledger cannot be written: nothing is spent beyond what it has reserved", "ledger", l.name, "error", err.Error())
	}
	if l.failure = err; err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if fresh {
		if l.full {
			l.log.Info("a ledger begins a new day", "ledger", l.name, "day", textOf(day))
		}
		l.day, l.spent, l.refused, l.full = day, 0, 0, false
	}
	l.reserved = next
	switch more := l.spent + l.wanted; {
	case more <= l.reserved || more > l.allowance:
		l.wanted = 0
	default: // it was wanted while the file was written
		poke(l.wake)
	}
	return nil
}

// next is what the file should say, and whether it has to be written.
func (l *Ledger) next() (day int64, fresh bool, reserved float64, needed bool) {
	day = l.today()
	fresh = day > l.day
	spent, before := l.spent, l.reserved
	if fresh {
		spent, before = 0, 0
	}
	reserved = max(before, spent, min(l.allowance, spent+max(l.allowance/blocks, l.wanted)))
	needed = fresh || reserved > before && (l.isShort() || l.wanted > 0 || spent > before)
	return day, fresh, reserved, needed && !l.closed
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
	day, spent := l.day, l.spent
	l.mu.Unlock()
	close(l.stop)
	l.done.Wait()
	l.saving.Lock()
	defer l.saving.Unlock()
	if err := l.write(day, spent); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}
