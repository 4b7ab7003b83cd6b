package ledger

import (
	"fmt"
	"time"
)

// Per is how long an allowance holds: a minute, a day or a month of UTC.
type Per string

// The periods.
const (
	Minute Per = "minute"
	Day    Per = "day"
	Month  Per = "month"
)

// isKnown reports whether the period is one of those.
func (p Per) isKnown() bool { return p == Minute || p == Day || p == Month }

// of is the number of the period of a time.
func (p Per) of(t time.Time) int64 {
	if p == Month {
		t = t.UTC()
		return int64(t.Year())*12 + int64(t.Month()) - 1
	}
	seconds, s := p.seconds(), t.Unix()
	n := s / seconds
	if s%seconds < 0 {
		n--
	}
	return n
}

// seconds is the length of a period other than a month.
func (p Per) seconds() int64 {
	if p == Minute {
		return 60
	}
	return 24 * 60 * 60
}

// start is when the period of a number begins.
func (p Per) start(n int64) time.Time {
	if p == Month {
		return time.Date(int(n/12), time.Month(n%12+1), 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Unix(n*p.seconds(), 0).UTC()
}

// Until is when the period of a time ends.
func (p Per) Until(t time.Time) time.Time { return p.start(p.of(t) + 1) }

// layout is the form of a period in files, in the order of time.
func (p Per) layout() string {
	switch p {
	case Minute:
		return "2006-01-02T15-04Z"
	case Month:
		return "2006-01"
	}
	return time.DateOnly
}

// text is a period such as 2026-01-31.
func (p Per) text(n int64) string { return p.start(n).Format(p.layout()) }

// parse reads what text wrote.
func (p Per) parse(text string) (int64, error) {
	at, err := time.Parse(p.layout(), text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a %s", text, p)
	}
	return p.of(at), nil
}
