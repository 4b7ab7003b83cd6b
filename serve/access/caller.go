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

// Caller is who sent a request: the owner of a key, or anybody where no keys are configured. All methods are safe for
// concurrent use.
type Caller struct {
	// Name is that of the key, "" without keys. It is no secret.
	Name string
	// Admin says that the caller may change the server, such as reload policies.
	Admin bool

	metrics *metrics.Metrics
	now     func() time.Time
	limiter *rate.Limiter // nil: no limit
	quota   Quota

	*account
}

// account is what a key has used. Callers of one name share it: requests that began before a reload are charged to it too.
type account struct {
	lock  sync.Mutex
	spent Spent
}

// Quota is how much a key may use in a period. 0 is no limit.
type Quota struct {
	Tokens int64
	Money  float64
	Period time.Duration
}

// Spent is what a key has used since its period began.
type Spent struct {
	Since  time.Time `json:"since"`
	Tokens int64     `json:"tokens"`
	Money  float64   `json:"money"`
}

type callerKey struct{}

// anybody is the caller of a request that no middleware has seen.
var anybody = &Caller{Admin: true, now: time.Now, account: &account{}}

// CallerOf returns who sent the request of the context. It never returns nil.
func CallerOf(ctx context.Context) *Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return c
	}
	return anybody
}

// With returns a context whose request is sent by the caller.
func With(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// Charge adds what a request has used to what its key has spent: tokens, and money in the currency of the prices. Negative
// amounts, and money that is not finite, are not counted. A request that began below the limits is not cut off when it
// passes them; the next one is refused.
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

// maxMoney bounds what one request can cost, so that an answer with an absurd usage does not lock a key for ever.
const maxMoney = 1e12

// Spent returns what the caller has used since its period began.
func (c *Caller) Spent() Spent {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.roll()
	return c.spent
}

// roll begins a new period where the last one has ended. The caller holds the lock.
func (c *Caller) roll() {
	now := c.now()
	switch {
	case c.spent.Since.IsZero(), now.Before(c.spent.Since): // the clock was set back
		c.spent.Since = now
	case c.quota.Period > 0 && now.Sub(c.spent.Since) >= c.quota.Period:
		c.spent = Spent{Since: now}
	}
}

// admit counts a request. It returns why it is refused, "" if it is not, and when it may be sent again.
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

// Limits are the limits of the caller in words.
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
