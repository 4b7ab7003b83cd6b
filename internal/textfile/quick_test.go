package textfile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// QuickFloat32 reads what strconv and ParseFloat32 read, bit for bit, or nothing.
func TestQuickFloat(t *testing.T) {
	check := func(text string) (read bool) {
		t.Helper()
		v, n := QuickFloat32([]byte(text + ","))
		if n == 0 {
			return false
		}
		want, err := strconv.ParseFloat(text[:n], 32)
		if n != len(text) || err != nil || math.Float32bits(v) != math.Float32bits(float32(want)) {
			t.Fatalf("%s is read as %g of %d characters, not %g: %v", text, v, n, want, err)
		}
		if twice, err := ParseFloat32(text); err != nil || math.Float32bits(v) != math.Float32bits(twice) {
			t.Fatalf("%s is read as %g, not %g: %v", text, v, twice, err)
		}
		return true
	}
	for _, text := range []string{"0", "-0", "1", "-1", "0.5", "12345678", "123456789.12345678", "16777217", "16777217.000000001", "0.1", "9007199254740993", "1234567890123456789", "0.0000000000000000001", "1e5", "1E+5", "-12.5e-07", "0e999", "5e22", "1e-22"} {
		check(text)
	}
	for _, text := range []string{"1e", "1e+", "1e5.", "1e0005", "1e23", "1e-23", "1.e5", "12345678901234567890", "0.00000000000000000001", "-", "x", "1x", ".", "1.", ".5", "01", "-00.5", ""} {
		if _, n := QuickFloat32([]byte(text + ",")); n != 0 {
			t.Errorf("%q was read", text)
		}
	}
	r, read, all := rand.New(rand.NewPCG(1, 2)), 0, 0
	for range 200_000 {
		v := float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(12)-6)))
		next := math.Nextafter32(v, 1e30)
		middle := (float64(v) + float64(next)) / 2
		for _, text := range []string{
			strconv.FormatFloat(float64(v), 'f', -1, 64), strconv.FormatFloat(float64(v), 'f', -1, 32),
			strconv.FormatFloat(middle, 'f', -1, 64), strconv.FormatFloat(math.Nextafter(middle, 1e30), 'f', -1, 64),
			strconv.FormatFloat(r.NormFloat64(), 'f', -1, 64), strconv.FormatFloat(float64(v), 'e', -1, 32), strconv.FormatFloat(middle, 'e', -1, 64),
			fmt.Sprintf("%d.%d", r.IntN(1000), r.IntN(1e9)),
		} {
			if check(text) {
				read++
			}
			all++
		}
	}
	if read < all/4 {
		t.Errorf("only %d of %d were read", read, all)
	}
}
