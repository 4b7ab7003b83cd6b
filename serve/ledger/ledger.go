package ledger

import (
	"log/slog"
	"sync"
	"time"

	"pipe/internal/atomicfile"
	"pipe/internal/storage"
)

// Ledger is an allowance for each period of UTC, such as a day, and what was spent of it. It is safe for concurrent use. Amounts are spent only
// from a part of the allowance that the file says is reserved. After a kill, all that was reserved counts as spent.
type Ledger struct {
	name      string
	allowance float64
	per       Per
	file      string  // "": kept in memory only, or shared
	shared    *shared // nil: this process alone has the allowance
	now       func() time.Time
	log       *slog.Logger
	save      func(file string, text []byte) error // replaces the file; on disk when it returns
	wake      chan struct{}
	stop      chan struct{}
	done      sync.WaitGroup

	saving sync.Mutex // held while the file is written

	mu       sync.Mutex
	period   int64 // that the amounts are of; it never goes back
	spent    float64
	reserved float64   // of the allowance, as the file or the folder says
	all      bool      // other processes have the rest of the allowance
	free     float64   // of a shared allowance: what no process had claimed, the last time
	share    float64   // of this process in what was claimed
	asked    time.Time // when the others were asked again, though they had all the rest
	wanted   float64   // the largest amount that the reserved part had no room for, and the allowance has
	wishes   int       // how often wanted was asked for
	refused  int64     // amounts that were refused in this period
	full     bool      // one of them because the allowance has no room
	failure  error     // why nothing could be reserved the last time
	closed   bool
}

// State is the state of a ledger.
type State struct {
	Name      string  `json:"name"`
	Day       string  `json:"day"` // or month or minute, such as 2026-01-31
	Allowance float64 `json:"allowance"`
	Spent     float64 `json:"spent"`
	Refused   int64   `json:"refused"` // amounts that were not spent in this period
	Full      bool    `json:"full"`    // one of them because it was more than is left of the period
	Failing   bool    `json:"failing"` // the file cannot be written, so nothing is spent beyond what was reserved
}

// Options say where a ledger is kept.
type Options struct {
	File   string           // that keeps it; "": in memory only, so a restart gives a new allowance
	Shared *storage.Folder  // in place of File: several processes that use this folder have the allowance together
	Every  time.Duration    // how often the file is written if amounts were spent; 0: only when a part is used up
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: none
}

// askAgain is how long a process waits between two tries to get what others gave back.
const askAgain = 10 * time.Second

// blocks is how many parts of the allowance are reserved one after the other. A kill loses at most about one of them.
const blocks = 64

