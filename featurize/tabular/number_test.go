package tabular

import (
	"fmt"
	"testing"

	"pipe/internal/textfile"
)

func TestPlainLevel(t *testing.T) {
	for s, want := range map[string]string{
		"490.0": "490", "490": "490", "-480.00": "-480", "1.5": "1.5", "1.": "1.", ".0": ".0", "-.0": "-.0", "a.0": "a.0",
		"outlook.com": "outlook.com", "1.0.0": "1.0.0", "": "",
	} {
		if got := plainLevel(s); got != want {
			t.Errorf("%q is %q, expected %q", s, got, want)
		}
		if got := plainLevel(want); got != want {
			t.Errorf("%q has another spelling yet, %q", want, got)
		}
	}
}

// Beyond 2^24 seconds a float32 would count by two, then by four.
func TestHourOfWeek(t *testing.T) {
	for _, start := range []int{0, 604800, 15_811_131 / 604800 * 604800, 34_214_345 / 604800 * 604800, -604800} {
		for hour := range weekHours {
			for _, second := range []int{0, 1, 3599} {
				seconds := start + hour*3600 + second
				v, err := textfile.ParseNumber(fmt.Sprint(seconds))
				if got := hourOfWeek(v); err != nil || got != float32(hour) {
					t.Fatalf("%d seconds are hour %v, expected %d (%v)", seconds, got, hour, err)
				}
			}
		}
	}
}
