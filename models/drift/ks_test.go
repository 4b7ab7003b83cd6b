package drift

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func ksOf(x, y []float32) KSResult {
	s := NewSample(x)
	c := s.NewCounts()
	s.Count(c, y, 1)
	return s.KS(c)
}

// The exact P is the share of all ways to divide the pooled values that are at least as far apart, also with ties.
func TestKSExactIsAllDivisions(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	random := rand.New(rand.NewPCG(7, 8))
	for range 60 {
		n, m := 1+random.IntN(6), 1+random.IntN(6)
		kinds := 1 + random.IntN(8)
		pooled := make([]float32, n+m)
		for i := range pooled {
			pooled[i] = float32(random.IntN(kinds))
		}
		// values of y that occur repeatedly and not in x count as different, so give x one of each
		x, y := pooled[:n], pooled[n:]
		for _, v := range y {
			if ksOf(x, []float32{v}).D == 0 {
				continue
			}
			x = append(append([]float32{}, x...), v)
		}
		got := ksOf(x, y)
		far, all := 0, 0
		both := append(append([]float32{}, x...), y...)
		for mask := range 1 << len(both) {
			var a, b []float32
			for i, v := range both {
				if mask>>i&1 == 1 {
					a = append(a, v)
				} else {
					b = append(b, v)
				}
			}
			if len(a) != len(x) {
				continue
			}
			all++
			if ksOf(a, b).D >= got.D-1e-12 {
				far++
			}
		}
		if want := float64(far) / float64(all); math.Abs(got.P-want) > 1e-12 || !got.Exact {
			t.Fatalf("x %v, y %v: P is %v, of all divisions %v", x, y, got.P, want)
		}
	}
}

// Beyond the exact sizes, the limit is never below the exact P, and above it by no more than the documentation says.
func TestKSLimit(t *testing.T) {
	for _, c := range []struct {
		n, m int
		most float64
	}{{1000, 1000, 1.2}, {1000, 1001, 1.2}, {1000, 3000, 1.2}, {400, 3000, 1.2}, {101, 10_000, 1.5}} {
		n, m := c.n, c.m
		ends := make([]bool, n+m+1)
		for i := range ends {
			ends[i] = true
		}
		for _, limit := range []float64{0.1, 1e-2, 1e-4, 1e-6} {
			d := math.Sqrt(-math.Log(limit/2) / 2 * float64(n+m) / float64(n) / float64(m))
			most := int64(math.Ceil(d * float64(n) * float64(m)))
			exact := exactKS(ends, n, m, most)
			d = float64(most) / float64(n) / float64(m)
			p := kolmogorov(d * math.Sqrt(float64(n)*float64(m)/float64(n+m)))
			t.Logf("%d and %d values: limit %.3g, exact %.3g, ratio %.3f", n, m, p, exact, p/exact)
			if p < exact || p > c.most*exact {
				t.Errorf("%d and %d values: limit %.3g, exact %.3g", n, m, p, exact)
			}
		}
	}
}

// The two series of Kolmogorov's distribution meet.
func TestKolmogorov(t *testing.T) {
	for _, c := range []struct{ t, want float64 }{{0.5, 0.9639452436648751}, {1, 0.26999967167735456}, {1.5, 0.022217962616525127}} {
		if got := kolmogorov(c.t); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("at %v: %v, want %v", c.t, got, c.want)
		}
	}
	if kolmogorov(0) != 1 || kolmogorov(math.Nextafter(1, 0)) < kolmogorov(1) {
		t.Error("the series do not meet")
	}
}

// A value is found as by a search through all values, also where they lie very unevenly.
func TestFind(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		values := make([]float32, 1+random.IntN(60))
		for i := range values {
			switch values[i] = float32(random.NormFloat64()); random.IntN(4) {
			case 0:
				values[i] *= 1e30
			case 1:
				values[i] = float32(random.IntN(3)) * math.MaxFloat32 / 2
			}
		}
		s := NewSample(values)
		for range 100 {
			v := values[random.IntN(len(values))]
			if random.IntN(2) == 0 {
				v = math.Nextafter32(v, float32(random.NormFloat64()))
			}
			wantAt, want := slices.BinarySearch(s.values, v)
			if at, found := s.find(v); at != wantAt || found != want {
				t.Fatalf("%v in %v: %d, %v, want %d, %v", v, s.values, at, found, wantAt, want)
			}
		}
	}
}

func TestCountsFit(t *testing.T) {
	s := NewSample([]float32{1, 2, 2})
	c := s.NewCounts()
	s.Count(c, []float32{0, 9, 2, 9, 5}, 2)
	if !c.Fits(s) || c.N != 3 || c.At[0] != 1 || c.At[3] != 1 || c.At[4] != 1 {
		t.Errorf("%+v", c)
	}
	for _, bad := range []*Counts{{}, {N: 1, At: make([]int64, 5)}, {At: []int64{1, -1, 0, 0, 0}}} {
		if bad.Fits(s) {
			t.Errorf("%+v fits", bad)
		}
	}
	if r := s.KS(s.NewCounts()); r.P != 1 {
		t.Errorf("nothing counted: %+v", r)
	}
}

func BenchmarkKSExact(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	draw := func() []float32 {
		out := make([]float32, 1000)
		for i := range out {
			out[i] = random.Float32()
		}
		return out
	}
	x, y := draw(), draw()
	for b.Loop() {
		ksOf(x, y)
	}
}
