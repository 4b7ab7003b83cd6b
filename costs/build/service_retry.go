package build

import (
	"context"
	"errors"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// retrySettings say how often a request is tried again, and after how long.
type retrySettings struct {
	Retries int     `json:"retries"` // attempts after the first one
	Backoff float64 `json:"backoff"` // seconds before the second attempt; doubled for every further one
}

// What bounds the settings of requests, so that waits and counts stay far from what
// their types hold.
const (
	longestTimeout = 24 * 3600 // seconds
	longestBackoff = 3600      // seconds
	mostRetries    = 1000
	mostAtATime    = 1000 // requests
)

// maxBackoff bounds the time between two attempts, unless the service asks for more.
const maxBackoff = 60 * time.Second

func (p retrySettings) waits() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.MaxInterval = seconds(p.Backoff), 2, maxBackoff
	b.Reset()
	return b
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// insist makes attempts until one succeeds, fails for good, or was the last.
func (a *account) insist(ctx context.Context, p retrySettings, attempt func() error) error {
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
		backoff := waits.NextBackOff()
		wait := backoff
		if fault.after > 0 {
			wait = fault.after
		}
		a.say(fault, wait, tries, p.Retries+1)
		if err := a.rest(ctx, backoff, fault.after); err != nil {
			return err
		}
	}
}

// longestRest is how long a build waits for a service that asks for patience.
const longestRest = time.Hour

// later makes the fault one after which another attempt may do better, when the
// service has had the rest that it asks for.
func (e *EndpointError) later(header http.Header) *EndpointError {
	after := retryAfter(header, time.Now())
	if after > longestRest {
		return e.advise("the service asks to be left alone for " + after.Round(time.Second).String() + ": what is done is kept, run the same command again then")
	}
	return e.retry(after)
}

var wholeSeconds = regexp.MustCompile(`^[0-9]+(\.[0-9]*)?$`)

// retryAfter reads the header of that name: seconds, or a date, which is compared
// with the service's own clock where the answer has its time, else with now. What is
// neither, or lies in the past, is 0.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if wholeSeconds.MatchString(text) {
		s, err := strconv.ParseFloat(text, 64)
		if err != nil {
			s = math.Inf(1) // beyond what a number holds
		}
		return seconds(min(s, 1e9))
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if theirs, err := http.ParseTime(header.Get("Date")); err == nil {
		now = theirs
	}
	return max(0, at.Sub(now))
}
