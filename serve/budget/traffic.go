package budget

import (
	"math"
	"time"
)

// traffic is how many requests come at each hour of the week, and how that compares with the last hours. The zero value has seen
// nothing.
type traffic struct {
	Hours [hoursOfWeek]float64 `json:"hours"` // requests in each hour of the week of UTC, from Monday
	Weeks [hoursOfWeek]int     `json:"weeks"` // in which the hour was seen
	// Ends are how many times more requests than by the hour of the week come on the days of a month, counted from its last
	// day, which is 0; a 0 is not known.
	Ends  [longest]float64 `json:"ends"`
	Slot  int64            `json:"slot"`  // hour since 1970 that is counted
	Count float64          `json:"count"` // requests in it
	// Came are the requests of the last time, and Due those that the hours of the week say; both decay.
	Came float64 `json:"came"`
	Due  float64 `json:"due"`
	// NewCame and NewDue are the parts of them since the hour that is counted began.
	NewCame float64     `json:"new_came"`
	NewDue  float64     `json:"new_due"`
	Today   [24]float64 `json:"today"` // requests in each hour of the day that were not learned yet; -1: not known
	// Usual is how many times more requests than by the hours of the week came on the last usual days, and Odd the number of other days
	// since.
	Usual float64 `json:"usual"`
	Odd   int     `json:"odd"`
	Last  int64   `json:"last"` // second since 1970 of the last request; 0: none came yet
	From  int64   `json:"from"` // second since 1970 when counting began
}

const (
	hoursOfWeek = 7 * 24
	longest     = 31 // days of a month
)

// slotOf is the hour of the week: 1970 began on a Thursday.
func slotOf(hour int64) int { return int((hour + 3*24) % hoursOfWeek) }

// see counts a request. memory is the time after which what came counts a third.
func (t *traffic) see(at time.Time, memory time.Duration) {
	now := at.Unix()
	hour := now / 3600
	if t.Last == 0 {
		t.Last, t.From, t.Slot, t.Usual = now, now, hour, 1
		t.forget()
	}
	t.close(hour)
	if passed := float64(now - t.Last); passed > 0 {
		decay := math.Exp(-passed / memory.Seconds())
		due := t.rates()(hour) * t.end(hour) / 3600 * min(passed, memory.Seconds())
		t.Came, t.NewCame = t.Came*decay, t.NewCame*decay
		t.Due, t.NewDue = t.Due*decay+due, t.NewDue*decay+due
		t.Last = now
	}
	t.Came, t.NewCame = t.Came+1, t.NewCame+1
	t.Count++
}

// close ends the hours before one.
func (t *traffic) close(hour int64) {
	if hour-t.Slot > 4*hoursOfWeek || hour < t.Slot { // nothing came for long, or the clock was set back
		t.Slot, t.Count, t.NewCame, t.NewDue = hour, 0, 0, 0
		t.forget()
	}
	for ; t.Slot < hour; t.Slot++ {
		seen, at := t.seen(3600*(t.Slot+1)), slotOf(t.Slot)
		t.Today[t.Slot%24] = -1
		switch {
		case seen < least:
			t.NewCame, t.NewDue = 0, 0
		case t.Weeks[at] > 0:
			t.Today[t.Slot%24] = t.Count / seen
			t.NewCame, t.NewDue = 0, 0
		case t.ofDay(at) == 0:
			t.learn(at, t.Count/seen)
			t.settle(t.shape().rate(at) * seen / t.Count)
		default:
			t.learn(at, t.Count/seen)
		}
		t.Count = 0
		if (t.Slot+1)%24 == 0 {
			t.settle(1)
			t.closeDay()
		}
	}
}

// settle makes what came in new hours count as expected, as far as what is expected of other hours now knows of it: that part of it.
// Otherwise it would raise these and the level.
func (t *traffic) settle(part float64) {
	if t.NewCame > 0 {
		t.Due = max(0, t.Due+part*t.NewCame-t.NewDue)
	}
	t.NewCame, t.NewDue = 0, 0
}

// learn takes how many requests an hour of the week had.
func (t *traffic) learn(at int, count float64) {
	t.Weeks[at]++
	t.Hours[at] += (count - t.Hours[at]) * max(1/float64(t.Weeks[at]), newest)
}

const (
	least  = 0.2 // of an hour that must be seen to count
	newest = 0.3 // least weight of the last week
)

