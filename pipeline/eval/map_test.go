package eval

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pipe/models"
)

// Rows in a plane keep their distances, whatever the order of their features, and constant features do not count.
func TestComponentsOfAPlane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 40).Draw(t, "rows")
		a, b := make([]float64, n), make([]float64, n)
		rows := make([][]float32, n)
		for i := range n {
			a[i] = float64(rapid.IntRange(-50, 50).Draw(t, "a"))
			b[i] = float64(rapid.IntRange(-50, 50).Draw(t, "b"))
			rows[i] = []float32{7, float32(a[i]), float32(b[i])}
		}
		points, held, ok := components(rows)
		ma, sa := models.MeanStd(a)
		mb, sb := models.MeanStd(b)
		correlation := 0.0
		for i := range n {
			correlation += (a[i] - ma) / sa * (b[i] - mb) / sb / float64(n)
		}
		if !(sa > 0 && sb > 0) || math.Abs(correlation) > 0.999 {
			return // on a line
		}
		if !ok || math.Abs(held-1) > 1e-6 {
			t.Fatalf("the plane holds %g (%v)", held, ok)
		}
		for i := range n {
			for j := range i {
				want := math.Hypot((a[i]-a[j])/sa, (b[i]-b[j])/sb)
				if got := math.Hypot(points[i][0]-points[j][0], points[i][1]-points[j][1]); math.Abs(got-want) > 1e-6*(1+want) {
					t.Fatalf("rows %d and %d are %g apart, on the map %g", i, j, want, got)
				}
			}
		}
	})
}

// Rows on a line, or all alike, have no map.
func TestNoComponents(t *testing.T) {
	for _, rows := range [][][]float32{
		{{1, 2}, {1, 2}, {1, 2}, {1, 2}},
		{{1, 2}, {2, 4}, {3, 6}, {4, 8}},
		{{1, 2}, {2, 1}},
	} {
		if points, _, ok := components(rows); ok {
			t.Errorf("%v has the map %v", rows, points)
		}
	}
}
