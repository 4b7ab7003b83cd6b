package finite

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32), 0, 600).Draw(t, "values")
		if got := First(values); got != -1 {
			t.Fatalf("value %d of finite ones is %v", got, values[got])
		}
		if len(values) == 0 {
			return
		}
		at := rapid.IntRange(0, len(values)-1).Draw(t, "at")
		values[at] = float32(rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}).Draw(t, "bad"))
		if got := First(values); got != at {
			t.Fatalf("found %d, expected %d", got, at)
		}
	})
}
