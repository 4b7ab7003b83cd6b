package service

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

// RetrySettings define how often a request is retried, and after which time.
type RetrySettings struct {
	Retries int     `json:"retries"` // attempts after the first one
	Backoff float64 `json:"backoff"` // seconds before the second attempt; doubled for every further one
}

// Limits of the settings of requests, so that waits and counts do not overflow.
const (
	MaxTimeout     = 24 * 3600 // seconds
	MaxBackoff     = 3600      // seconds
	MaxRetries     = 1000
	MaxConcurrency = 1000 // requests
)

// longestWait bounds the time between two attempts, unless the service asks for more.
const longestWait = 60 * time.Second

// waits are the times between attempts.
func (p RetrySettings) waits() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.MaxInterval = Seconds(p.Backoff), 2, longestWait
	b.Reset()
	return b
}

// Seconds is a duration of a number of seconds.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Do makes attempts until one succeeds, fails for good, or was the last. It
// waits between attempts, and reports the waits. An attempt that may be retried
// returns an *Error marked by Retry or Later. Do returns the last error.
func (a *Account) Do(ctx context.Context, p RetrySettings, attempt func() error) error {
	waits := p.waits()
	for tries := 1; ; tries++ {
		err := attempt()
		var fault *Error
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

// LongestRest is the longest wait requested by a service that a build accepts.
const LongestRest = time.Hour

// Later marks the error as one after which a retry may succeed, once the wait
// that the service requests is over.
func (e *Error) Later(header http.Header) *Error {
	after := RetryAfter(header, time.Now())
	if after > LongestRest {
		return e.Advise("the service requests a wait of " + after.Round(time.Second).String() + ": finished work is kept, run the same command again then")
	}
	return e.Retry(after)
}

var wholeSeconds = regexp.MustCompile(`^[0-9]+(\.[0-9]*)?$`)

// RetryAfter reads the header Retry-After: seconds, or a date. A date is
// compared with the time of the response if it has one, else with now. Invalid
// values and dates in the past give 0.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if wholeSeconds.MatchString(text) {
		s, err := strconv.ParseFloat(text, 64)
		if err != nil {
			s = math.Inf(1) // too large for a float64
		}
		return Seconds(min(s, 1e9))
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
