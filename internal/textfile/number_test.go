package textfile

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// The fast path gives the same bits as strconv, for all input that it accepts.
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

// Numbers that programs write are read back exactly, and rounded once.
func TestNumbersReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float32().Draw(t, "v")
		for _, format := range []byte{'e', 'f', 'g'} {
			s := strconv.FormatFloat(float64(v), format, -1, 32)
			if got, err := ParseFloat32(s); err != nil || got != v {
				t.Fatalf("%s is read as %v, %v", s, got, err)
			}
		}
	})
}

func TestWhatIsNoNumber(t *testing.T) {
	for _, s := range []string{"-", ".", "-.", "x", "1x", " 1", "1 ", "1,5", "nan", "NaN", "inf", "-Inf", "Infinity", "0x10", "1_000", "1e", "1.2.3", "--1", "٣"} {
		if v, err := ParseFloat32(s); err != ErrNotNumber {
			t.Errorf("%q is %v, %v", s, v, err)
		}
	}
	for _, s := range []string{"1e39", "-1e39", "1e999", "340282366920938463463374607431768211456"} {
		if v, err := ParseFloat32(s); err != ErrTooLarge {
			t.Errorf("%q is %v, %v", s, v, err)
		}
	}
	for s, want := range map[string]float32{"1e-60": 0, "-0": 0, "+5": 5, ".5": 0.5, "5.": 5, "1E2": 100, "16777217": 16777216} {
		if v, err := ParseFloat32(s); err != nil || v != want {
			t.Errorf("%q is %v, %v", s, v, err)
		}
	}
}
