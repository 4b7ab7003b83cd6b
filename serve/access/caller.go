package access

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"pipe/serve/metrics"
)

// Caller is the sender of a request: the owner of a key, or anybody if no keys are configured. All methods are safe for
// concurrent use.
type Caller struct {
	// Name is the name of the key, "" without keys. It is no secret.
	Name string
	// Admin means that the caller may administer the server, such as reload policies.
	Admin bool

	metrics *metrics.Metrics
	now     func() time.Time
	limiter *rate.Limiter // nil: no limit
	quota   quota

	*account
}

// account is the usage of a key. Callers of the same name share it, so that requests that began before a reload are charged
// to it too.
type account struct {
	lock  sync.Mutex
	spent Spent
}

// quota is how much a key may use in a period. 0 means no limit.
type quota struct {
	Tokens int64
	Money  float64
	Period time.Duration
}

// Spent is the usage of a key since its period began.
type Spent struct {
	Since  time.Time `json:"since"`
	Tokens int64     `json:"tokens"`
	Money  float64   `json:"money"`
}

type callerKey struct{}

// anybody is the caller of a request that did not pass the middleware.
var anybody = &Caller{Admin: true, now: time.Now, account: &account{}}

// CallerOf returns the caller in a context. It never returns nil.
func CallerOf(ctx context.Context) *Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return c
	}
	return anybody
}

// With returns a context with the caller.
func With(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// Charge adds the usage of a request to the account of its key: tokens, and money in the currency of the prices. Negative
// amounts, and money that is not finite, are ignored. A request that exceeds the quota is not cancelled; the next one is
// refused.
func (c *Caller) Charge(tokens int64, money float64) {
	if !(money > 0) || money > maxMoney {
		money = 0
	}
	tokens = max(tokens, 0)
	c.lock.Lock()
	c.roll()
	c.spent.Tokens += tokens
	c.spent.Money += money
	c.lock.Unlock()
	c.metrics.Charged(c.Name, tokens, money)
}

// maxMoney bounds the money of one request, so that an answer with an absurd usage does not block a key.
const maxMoney = 1e12

// Spent returns the usage of the caller since its period began.
func (c *Caller) Spent() Spent {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.roll()
	return c.spent
}

// roll begins a new period if the last one has ended. The caller holds the lock.
func (c *Caller) roll() {
	now := c.now()
	switch {
	case c.spent.Since.IsZero(), now.Before(c.spent.Since): // the clock was set back
		c.spent.Since = now
	case c.quota.Period > 0 && now.Sub(c.spent.Since) >= c.quota.Period:
		c.spent = Spent{Since: now}
	}
}

// admit counts a request against the limits. It returns why it is refused, "" if it is not, and after what time it may be
// retried.
func (c *Caller) admit() (reason string, wait time.Duration) {
	if c.limiter != nil {
		r := c.limiter.ReserveN(c.now(), 1)
		if wait := r.DelayFrom(c.now()); !r.OK() || wait > 0 {
			r.CancelAt(c.now())
			return "rate", wait
		}
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.roll()
	left := c.quota.Period - c.now().Sub(c.spent.Since)
	switch {
	case c.quota.Tokens > 0 && c.spent.Tokens >= c.quota.Tokens:
		return "tokens", left
	case c.quota.Money > 0 && c.spent.Money >= c.quota.Money:
		return "money", left
	}
	return "", 0
}

// Limits describes the limits of the caller in words.
func (c *Caller) Limits() string {
	var all []string
	if c.limiter != nil {
		all = append(all, fmt.Sprintf("%g requests per second, %d at once", float64(c.limiter.Limit()), c.limiter.Burst()))
	}
	if c.quota.Tokens > 0 {
		all = append(all, fmt.Sprintf("%d tokens per %v", c.quota.Tokens, c.quota.Period))
	}
	if c.quota.Money > 0 {
		all = append(all, fmt.Sprintf("%g money per %v", c.quota.Money, c.quota.Period))
	}
	if c.Admin {
		all = append(all, "may change the server")
	}
	if len(all) == 0 {
		return "no limits"
	}
	return strings.Join(all, "; ")
}
