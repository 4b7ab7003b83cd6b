package build

import (
	"context"
	"fmt"
	"sync"
)

// BudgetError says that the next request might cost more than is left.
type BudgetError struct {
	Budget float64
	Spent  float64 // by this run
	Next   float64 // the most that the next request may cost
}

// Error returns budget, expense and need.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("the budget of %g is used up: %.6g is spent, and the next request may cost %.3g", e.Budget, e.Spent, e.Next)
}

// Hint tells how to go on.
func (e *BudgetError) Hint() string {
	return "what is answered is kept: run the same command again with a new --budget"
}

// budget is the money of one run. What a request may cost at most is set aside
// before it is sent.
type budget struct {
	limit float64 // 0: none

	mu       sync.Mutex
	spent    float64
	reserved float64
	inFlight int
	over     *BudgetError  // the end
	settled  chan struct{} // closed when a request is settled
}

func newBudget(limit float64) *budget {
	return &budget{limit: limit, settled: make(chan struct{})}
}

// reserve sets money aside. If there is not enough it waits for requests in
// flight, which may cost less than was set aside for them; when there are none
// any more the budget is used up, for everybody.
func (b *budget) reserve(ctx context.Context, most float64) error {
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

func (b *budget) exceeds(most float64) bool {
	return b.limit > 0 && b.spent+b.reserved+most > b.limit
}

// settle gives back what was set aside and takes what was spent.
func (b *budget) settle(reserved, spent float64) {
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

func (b *budget) wake() {
	close(b.settled)
	b.settled = make(chan struct{})
}
