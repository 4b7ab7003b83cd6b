package hours

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones, also where the system has none

	"pipe/internal/config"
)

// Settings say when a person works.
type Settings struct {
	// Zone is the name of a time zone, such as Europe/Zurich. Empty: UTC.
	Zone string `yaml:"zone"`
	// Office are the hours of the week in which the person may work, such as "mon-fri 09:00-12:30" or "sat,sun 10:00-24:00".
	// Empty: all hours.
	Office []string `yaml:"office"`
	// PerDay and PerWeek are the most time of a day, and of a week from Monday on. 0: no limit.
	PerDay  time.Duration `yaml:"per_day"`
	PerWeek time.Duration `yaml:"per_week"`
}

// Lengths of periods of a calendar, without changes of clocks.
const (
	day  = 24 * time.Hour
	week = 7 * day
)

// Validate reports every problem.
func (s *Settings) Validate() error {
	_, err := s.Schedule()
	return err
}

// Schedule reads the settings.
func (s *Settings) Schedule() (*Schedule, error) {
	var p config.Problems
	zone, err := time.LoadLocation(s.Zone)
	p.Check(err == nil && s.Zone != "Local", "zone: %q is not a time zone such as Europe/Zurich", s.Zone)
	p.Check(s.PerDay >= 0 && s.PerDay <= day, "per_day: is %v, not 0s to 24h", s.PerDay)
	p.Check(s.PerWeek >= 0 && s.PerWeek <= week, "per_week: is %v, not 0s to 168h", s.PerWeek)
	out := &Schedule{zone: zone, perDay: cmp.Or(s.PerDay, 2*day), perWeek: cmp.Or(s.PerWeek, 2*week)} // a day can have 25 hours
	var minutes [7]minutes
	for i, text := range s.Office {
		p.Add(config.Under(fmt.Sprintf("office.%d", i), add(&minutes, text)))
	}
	if len(s.Office) == 0 {
		p.Add(add(&minutes, "mon-sun 00:00-24:00"))
	}
	out.take(&minutes)
	return out, p.Err()
}

// minutes are the minutes of a day that are office hours, and the first one of the next day, which is none.
type minutes [24*60 + 1]bool

// take takes over the minutes of a week.
func (s *Schedule) take(week *[7]minutes) {
	var office, able [7]time.Duration
	var sum time.Duration
	for d := range week {
		from := -1
		for m, in := range week[d] {
			switch {
			case in && from < 0:
				from = m
			case !in && from >= 0:
				s.windows[d] = append(s.windows[d], window{from, m})
				office[d] += time.Duration(m-from) * time.Minute
				from = -1
			}
		}
		able[d] = min(office[d], s.perDay)
		sum += able[d]
	}
	for d := range week {
		s.share[d] = float64(able[d]) / max(1, float64(office[d])) * min(1, float64(s.perWeek)/float64(sum))
	}
}

var (
	officeOf = regexp.MustCompile(`^([a-z,-]+) (\d\d):(\d\d)-(\d\d):(\d\d)$`)
	dayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
)

// add adds an element of Settings.Office.
func add(to *[7]minutes, text string) error {
	m := officeOf.FindStringSubmatch(strings.ToLower(text))
	if m == nil {
		return fmt.Errorf("%q is not like \"mon-fri 09:00-17:00\"", text)
	}
	minute := func(h, m string) int {
		hour, _ := strconv.Atoi(h) // two digits, as the next one
		of, _ := strconv.Atoi(m)
		return 60*hour + of
	}
	from, until := minute(m[2], m[3]), minute(m[4], m[5])
	if from >= until || until > 24*60 || m[3] > "59" || m[5] > "59" {
		return fmt.Errorf("%q does not end after it begins on the same day; write hours over midnight as two", text)
	}
	days, err := daysOf(m[1])
	for _, d := range days {
		for minute := from; minute < until; minute++ {
			if to[d][minute] {
				return fmt.Errorf("hours of %s overlap", dayNames[d])
			}
			to[d][minute] = true
		}
	}
	return err
}

// daysOf reads days and ranges of days with commas between them.
func daysOf(text string) (days []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, to := slices.Index(dayNames, first), slices.Index(dayNames, last)
		if from < 0 || to < 0 {
			return nil, fmt.Errorf("%q has no days such as mon, mon-fri or sat,sun", text)
		}
		for d := from; ; d = (d + 1) % 7 {
			days = append(days, d)
			if d == to {
				break
			}
		}
	}
	return days, nil
}
