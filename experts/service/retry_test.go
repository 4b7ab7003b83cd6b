package service

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const ever = 1e9 * time.Second
	for _, c := range []struct {
		after, date string
		want        time.Duration
	}{
		{"", "", 0},
		{"7", "", 7 * time.Second},
		{"0.5", "", 500 * time.Millisecond},
		{" 7 ", "", 7 * time.Second},
		{"0", "", 0},
		{"-3", "", 0},
		{"later", "", 0},
		{"NaN", "", 0},
		{"Inf", "", 0},
		{"1e3", "", 0},
		{"0x10", "", 0},
		{"1_0", "", 0},
		{"+7", "", 0},
		{"7, 8", "", 0},
		{"1" + strings.Repeat("0", 400), "", ever},
		{"18446744073709551616", "", ever},
		{"Fri, 02 Jan 2026 03:05:05 GMT", "", time.Minute},
		{"Fri, 02 Jan 2026 03:04:00 GMT", "", 0},
		{"Friday, 02-Jan-26 03:05:05 GMT", "", time.Minute},
		{"Fri, 31 Dec 9999 23:59:59 GMT", "", math.MaxInt64},
		{"Mon, 01 Jan 0001 00:00:00 GMT", "", 0},
		// The clock of this machine is a day behind that of the service, or ahead.
		{"Sat, 03 Jan 2026 03:05:05 GMT", "Sat, 03 Jan 2026 03:04:05 GMT", time.Minute},
		{"Thu, 01 Jan 2026 03:05:05 GMT", "Thu, 01 Jan 2026 03:04:05 GMT", time.Minute},
		{"Fri, 02 Jan 2026 03:05:05 GMT", "yesterday", time.Minute},
		{"7", "Sat, 03 Jan 2026 03:04:05 GMT", 7 * time.Second},
	} {
		h := http.Header{"Retry-After": {c.after}, "Date": {c.date}}
		if got := RetryAfter(h, now); got != c.want {
			t.Errorf("%q at %q: got %v, want %v", c.after, c.date, got, c.want)
		}
	}
}

// FuzzRetryAfter checks that a wait is never negative, and bounded.
func FuzzRetryAfter(f *testing.F) {
	for _, text := range []string{"", "7", "0.5", "-1", "1e400", "NaN", "Fri, 02 Jan 2026 03:05:05 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		f.Add(text, "Fri, 02 Jan 2026 03:04:05 GMT")
	}
	f.Fuzz(func(t *testing.T, after, date string) {
		h := http.Header{"Retry-After": {after}, "Date": {date}}
		fault := (&Error{Status: http.StatusTooManyRequests, Reason: "x"}).Later(h)
		if wait := RetryAfter(h, time.Now()); wait < 0 || fault.again && (fault.after < 0 || fault.after > LongestRest) {
			t.Errorf("%q at %q: %v, %+v", after, date, wait, fault)
		}
	})
}

// Waits of many requests are said once in a while.
func TestWaitsAreSaidSeldom(t *testing.T) {
	var said []string
	a := newAccount(func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	for range 3 {
		a.say(&Error{URL: "u", Reason: "no answer within 5 s: x"}, 1500*time.Millisecond, 1, 3)
	}
	a.noted = a.noted.Add(-noteEvery)
	a.say(&Error{URL: "u", Status: 503}, 90*time.Second, 2, 3)
	if got, want := strings.Join(said, "\n"), "service u: no answer within 5 s, waiting 1.5 s (attempt 2 of 3)\nservice u: HTTP 503, waiting 90 s (attempt 3 of 3); 2 other waits since the last message"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}

// A silence goes by the monotonic clock.
func TestSilenceByTheMonotonicClock(t *testing.T) {
	a := newAccount(t.Logf)
	go func() { _ = a.rest(t.Context(), 0, time.Hour) }()
	for range 100 {
		time.Sleep(time.Millisecond)
		a.mu.Lock()
		resume := a.resume
		a.mu.Unlock()
		if !resume.IsZero() {
			if !strings.Contains(resume.String(), "m=") {
				t.Error("the end of a silence goes by the wall clock")
			}
			return
		}
	}
	t.Error("no silence")
}
