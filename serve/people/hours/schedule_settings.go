package hours

import (
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
	out := &Schedule{zone: zone, perDay: s.PerDay, perWeek: s.PerWeek}
	for i, text := range s.Office {
		p.Add(config.Under(fmt.Sprintf("office.%d", i), out.add(text)))
	}
	for i := range out.windows {
		if len(s.Office) == 0 {
			out.windows[i] = []window{{0, 24 * 60}}
		}
		p.Add(out.join(time.Weekday(i)))
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

var (
	officeOf = regexp.MustCompile(`^([a-z,-]+) (\d\d):(\d\d)-(\d\d):(\d\d)$`)
	dayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
)

// add adds an element of Settings.Office.
func (s *Schedule) add(text string) error {
	m := officeOf.FindStringSubmatch(strings.ToLower(text))
	if m == nil {
		return fmt.Errorf("%q is not like \"mon-fri 09:00-17:00\"", text)
	}
	minute := func(h, m string) int {
		hour, _ := strconv.Atoi(h) // two digits, as the next one
		of, _ := strconv.Atoi(m)
		return 60*hour + of
	}
	w := window{minute(m[2], m[3]), minute(m[4], m[5])}
	if w.from >= w.to || w.to > 24*60 || m[3] > "59" || m[5] > "59" {
		return fmt.Errorf("%q does not end after it begins on the same day; write hours over midnight as two", text)
	}
	days, err := daysOf(m[1])
	for _, d := range days {
		s.windows[d] = append(s.windows[d], w)
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

// join puts the windows of a day into order, and joins those that meet.
func (s *Schedule) join(d time.Weekday) error {
	list := s.windows[d]
	slices.SortFunc(list, func(a, b window) int { return a.from - b.from })
	var out []window
	for _, w := range list {
		last := len(out) - 1
		switch {
		case last >= 0 && w.from < out[last].to:
			return fmt.Errorf("office: hours of %s overlap", dayNames[d])
		case last >= 0 && w.from == out[last].to:
			out[last].to = w.to
		default:
			out = append(out, w)
		}
	}
	s.windows[d] = out
	return nil
}
