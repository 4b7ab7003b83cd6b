package chat

import (
	"context"
	"fmt"
	"math"
	"sync"
)

// BudgetError ends a run whose next request might cost more than is left.
type BudgetError struct {
	Budget float64
	Spent  float64 // by this run
	Next   float64 // the most that the next request may cost
}

// Error returns budget, expense and need.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("the budget of %g is used up: %.6g is spent, and the next request may cost %.3g", e.Budget, e.Spent, e.Next)
}

// Hint returns how to go on.
func (e *BudgetError) Hint() string {
	return "what is answered is kept: run the same command again with a new --budget"
}

// Budget is the money of one run, which several builds may share. What a request
// may cost at most is set aside before it is sent. It is safe for concurrent use.
type Budget struct {
	limit float64 // +Inf: none

	mu       sync.Mutex
	spent    float64
	reserved float64
	inFlight int
	over     *BudgetError  // the end
	settled  chan struct{} // closed when a request is settled
}

// NewBudget is the most that may be spent, in the money of the configuration's
// prices. It must be positive. A run without a key asks for nothing, and spends nothing.
func NewBudget(limit float64) (*Budget, error) {
	if !(limit > 0) || math.IsInf(limit, 0) {
		return nil, fmt.Errorf("budget is %v; a positive amount of money is needed", limit)
	}
	return newBudget(limit), nil
}

func newBudget(limit float64) *Budget {
	return &Budget{limit: limit, settled: make(chan struct{})}
}

// reserve sets money aside. If there is not enough it waits for requests in
// flight, which may cost less than was set aside for them; when there are none
// any more the budget is used up, for everybody.
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

// settle gives back what was set aside and takes what was spent.
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
