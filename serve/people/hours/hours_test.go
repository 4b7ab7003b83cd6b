package hours

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func schedule(t testing.TB, s Settings) *Schedule {
	t.Helper()
	out, err := s.Schedule()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func none(string) time.Duration { return 0 }

// TestOffice: office hours are those of the zone, also when clocks change, and what is left ends with them.
func TestOffice(t *testing.T) {
	s := schedule(t, Settings{Zone: "Europe/Zurich", Office: []string{"mon-fri 09:00-12:30", "mon-fri 13:30-17:00", "sat 12:30-13:00"}, PerDay: 4 * time.Hour, PerWeek: 16 * time.Hour})
	for _, c := range []struct {
		at   string
		left time.Duration
		next string
	}{
		{"2026-03-27T08:00:00Z", 210 * time.Minute, "2026-03-27T08:00:00Z"}, // Friday, winter
		{"2026-03-27T11:30:00Z", 0, "2026-03-27T12:30:00Z"},
		{"2026-03-27T15:59:00Z", time.Minute, "2026-03-27T15:59:00Z"},
		{"2026-03-27T16:00:00Z", 0, "2026-03-28T11:30:00Z"},
		{"2026-03-28T12:00:00Z", 0, "2026-03-30T07:00:00Z"}, // Monday, summer
		{"2026-03-30T07:00:00Z", 210 * time.Minute, "2026-03-30T07:00:00Z"},
	} {
		now := at(t, c.at)
		if got := s.Left(now, none); got != c.left {
			t.Errorf("%s: %v is left, not %v", c.at, got, c.left)
		}
		if got := s.Next(now); !got.Equal(at(t, c.next)) {
			t.Errorf("%s: next %v, not %s", c.at, got.UTC(), c.next)
		}
	}
	monday := at(t, "2026-03-23T00:00:00+01:00")
	if got := s.Capacity(monday, monday.AddDate(0, 0, 7), none); got != 16*time.Hour {
		t.Errorf("a week has %v", got)
	}
	if got := s.Released(monday, monday.AddDate(0, 0, 7)); got < 16*time.Hour-time.Second || got > 16*time.Hour+time.Second {
		t.Errorf("of a week %v falls due", got)
	}
	used := func(day string) time.Duration {
		return map[string]time.Duration{"2026-03-23": 4 * time.Hour, "2026-03-24": 4 * time.Hour, "2026-03-25": 4 * time.Hour, "2026-03-26": 3 * time.Hour}[day]
	}
	if got := s.Left(at(t, "2026-03-27T08:00:00Z"), used); got != time.Hour {
		t.Errorf("%v of the week is left", got)
	}
	if got := s.Capacity(at(t, "2026-03-26T00:00:00+01:00"), at(t, "2026-04-01T00:00:00+02:00"), used); got != time.Hour+8*time.Hour {
		t.Errorf("capacity over two weeks: %v", got)
	}
}

// TestSkippedMidnight: where clocks are set forward at midnight, the day begins then. Hours that clocks skip are none.
func TestSkippedMidnight(t *testing.T) {
	for zone, first := range map[string]string{"America/Havana": "2026-03-08", "America/Santiago": "2026-09-06", "Africa/Cairo": "2026-04-24", "Asia/Beirut": "2026-03-29"} {
		s := schedule(t, Settings{Zone: zone})
		noon, err := time.ParseInLocation(time.DateOnly+" 15", first+" 12", s.zone)
		if err != nil {
			t.Fatal(err)
		}
		midnight := s.midnight(noon, 0)
		if s.Day(midnight) != first || s.Day(midnight.Add(-1)) == first {
			t.Errorf("%s: %s begins at %v", zone, first, midnight)
		}
		if got := s.Capacity(midnight.Add(-time.Hour), midnight.Add(24*time.Hour), none); got != 25*time.Hour {
			t.Errorf("%s: %v of 25 hours", zone, got)
		}
		if left := s.Left(noon, none); left != 12*time.Hour {
			t.Errorf("%s: %v is left at noon", zone, left)
		}
	}
	s := schedule(t, Settings{Zone: "America/New_York", Office: []string{"sun 02:00-03:00"}})
	if end, open := s.Open(at(t, "2026-03-08T06:30:00Z")); open {
		t.Error("half past one is no office hour:", end)
	}
}

// TestNoLimits: without settings a person works at all hours.
func TestNoLimits(t *testing.T) {
	s, now := schedule(t, Settings{}), at(t, "2026-01-01T22:00:00Z")
	if left, all := s.Left(now, none), s.Capacity(now, now.Add(50*time.Hour), none); left != 2*time.Hour || all != 50*time.Hour {
		t.Error(left, all)
	}
}

// TestBad: every problem is named.
func TestBad(t *testing.T) {
	for want, s := range map[string]Settings{
		"zone":                     {Zone: "Mars/Base"},
		`"Local" is not`:           {Zone: "Local"},
		"not like":                 {Office: []string{"monday 9-17"}},
		"has no days":              {Office: []string{"mon-fry 09:00-17:00"}},
		"does not end":             {Office: []string{"mon 17:00-09:00"}},
		"on the same day":          {Office: []string{"mon 17:00-24:30"}},
		"overlap":                  {Office: []string{"mon 09:00-12:00", "mon-fri 11:00-17:00"}},
		"per_day: is 25h0m0s":      {PerDay: 25 * time.Hour},
		"per_week: is -1h0m0s, no": {PerWeek: -time.Hour},
	} {
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestLaws: what is left is no more than the capacity of the day, capacity adds up over times, and nothing exceeds the limits.
func TestLaws(t *testing.T) {
	zones := []string{"", "Europe/Zurich", "America/St_Johns", "Pacific/Auckland", "Asia/Kathmandu", "America/Havana", "Africa/Cairo"}
	rapid.Check(t, func(t *rapid.T) {
		s := Settings{
			Zone:   rapid.SampledFrom(zones).Draw(t, "zone"),
			Office: rapid.SampledFrom([][]string{nil, {"mon-fri 09:00-17:00"}, {"mon,wed 00:00-24:00", "sat-sun 01:30-03:30"}}).Draw(t, "office"),
			PerDay: time.Duration(rapid.IntRange(0, 24).Draw(t, "day")) * time.Hour, PerWeek: time.Duration(rapid.IntRange(0, 60).Draw(t, "week")) * time.Hour,
		}
		of, err := s.Schedule()
		if err != nil {
			t.Fatal(err)
		}
		from := time.Unix(rapid.Int64Range(1767225600, 1798761600).Draw(t, "from"), 0).UTC() // of 2026
		mid := from.Add(time.Duration(rapid.IntRange(0, 10*86400).Draw(t, "to")) * time.Second)
		to := mid.Add(time.Duration(rapid.IntRange(0, 10*86400).Draw(t, "more")) * time.Second)
		all := of.Capacity(from, to, none)
		if parts := of.Capacity(from, mid, none) + of.Capacity(mid, to, none); parts < all {
			t.Fatalf("%v is more than its parts %v", all, parts)
		}
		if released := of.Released(from, to); s.PerDay == 0 && s.PerWeek == 0 && (released-all).Abs() > time.Second {
			t.Fatalf("without limits %v falls due of %v", released, all)
		}
		if sum := of.Released(from, mid) + of.Released(mid, to); (sum - of.Released(from, to)).Abs() > time.Second {
			t.Fatalf("what falls due does not add up: %v, %v", sum, of.Released(from, to))
		}
		left := of.Left(from, none)
		if end, open := of.Open(from); open && left > end.Sub(from) || !open && left != 0 || s.PerDay > 0 && left > s.PerDay {
			t.Fatalf("%v is left", left)
		}
		if day := of.Capacity(from, from.Add(left), none); day != left {
			t.Fatalf("%v is left, the capacity is %v", left, day)
		}
	})
}
