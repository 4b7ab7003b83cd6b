package costs

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// The times that a tensor may have: those with a year of four digits.
var (
	earliest = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	latest   = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro() - 1
)

// UsableTime reports whether a tensor may have the time.
func UsableTime(micros int64) bool { return micros >= earliest && micros <= latest }

// checkTimes returns a *DataError whose row counts within times.
func checkTimes(times []int64) error {
	for n, v := range times {
		if !UsableTime(v) {
			return &DataError{Row: n + 1, Column: colTime, Msg: fmt.Sprintf("is %d microseconds since 1970, which is not in the years 1 to 9999", v)}
		}
	}
	return nil
}

// checkPlainTimes is checkTimes for integers that no type says are
// microseconds. It also refuses those within a year of 1970, which seconds and
// milliseconds of our days would be.
func checkPlainTimes(times []int64) error {
	const year = 366 * 24 * 3600 * 1_000_000
	for n, v := range times {
		if v > -year && v < year {
			return &DataError{Row: n + 1, Column: colTime, Msg: fmt.Sprintf("is %d; plain integers are microseconds since 1970, and this is within a year of it; "+
				"if these are seconds or milliseconds, write timestamps in UTC", v)}
		}
	}
	return checkTimes(times)
}

// ParseTime reads a time of a text table: RFC 3339, as in
// 2026-01-31T12:00:00Z or 2026-01-31T13:00:00+01:00, or an integer of
// microseconds since 1970 that is not within a year of it.
func ParseTime(text string) (int64, error) {
	micros, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		err = checkPlainTimes([]int64{micros})
	} else {
		var at time.Time
		if at, err = time.Parse(time.RFC3339, text); err != nil {
			return 0, errors.New("is not a time with a zone, such as 2026-01-31T12:00:00Z")
		}
		micros = at.UnixMicro()
		err = checkTimes([]int64{micros})
	}
	if data, ok := errors.AsType[*DataError](err); ok {
		return 0, errors.New(data.Msg)
	}
	return micros, nil
}

// TimeText writes a time of a tensor in UTC, as in 2026-01-31T12:00:00Z.
func TimeText(micros int64) string { return time.UnixMicro(micros).UTC().Format(time.RFC3339Nano) }

// TimeSpan returns the first and the last time of the tensor, in microseconds;
// ok is false without times.
func (t *Tensor) TimeSpan() (first, last int64, ok bool) {
	for n, v := range t.Times {
		if n == 0 || v < first {
			first = v
		}
		if n == 0 || v > last {
			last = v
		}
	}
	return first, last, len(t.Times) > 0
}
