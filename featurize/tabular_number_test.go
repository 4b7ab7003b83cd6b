package featurize

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// The short way gives the bits of strconv, for whatever it accepts.
func TestPlainNumbersAreExact(t *testing.T) {
	digits := rapid.StringMatching(`-?[0-9]{0,17}(\.[0-9]{0,17})?`)
	rapid.Check(t, func(t *rapid.T) {
		s := digits.Draw(t, "s")
		got, ok := parsePlain(s)
		want, err := strconv.ParseFloat(s, 64)
		if ok && (err != nil || math.Float64bits(got) != math.Float64bits(want)) {
			t.Fatalf("%q is %v, strconv has %v, %v", s, got, want, err)
		}
		if !ok && err == nil && len(s) <= 15 {
			t.Fatalf("%q is not read the short way", s)
		}
	})
}

// Numbers that programs write are read as they were, and rounded once.
func TestNumbersReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float32().Draw(t, "v")
		for _, format := range []byte{'e', 'f', 'g'} {
			s := strconv.FormatFloat(float64(v), format, -1, 32)
			if got, err := parseFloat32(s); err != nil || got != v {
				t.Fatalf("%s is read as %v, %v", s, got, err)
			}
		}
	})
}

func TestWhatIsNoNumber(t *testing.T) {
	for _, s := range []string{"-", ".", "-.", "x", "1x", " 1", "1 ", "1,5", "nan", "NaN", "inf", "-Inf", "Infinity", "0x10", "1_000", "1e", "1.2.3", "--1", "٣"} {
		if v, err := parseFloat32(s); err != errNotNumber {
			t.Errorf("%q is %v, %v", s, v, err)
		}
	}
	for _, s := range []string{"1e39", "-1e39", "1e999", "340282366920938463463374607431768211456"} {
		if v, err := parseFloat32(s); err != errTooLarge {
			t.Errorf("%q is %v, %v", s, v, err)
		}
	}
	for s, want := range map[string]float32{"1e-60": 0, "-0": 0, "+5": 5, ".5": 0.5, "5.": 5, "1E2": 100, "16777217": 16777216} {
		if v, err := parseFloat32(s); err != nil || v != want {
			t.Errorf("%q is %v, %v", s, v, err)
		}
	}
}

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
				v, err := parseNumber(fmt.Sprint(seconds))
				if got := hourOfWeek(v); err != nil || got != float32(hour) {
					t.Fatalf("%d seconds are hour %v, expected %d (%v)", seconds, got, hour, err)
				}
			}
		}
	}
}
