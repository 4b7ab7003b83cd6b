package build

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// patience is how often a request is tried again, and after how long.
type patience struct {
	Retries int     `json:"retries"` // attempts after the first one
	Backoff float64 `json:"backoff"` // seconds before the second attempt; doubled for every further one
}

// maxBackoff bounds the time between two attempts, unless the service asks for more.
const maxBackoff = 60 * time.Second

func (p patience) waits() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.MaxInterval = seconds(p.Backoff), 2, maxBackoff
	b.Reset()
	return b
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// insist makes attempts until one succeeds, fails for good, or was the last.
func (a *account) insist(ctx context.Context, p patience, attempt func() error) error {
	waits := p.waits()
	for tries := 1; ; tries++ {
		err := attempt()
		var fault *EndpointError
		if err == nil || !errors.As(err, &fault) || !fault.again || ctx.Err() != nil {
			return err
		}
		if tries > p.Retries {
			fault.Tries = tries
			return err
		}
		if err := a.rest(ctx, waits.NextBackOff(), fault.after); err != nil {
			return err
		}
	}
}

// longestRest is how long a build waits for a service that asks for patience.
const longestRest = time.Hour

// later makes the fault one after which another attempt may do better, when the
// service has had the rest that it asks for.
func (e *EndpointError) later(header http.Header) *EndpointError {
	after := retryAfter(header.Get("Retry-After"), time.Now())
	if after > longestRest {
		return e.advise("the service asks to be left alone for " + after.Round(time.Second).String() + ": what is done is kept, run the same command again then")
	}
	return e.retry(after)
}

// retryAfter reads the header of that name: seconds, or a date. What is neither,
// or lies in the past, is 0.
func retryAfter(header string, now time.Time) time.Duration {
	if s, err := strconv.ParseFloat(header, 64); err == nil && s > 0 {
		return seconds(min(s, 1e9))
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