// Open opens a ledger and reserves the first part. What a killed process had reserved in this period is spent. The caller closes
// it. The file must be of no other running process.
func Open(name string, s Settings, o Options) (*Ledger, error) {
	l := &Ledger{name: name, allowance: s.Cost, per: s.Per, file: o.File, now: o.Now, log: o.Log, save: atomicfile.WriteFile, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	if l.now == nil {
		l.now = time.Now
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if o.Shared != nil {
		l.file, l.shared = "", &shared{folder: o.Shared, slices: slicesOf(s.Per)}
	}
	l.period = l.per.of(l.now())
	today := l.period
	if err := l.read(); err != nil {
		return nil, err
	}
	if l.period > today {
		l.log.Warn("a ledger's day is later than today: there is no new allowance before that day has passed, or its file is removed", "ledger", l.name, "day", l.text(), "today", l.per.text(today))
	}
	if err := l.Reserve(); err != nil {
		return nil, err
	}
	l.done.Go(func() { l.keep(o.Every) })
	return l, nil
}

// text is the period of the ledger.
func (l *Ledger) text() string { return l.per.text(l.period) }

// today is the period that amounts are charged to. A clock that is set back gives no new allowance.
func (l *Ledger) today() int64 { return max(l.period, l.per.of(l.now())) }

// Charge is an amount that was spent.
type Charge struct {
	of     *Ledger
	period int64
	amount float64
}

// Spend spends an amount, at least 0, if the period has room for it. ok is false if not, or if the room is not reserved yet: it
// does not wait for the disk.
func (l *Ledger) Spend(amount float64) (c Charge, ok bool) {
	c, ok, _ = l.SpendBeside(amount, 0)
	return c, ok
}

// SpendBeside is Spend, and says whether another amount, which is not spent, would have been spent at that moment.
func (l *Ledger) SpendBeside(amount, other float64) (c Charge, ok, otherOK bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	otherOK = l.fits(other)
	if ok = l.fits(amount); !ok {
		l.refuse(amount)
		return Charge{}, false, otherOK
	}
	l.spent += amount
	if l.isShort() {
		poke(l.wake)
	}
	return Charge{l, l.period, amount}, true, otherOK
}

// SpendNow is Spend, but waits for the disk where the room is not reserved yet.
func (l *Ledger) SpendNow(amount float64) (c Charge, ok bool) {
	l.mu.Lock()
	wait := !l.fits(amount)
	if wait {
		l.want(amount)
	}
	l.mu.Unlock()
	if wait {
		_ = l.Reserve() // it was logged, and then nothing is spent
	}
	return l.Spend(amount)
}

// Fits reports whether an amount would be spent now.
func (l *Ledger) Fits(amount float64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fits(amount)
}

// fits reports whether an amount can be spent now.
func (l *Ledger) fits(amount float64) bool {
	return !l.closed && amount >= 0 && l.today() == l.period && l.spent+amount <= l.reserved
}

// refuse counts an amount that is not spent.
func (l *Ledger) refuse(amount float64) {
	l.refused++
	switch {
	case l.want(amount):
		poke(l.wake)
	case !l.full:
		l.full = true
		l.log.Warn("a ledger is spent: it has no room for the next amount on this day", "ledger", l.name, "day", l.text(), "spent", l.spent, "allowance", l.allowance)
	}
}

// want asks for room for an amount, which the next part will have. It reports whether the period can have it.
func (l *Ledger) want(amount float64) bool {
	can := l.today() != l.period || l.spent+amount <= l.limit()
	if !can && l.all && l.now().Sub(l.asked) >= askAgain { // another process may have given something back
		l.asked = l.now()
		can = l.spent+amount <= l.allowance
	}
	if can {
		l.wanted = max(l.wanted, amount)
		l.wishes++
	}
	return can
}

// limit is the most that this process can spend in the period, as far as it knows.
func (l *Ledger) limit() float64 {
	if l.all {
		return l.reserved
	}
	return l.allowance
}

// isShort reports whether little is left of the reserved part while the allowance has more.
func (l *Ledger) isShort() bool {
	return l.reserved < l.limit() && l.reserved-l.spent < l.allowance/blocks/2
}

// Settle replaces the amount of a charge by what it really was. More than the amount can exceed the allowance; then nothing
// more is spent in this period. It must be called at most once.
func (c Charge) Settle(amount float64) {
	l := c.of
	l.mu.Lock()
	defer l.mu.Unlock()
	more := amount - c.amount
	if more > 0 || c.period == l.period { // what is given back in a later period is gone
		l.spent = max(0, l.spent+more)
	}
	poke(l.wake)
}

// State returns the state.
func (l *Ledger) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return State{Name: l.name, Day: l.text(), Allowance: l.allowance, Spent: l.spent, Refused: l.refused, Full: l.full, Failing: l.failure != nil}
}

// Left is what is left of the period for this process: all that is not spent, or of a shared allowance the part of this process
// and, of what no process has claimed, a share like its share of what was claimed.
func (l *Ledger) Left() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.today() != l.period {
		return l.allowance
	}
	if l.shared == nil || l.all {
		return max(0, l.limit()-l.spent)
	}
	free, share := l.free, l.share
	return max(0, l.reserved-l.spent) + free*share
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
