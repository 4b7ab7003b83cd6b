package service

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Account is a paying account at a service. All parts of a build that use it
// share its limits. If they set different limits, the strictest apply. It is
// safe for concurrent use.
type Account struct {
	turn chan struct{} // held by the caller that waits for the limits
	note func(format string, args ...any)

	mu       sync.Mutex
	requests *rate.Limiter // nil: no limit
	tokens   *rate.Limiter
	resume   time.Time // no requests before this time, at the request of the service
	noted    time.Time // time of the last message about a wait
	unsaid   int       // waits since then
}

// newAccount returns an account without limits; note reports waits to the user.
func newAccount(note func(format string, args ...any)) *Account {
	return &Account{turn: make(chan struct{}, 1), note: note}
}

// noteEvery is the least time between two messages about waits at one account,
// since many requests may wait at the same time.
const noteEvery = 10 * time.Second

// say reports that a request waits, unless another wait was reported recently.
func (a *Account) say(fault *Error, wait time.Duration, tries, most int) {
	a.mu.Lock()
	now := time.Now()
	if !a.noted.IsZero() && now.Sub(a.noted) < noteEvery {
		a.unsaid++
		a.mu.Unlock()
		return
	}
	more := ""
	if a.unsaid > 0 {
		more = fmt.Sprintf("; %d other waits since the last message", a.unsaid)
	}
	a.noted, a.unsaid = now, 0
	a.mu.Unlock()
	a.note("service %s: %s, waiting %.3g s (attempt %d of %d)%s", fault.URL, fault.brief(), wait.Seconds(), tries+1, most, more)
}

// limit sets limits on the account; 0 is none.
func (a *Account) limit(requestsPerSecond, tokensPerMinute float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l := rate.Limit(requestsPerSecond); l > 0 && (a.requests == nil || l < a.requests.Limit()) {
		a.requests = rate.NewLimiter(l, 1)
	}
	// The burst is one second's tokens. The rate is lower by as much, so that
	// no minute has more tokens than allowed.
	burst := max(1, int(tokensPerMinute/60))
	if l := rate.Limit(max(tokensPerMinute-float64(burst), tokensPerMinute/2) / 60); l > 0 && (a.tokens == nil || l < a.tokens.Limit()) {
		a.tokens = rate.NewLimiter(l, burst)
	}
}

// Wait returns when a request of a number of tokens may be sent, or ctx ends. Requests
// are sent in the order of their calls.
func (a *Account) Wait(ctx context.Context, tokens int) error {
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

// longestDebt is the longest delay of later requests because an answer used
// more tokens than its request reserved.
const longestDebt = time.Hour

// Owe charges tokens that an answer used beyond those its request reserved to
// later requests, up to longestDebt.
func (a *Account) Owe(tokens int) {
	if a.tokens == nil {
		return
	}
	tokens = min(tokens, int(longestDebt.Seconds()*float64(a.tokens.Limit())))
	for tokens > 0 {
		n := min(tokens, a.tokens.Burst())
		a.tokens.ReserveN(time.Now(), n)
		tokens -= n
	}
}

// rest waits before another attempt. If the service requested the wait, no
// other request is sent either. Waits use the monotonic clock, so changes of
// the wall clock do not matter.
func (a *Account) rest(ctx context.Context, backoff, asked time.Duration) error {
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
