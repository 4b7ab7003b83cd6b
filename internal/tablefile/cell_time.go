package tablefile

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pipe/internal/parquetfile"
	"pipe/internal/textfile"
)

// TimeUnit is what a number that is a point in time counts since 1970-01-01 UTC; "" means that numbers are no times.
type TimeUnit string

// microsecondsPer are the units, in microseconds; a nanosecond is less than one.
var microsecondsPer = map[TimeUnit]float64{"seconds": 1e6, "milliseconds": 1e3, "microseconds": 1, "nanoseconds": 1e-3}

// Check rejects unknown units.
func (u TimeUnit) Check() error {
	if _, ok := microsecondsPer[u]; !ok && u != "" {
		return fmt.Errorf("unknown unit %q; known are seconds, milliseconds, microseconds and nanoseconds", string(u))
	}
	return nil
}

// layouts are the texts that are read as times, besides numbers. A fraction of a second may follow the seconds. Without
// a zone they are in UTC.
var layouts = []string{
	time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02",
}

// zoned is a time of day with an offset from UTC, and named is one with a word in its place.
var (
	zoned = regexp.MustCompile(`^(.+:\d\d[.,\d]*) ?(?:(Z|UTC|GMT)|([+-]\d\d)(?::?(\d\d))?)$`)
	named = regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:[^A-Za-z]*([A-Za-z][\w/+-]*)\]?$`)
)

// plainZone writes the offset of a time as RFC 3339 does: behind the time without a space, as Z or +02:00.
func plainZone(text string) string {
	switch part := zoned.FindStringSubmatch(text); {
	case part == nil:
		return text
	case part[2] != "":
		return part[1] + "Z"
	default:
		return part[1] + part[3] + ":" + cmp.Or(part[4], "00")
	}
}

// noTimeError says why a text is not a time.
func noTimeError(text string) error {
	if part := named.FindStringSubmatch(text); part != nil && !slices.Contains([]string{"AM", "PM", "Z"}, strings.ToUpper(part[1])) {
		return fmt.Errorf("%s has the time zone %s, and names of zones are not read; write its offset from UTC, as in 2026-01-31T12:00:00+02:00", textfile.Quoted(text), textfile.Short(part[1]))
	}
	return fmt.Errorf("%s is not a time; write 2026-01-31T12:00:00Z, 2026-01-31 12:00:00 or 2026-01-31", textfile.Quoted(text))
}

// Time returns a point in time in microseconds since 1970-01-01 UTC; parts of a microsecond are cut off. A number needs
// a unit. One within a year of 1970 is refused, because it was counted in another unit or is no time.
func (c *Cell) Time(unit TimeUnit) (int64, error) {
	switch c.kind {
	case missingCell:
		return 0, errors.New("is missing")
	case listCell:
		return 0, errors.New("is a list, expected a time")
	}
	text := strings.TrimSpace(c.String())
	if _, err := textfile.ParseNumber(text); err == nil {
		return numberTime(text, unit)
	}
	at, ok := textTime(text)
	if !ok {
		at, ok = textTime(plainZone(text))
	}
	if !ok {
		return 0, noTimeError(text)
	}
	if y := at.UTC().Year(); y < 1 || y > 9999 {
		return 0, fmt.Errorf("%s is not in the years 1 to 9999", textfile.Quoted(text))
	}
	return at.UnixMicro(), nil
}

// textTime reads a text in one of the layouts.
func textTime(text string) (time.Time, bool) {
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// numberTime reads integers exactly, and numbers with a fraction as float64.
func numberTime(text string, unit TimeUnit) (int64, error) {
	const year, last = 366 * 24 * 3600 * 1_000_000, 253402300800 * 1_000_000 // the end of 9999
	scale, ok := microsecondsPer[unit]
	if !ok {
		return 0, fmt.Errorf("is the number %s, whose unit is not known; set time.unit to seconds, milliseconds, microseconds or nanoseconds since 1970", text)
	}
	v, err := strconv.ParseFloat(text, 64)
	micros := math.Floor(v * scale)
	if err != nil || !(math.Abs(micros) < last) || math.Abs(micros) < year {
		return 0, fmt.Errorf("is %s: as %s since 1970 this is not a time of records; check time.unit", text, unit)
	}
	whole, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return int64(micros), nil
	case unit == "nanoseconds":
		return floorDiv(whole, 1000), nil
	}
	return whole * int64(scale), nil
}

func floorDiv(v, by int64) int64 {
	if q := v / by; v%by >= 0 {
		return q
	}
	return v/by - 1
}

// isTime reports whether a column has timestamps or dates of a form that is read.
func isTime(c *parquetfile.Column) bool {
	return c.Meaning == parquetfile.Date && c.Kind == parquetfile.Int32 || c.IsTimestamp()
}

// timeCell returns a value of a column of timestamps or dates as text in UTC, which is no number. A timestamp without a
// zone is in UTC. Cell.Time refuses the text of a time beyond the years that are read.
func timeCell(c *parquetfile.Column, v int64) Cell {
	at := time.Unix(v*24*3600, 0)
	if c.Meaning == parquetfile.Timestamp {
		micros, err := c.Micros(v)
		if err != nil {
			return Cell{kind: textCell, text: err.Error()}
		}
		at = time.UnixMicro(micros)
	}
	return Cell{kind: textCell, text: at.UTC().Format(time.RFC3339Nano)}
}