// closeDay takes the hours of the day that ends with the hour that is counted. If the day was far from usual, that is taken for a
// property of its place in the month, and its hours are scaled to a usual day.
func (t *traffic) closeDay() {
	const some = 20. // requests that are taken to have come as they should
	came, due, first := some, some, t.Slot-23
	for i, count := range t.Today {
		if count >= 0 {
			came, due = came+count, due+t.Hours[slotOf(first+int64(i))]
		}
	}
	factor := came / due / t.Usual
	if usual := factor < far && factor > 1/far; usual || t.Odd >= change {
		t.Usual, t.Odd, factor = t.Usual*(1+newest*(factor-1)), 0, 1
	} else {
		t.Odd++
	}
	at := daysLeft(t.Slot)
	if t.Ends[at] > 0 {
		t.Ends[at] = math.Sqrt(factor * t.Ends[at])
	} else {
		t.Ends[at] = factor
	}
	for i, count := range t.Today {
		if count >= 0 {
			t.learn(slotOf(first+int64(i)), count/factor)
		}
		t.Today[i] = -1
	}
}

const (
	far    = 1.8 // factor from which a day is not a usual one
	change = 4   // such days in a row that are taken for a change of all days
)

// seen is the part of the hour that is counted which was seen until a second.
func (t *traffic) seen(until int64) float64 {
	return float64(until-max(t.From, 3600*t.Slot)) / 3600
}

// end is the factor of the day of an hour, by the months before.
func (t *traffic) end(hour int64) float64 {
	if f := t.Ends[daysLeft(hour)]; f > 0 {
		return f
	}
	return 1
}

// daysLeft is how many days of its month follow the day of an hour.
func daysLeft(hour int64) int {
	at := time.Unix(3600*hour, 0).UTC()
	return time.Date(at.Year(), at.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day() - at.Day()
}

// rates returns how many requests an hour brings, without the level of the last time; where the hour of the week was not seen yet,
// as that hour of other days, or by the shape of a day that was found from other hours.
func (t *traffic) rates() func(hour int64) float64 {
	var day *dayShape
	return func(hour int64) float64 {
		at := slotOf(hour)
		if t.Weeks[at] > 0 {
			return t.Hours[at]
		}
		if days := t.ofDay(at); days > 0 {
			sum := 0.0
			for i := at % 24; i < hoursOfWeek; i += 24 {
				sum += t.Hours[i]
			}
			return sum / float64(days)
		}
		if day == nil {
			day = t.shape()
		}
		return day.rate(at)
	}
}

// ofDay is on how many days of the week the hour of the day was seen.
func (t *traffic) ofDay(at int) (days int) {
	for i := at % 24; i < hoursOfWeek; i += 24 {
		days += min(t.Weeks[i], 1)
	}
	return days
}

// level is how much more comes in the last time than at that hour of other weeks, as a factor.
func (t *traffic) level() float64 {
	const some = 3 // requests that are taken to have come as they should
	return (t.Came + some) / (t.Due + some)
}

// rest is how many requests are expected from a time to another.
func (t *traffic) rest(from, to time.Time) float64 {
	sum, rate := 0.0, t.rates()
	for at := from; at.Before(to); {
		hour := at.Unix() / 3600
		end := time.Unix(3600*(hour+1), 0)
		if end.After(to) {
			end = to
		}
		sum += rate(hour) * t.end(hour) * t.caution(hour) * end.Sub(at).Hours()
		at = end
	}
	return sum * t.level()
}

// caution is by how much more requests are counted in an hour ahead of which nothing is known: its hour of the day was never seen, or
// its day of a month. To have spent too much before a burst costs far more than to spend what is left late.
func (t *traffic) caution(hour int64) float64 {
	if ahead := hour > t.Slot && t.ofDay(slotOf(hour)) == 0; ahead || hour/24 > t.Slot/24 && t.Ends[daysLeft(hour)] == 0 {
		return unknown
	}
	return 1
}

const unknown = 1.1 // factor of requests that are counted where nothing is known

// forget leaves out the hours of the day that were not learned yet.
func (t *traffic) forget() {
	for i := range t.Today {
		t.Today[i] = -1
	}
}

// resume begins to count again after a time in which nothing was counted.
func (t *traffic) resume(at time.Time) {
	now := at.Unix()
	if t.Last == 0 || now/3600 == t.Slot && now >= t.Last {
		return
	}
	t.Slot, t.Count, t.From, t.Last = now/3600, 0, now, now
	t.NewCame, t.NewDue = 0, 0
	t.forget()
}
