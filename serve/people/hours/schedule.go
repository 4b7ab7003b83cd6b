package hours

import "time"

// Schedule are the hours of a person. It does not change.
type Schedule struct {
	zone            *time.Location
	windows         [7][]window // by weekday, in order
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
func (s *Schedule) spans(midnight time.Time) []span {
	y, m, d := midnight.Date()
	var all []span
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

// Open returns the end of the office hours that t is in, and false outside of them.
func (s *Schedule) Open(t time.Time) (end time.Time, open bool) {
	for _, sp := range s.spans(s.midnight(t, 0)) {
		if !t.Before(sp.from) && t.Before(sp.to) {
			return sp.to, true
		}
	}
	return time.Time{}, false
}

// Next returns when the next office hours begin, if t is outside of them, and t if it is in them. It is the zero time if there
// are none within eight days.
func (s *Schedule) Next(t time.Time) time.Time {
	if _, open := s.Open(t); open {
		return t
	}
	for d := range 9 {
		for _, sp := range s.spans(s.midnight(t, d)) {
			if sp.from.After(t) {
				return sp.from
			}
		}
	}
	return time.Time{}
}

// Left is the time for which the person may work from t on without a break: until the office hours end, or a limit is reached.
func (s *Schedule) Left(t time.Time, used Used) time.Duration {
	end, open := s.Open(t)
	if !open {
		return 0
	}
	return max(0, min(end.Sub(t), s.leftOfDay(t, used), s.leftOfWeek(t, used)))
}

func (s *Schedule) leftOfDay(t time.Time, used Used) time.Duration {
	if s.perDay == 0 {
		return week
	}
	return max(0, s.perDay-used(s.Day(t)))
}

func (s *Schedule) leftOfWeek(t time.Time, used Used) time.Duration {
	if s.perWeek == 0 {
		return week
	}
	monday, sum := s.monday(t), time.Duration(0)
	for d := range 7 {
		sum += used(s.Day(s.midnight(monday, d)))
	}
	return max(0, s.perWeek-sum)
}

// Capacity is the time that the person may work from one time to another, at most 32 days later.
func (s *Schedule) Capacity(from, to time.Time, used Used) (sum time.Duration) {
	weekLeft, monday := s.leftOfWeek(from, used), s.monday(from)
	for d := range 33 {
		midnight := s.midnight(from, d)
		if !midnight.Before(to) {
			break
		}
		if m := s.monday(midnight); !m.Equal(monday) {
			weekLeft, monday = s.leftOfWeek(midnight, used), m
		}
		able := min(s.within(midnight, from, to), s.leftOfDay(midnight, used), weekLeft)
		weekLeft -= able
		sum += able
	}
	return sum
}

// within is the part of the office hours of a day that lies between two times.
func (s *Schedule) within(midnight, from, to time.Time) (sum time.Duration) {
	for _, sp := range s.spans(midnight) {
		a, b := sp.from, sp.to
		if a.Before(from) {
			a = from
		}
		if b.After(to) {
			b = to
		}
		sum += max(0, b.Sub(a))
	}
	return sum
}

// Released is the part of the person's hours that falls due from one time to another, if the limits of a day and a week are spread
// evenly over the office hours. Of more than 32 days, only the first ones count.
func (s *Schedule) Released(from, to time.Time) (sum time.Duration) {
	for d := range 33 {
		midnight := s.midnight(from, d)
		if !midnight.Before(to) {
			break
		}
		if office := s.within(midnight, from, to); office > 0 {
			sum += time.Duration(float64(office) * s.share(midnight))
		}
	}
	return sum
}

// share is the part of the office hours of a day that the limits allow.
func (s *Schedule) share(midnight time.Time) float64 {
	of := func(midnight time.Time) (office, able time.Duration) {
		office = s.within(midnight, midnight, midnight.Add(2*day))
		if able = office; s.perDay > 0 {
			able = min(office, s.perDay)
		}
		return office, able
	}
	office, able := of(midnight)
	share := float64(able) / float64(office)
	if s.perWeek == 0 {
		return share
	}
	var all time.Duration
	for d := range 7 {
		_, able := of(s.midnight(s.monday(midnight), d))
		all += able
	}
	return share * min(1, float64(s.perWeek)/float64(all))
}
