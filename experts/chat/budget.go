package chat

import (
	"context"
	"fmt"
	"math"
	"sync"

	"pipe/internal/allowance"
	"pipe/internal/storage"
)

// BudgetError ends a run whose next request might exceed the budget.
type BudgetError struct {
	Budget float64
	Spent  float64 // by this run
	Next   float64 // largest possible cost of the next request
	Shared bool    // the budget is that of all workers
}

// Error returns the budget, the money spent and the possible cost of the next request.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("the budget of %g is used up: %.6g is spent, and the next request may cost %.3g", e.Budget, e.Spent, e.Next)
}

// Hint returns how to go on.
func (e *BudgetError) Hint() string {
	if e.Shared {
		return "answers are kept: run the same command again with a larger --budget, which counts for all workers and all runs of the work folder"
	}
	return "answers are kept: run the same command again with a new --budget"
}

// Budget is the money of one run, which several builds may share. The largest
// possible cost of a request is reserved before it is sent. It is safe for
// concurrent use.
type Budget struct {
	limit  float64              // +Inf: none
	ledger *allowance.Allowance // of all workers; nil: this is the only one
	turn   sync.Mutex           // held while the part of this worker grows

	mu       sync.Mutex
	mine     float64 // part of the limit that this worker may spend: all of it without a ledger
	spent    float64
	reserved float64
	inFlight int
	over     *BudgetError  // the end
	settled  chan struct{} // closed when a request is settled
}

// NewBudget returns a budget of limit, in the currency of the configuration's
// prices. limit must be positive.
func NewBudget(limit float64) (*Budget, error) {
	if !(limit > 0) || math.IsInf(limit, 0) {
		return nil, fmt.Errorf("budget is %v; it must be positive", limit)
	}
	return newBudget(limit), nil
}

// Limit returns the money that may be spent.
func (b *Budget) Limit() float64 { return b.limit }

func newBudget(limit float64) *Budget {
	return &Budget{limit: limit, mine: limit, settled: make(chan struct{})}
}

// reserve reserves money. If too little is left, it waits for requests in
// flight, which may cost less than was reserved for them. If none are left, the
// budget is used up for all callers.
func (b *Budget) reserve(ctx context.Context, most float64) error {
	for {
		all, err := b.grow(ctx, most)
		if err != nil {
			return err
		}
		taken, settled, err := b.take(most, all)
		if taken || err != nil {
			return err
		}
		if !all {
			continue // another caller was faster, and there may be more
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take reserves money of this worker's part. all says that the part cannot grow: if nothing is in flight either, the
// budget is used up. settled is closed when there may be more.
func (b *Budget) take(most float64, all bool) (taken bool, settled chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.over != nil:
		return false, nil, b.over
	case !b.exceeds(most):
		b.reserved += most
		b.inFlight++
		return true, nil, nil
	case all && b.inFlight == 0:
		b.over = &BudgetError{Budget: b.limit, Spent: b.spent, Next: most, Shared: b.ledger != nil}
		b.wake()
		return false, nil, b.over
	}
	return false, b.settled, nil
}

// limited reports whether requests need a price.
func (b *Budget) limited() bool { return !math.IsInf(b.limit, 1) }

func (b *Budget) exceeds(most float64) bool {
	return b.spent+b.reserved+most > b.mine
}

// settle releases a reservation and records the money spent.
func (b *Budget) settle(reserved, spent float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved -= reserved
	b.inFlight--
	if b.inFlight == 0 {
		b.reserved = 0 // exactly
	}
	b.spent += spent
	b.wake()
}

func (b *Budget) wake() {
	close(b.settled)
	b.settled = make(chan struct{})
}

// Share makes the budget that of all workers of a folder, and of all their runs: slices of it are claimed there before
// they are spent. It is called before the first request.
func (b *Budget) Share(ctx context.Context, folder *storage.Folder) (err error) {
	b.ledger, err = allowance.Open(ctx, folder, b.limit, allowance.Slices)
	b.mine = 0
	return err
}

// grow claims slices until a request fits. all says that none are left, so that this worker's part is all it gets.
func (b *Budget) grow(ctx context.Context, most float64) (all bool, err error) {
	if b.ledger == nil {
		return true, nil
	}
	b.turn.Lock()
	defer b.turn.Unlock()
	for {
		b.mu.Lock()
		fits := !b.exceeds(most)
		b.mu.Unlock()
		if fits {
			return false, nil
		}
		money, err := b.ledger.Claim(ctx)
		if err != nil || money == 0 {
			return true, err
		}
		b.mu.Lock()
		b.mine += money
		b.mu.Unlock()
	}
}

// Return gives what this worker has claimed and not spent back to the others. It is called after the last request.
func (b *Budget) Return(ctx context.Context) error {
	if b == nil || b.ledger == nil {
		return nil
	}
	b.mu.Lock()
	rest := b.mine - b.spent - b.reserved
	b.mine -= max(rest, 0)
	b.mu.Unlock()
	return b.ledger.GiveBack(ctx, rest)
}
