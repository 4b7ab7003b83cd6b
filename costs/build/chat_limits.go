package build

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// account is who pays at a service. All parts of a build that use it share its
// limits; where they name different ones, the strictest hold.
type account struct {
	turn chan struct{} // held by the one who waits for the limits

	mu       sync.Mutex
	requests *rate.Limiter // nil: no limit
	tokens   *rate.Limiter
	resume   time.Time // the service asked for silence until then
}

func newAccount() *account { return &account{turn: make(chan struct{}, 1)} }

// limit holds the account to limits; 0 is none.
func (a *account) limit(requestsPerSecond, tokensPerMinute float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l := rate.Limit(requestsPerSecond); l > 0 && (a.requests == nil || l < a.requests.Limit()) {
		a.requests = rate.NewLimiter(l, 1)
	}
	// What a second brings may come at once. The rate is lower by as much, so
	// that no minute has more tokens than allowed.
	burst := max(1, int(tokensPerMinute/60))
	if l := rate.Limit((tokensPerMinute - float64(burst)) / 60); l > 0 && (a.tokens == nil || l < a.tokens.Limit()) {
		a.tokens = rate.NewLimiter(l, burst)
	}
}

// wait returns when a request of so many tokens may be sent. Whoever comes first
// is served first.
func (a *account) wait(ctx context.Context, tokens int) error {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if a.requests != nil {
		if err := a.requests.Wait(ctx); err != nil {
			return err
		}
	}
	for a.tokens != nil && tokens > 0 {
		n := min(tokens, a.tokens.Burst())
		if err := a.tokens.WaitN(ctx, n); err != nil {
			return err
		}
		tokens -= n
	}
	for {
		a.mu.Lock()
		silence := time.Until(a.resume)
		a.mu.Unlock()
		if silence <= 0 {
			return ctx.Err()
		}
		if err := sleep(ctx, silence); err != nil {
			return err
		}
	}
}

// owe takes tokens that an answer needed beyond those that its request waited
// for from the ones to come.
func (a *account) owe(tokens int) {
	for a.tokens != nil && tokens > 0 {
		n := min(tokens, a.tokens.Burst())
		a.tokens.ReserveN(time.Now(), n)
		tokens -= n
	}
}

// rest waits before another attempt: as long as the service asked for, in which
// nobody else sends anything either, or else for the backoff.
func (a *account) rest(ctx context.Context, backoff, asked time.Duration) error {
	if asked <= 0 {
		return sleep(ctx, backoff)
	}
	a.mu.Lock()
	if until := time.Now().Add(asked); until.After(a.resume) {
		a.resume = until
	}
	a.mu.Unlock()
	return sleep(ctx, asked)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
