package chat

import (
	"context"
	"fmt"
	"math"
	"sync"
)

// BudgetError ends a run whose next request might exceed the budget.
type BudgetError struct {
	Budget float64
	Spent  float64 // by this run
	Next   float64 // largest possible cost of the next request
}

// Error returns the budget, the money spent and the possible cost of the next request.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("the budget of %g is used up: %.6g is spent, and the next request may cost %.3g", e.Budget, e.Spent, e.Next)
}

// Hint returns how to go on.
func (e *BudgetError) Hint() string {
	return "answers are kept: run the same command again with a new --budget"
}

// Budget is the money of one run, which several builds may share. The largest
// possible cost of a request is reserved before it is sent. It is safe for
// concurrent use.
type Budget struct {
	limit float64 // +Inf: none

	mu       sync.Mutex
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
	return &Budget{limit: limit, settled: make(chan struct{})}
}

// reserve reserves money. If too little is left, it waits for requests in
// flight, which may cost less than was reserved for them. If none are left, the
// budget is used up for all callers.
func (b *Budget) reserve(ctx context.Context, most float64) error {
	for {
		b.mu.Lock()
		if b.over == nil && b.exceeds(most) && b.inFlight == 0 {
			b.over = &BudgetError{Budget: b.limit, Spent: b.spent, Next: most}
			b.wake()
		}
		over, fits, settled := b.over, !b.exceeds(most), b.settled
		if over == nil && fits {
			b.reserved += most
			b.inFlight++
		}
		b.mu.Unlock()
		switch {
		case over != nil:
			return over
		case fits:
			return nil
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// limited reports whether requests need a price.
func (b *Budget) limited() bool { return !math.IsInf(b.limit, 1) }

func (b *Budget) exceeds(most float64) bool {
	return b.spent+b.reserved+most > b.limit
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
