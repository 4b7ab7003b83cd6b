// Package hours knows when a person works: office hours in a time zone, and limits of a day and of a week. It has no clock
// and keeps nothing.
package hours

import (
	"iter"
	"time"
)

// Schedule are the hours of a person. It does not change.
type Schedule struct {
	zone            *time.Location
	windows         [7][]window // by weekday, in order
	share           [7]float64  // by weekday: the part of the office hours that the limits allow
	perDay, perWeek time.Duration
}

// window is a part of a day, in minutes from midnight on.
type window struct{ from, to int }

// span is a window of a certain day.
type span struct{ from, to time.Time }

// Used returns the time that was used of a day, by its name.
type Used func(day string) time.Duration

// Day is the name of the day of a time in the person's zone, such as 2026-01-31.
func (s *Schedule) Day(t time.Time) string { return t.In(s.zone).Format(time.DateOnly) }

// spans returns the office hours of the day that begins at midnight.
func (s *Schedule) spans(midnight time.Time) (all []span) {
	y, m, d := midnight.Date()
	for _, w := range s.windows[midnight.Weekday()] {
		if sp := (span{s.clock(y, m, d, w.from), s.clock(y, m, d, w.to)}); sp.from.Before(sp.to) { // an hour that clocks skip can be empty
			all = append(all, sp)
		}
	}
	return all
}

// midnight is the begin of the day of t, and the days after it.
func (s *Schedule) midnight(t time.Time, days int) time.Time {
	y, m, d := t.In(s.zone).Date()
	return s.clock(y, m, d+days, 0)
}

// clock is when clocks show a minute of a day. It is the moment at which they are set forward, if they skip that minute: some zones
// skip midnight.
func (s *Schedule) clock(y int, m time.Month, d, minute int) time.Time {
	t := time.Date(y, m, d, 0, minute, 0, 0, s.zone)
	_, offset := t.Zone()
	start, end := t.ZoneBounds()
	switch shown, want := t.Unix()+int64(offset), time.Date(y, m, d, 0, minute, 0, 0, time.UTC).Unix(); {
	case shown < want:
		return end.In(s.zone)
	case shown > want:
		return start.In(s.zone)
	}
	return t
}

// monday is the begin of the week of t.
func (s *Schedule) monday(t time.Time) time.Time {
	return s.midnight(t, -(int(t.In(s.zone).Weekday())+6)%7)
}

// next returns the first office hours that end after t, of the day of t and those after it.
func (s *Schedule) next(t time.Time, days int) (_ span, found bool) {
	for d := range days {
		for _, sp := range s.spans(s.midnight(t, d)) {
			if sp.to.After(t) {
				return sp, true
			}
		}
	}
	return span{}, false
}

// Open returns the end of the office hours that t is in, and false outside of them.
func (s *Schedule) Open(t time.Time) (end time.Time, open bool) {
	sp, found := s.next(t, 1)
	return sp.to, found && !t.Before(sp.from)
}

// Next returns when the next office hours begin, if t is outside of them, and t if it is in them. It is the zero time if there
// are none within eight days.
func (s *Schedule) Next(t time.Time) time.Time {
	sp, found := s.next(t, 9)
	if found && sp.from.Before(t) {
		return t
	}
	return sp.from
}

// Left is the time for which the person may work from t on without a break: until the office hours end, or a limit is reached.
func (s *Schedule) Left(t time.Time, used Used) time.Duration {
	end, open := s.Open(t)
	if !open {
		return 0
	}
	return max(0, min(end.Sub(t), s.perDay-used(s.Day(t)), s.leftOfWeek(t, used)))
}

func (s *Schedule) leftOfWeek(t time.Time, used Used) time.Duration {
	monday, left := s.monday(t), s.perWeek
	for d := range 7 {
		left -= used(s.Day(s.midnight(monday, d)))
	}
	return left
}

// days are the days from one time to another by their midnights, at most 33, each with its office hours between both times.
func (s *Schedule) days(from, to time.Time) iter.Seq2[time.Time, time.Duration] {
	return func(yield func(midnight time.Time, office time.Duration) bool) {
		for d := range 33 {
			midnight, office := s.midnight(from, d), time.Duration(0)
			for _, sp := range s.spans(midnight) {
				office += max(0, min(sp.to.Sub(from), to.Sub(from))-max(0, sp.from.Sub(from)))
			}
			if !midnight.Before(to) || !yield(midnight, office) {
				return
			}
		}
	}
}

// Capacity is the time that the person may work from one time to another, at most 32 days later.
func (s *Schedule) Capacity(from, to time.Time, used Used) (sum time.Duration) {
	var monday time.Time
	var left time.Duration // of the week
	for midnight, office := range s.days(from, to) {
		if m := s.monday(midnight); !m.Equal(monday) {
			monday, left = m, s.leftOfWeek(midnight, used)
		}
		able := max(0, min(office, s.perDay-used(s.Day(midnight)), left))
		left -= able
		sum += able
	}
	return sum
}

// Released is the part of the person's hours that falls due from one time to another, if the limits of a day and a week are spread
// evenly over the office hours. Of more than 32 days, only the first ones count.
func (s *Schedule) Released(from, to time.Time) (sum time.Duration) {
	for midnight, office := range s.days(from, to) {
		sum += time.Duration(float64(office) * s.share[midnight.Weekday()])
	}
	return sum
}
