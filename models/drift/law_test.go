package drift

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"pipe/internal/seeded"
)

// mostFalse is the most rejections among n tests of level alpha that chance explains, but for one case in a million.
func mostFalse(n int, alpha float64) int {
	b := distuv.Binomial{N: float64(n), P: alpha}
	k := 0
	for b.Survival(float64(k)) > 1e-6 {
		k++
	}
	return k
}

// Holm's adjusted value is the largest that Bonferroni's test gives any set of hypotheses that contains the one.
func TestHolmIsTheClosedTest(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 1))
	for range 100 {
		p := make([]float64, 1+random.IntN(8))
		for i := range p {
			p[i] = math.Pow(random.Float64(), 3)
			if random.IntN(4) == 0 {
				p[i] = p[0]
			}
		}
		got := Holm(p)
		for i := range p {
			want := 0.0
			for mask := range 1 << len(p) {
				if mask>>i&1 == 0 {
					continue
				}
				size, least := 0.0, 1.0
				for k := range p {
					if mask>>k&1 == 1 {
						size, least = size+1, min(least, p[k])
					}
				}
				want = max(want, min(1, size*least))
			}
			if math.Abs(got[i]-want) > 1e-15 {
				t.Fatalf("%v: %v at %d, want %v", p, got, i, want)
			}
		}
	}
	if len(Holm(nil)) != 0 {
		t.Error("no hypotheses")
	}
}

func TestRareCategoriesAreJoined(t *testing.T) {
	for _, c := range []struct {
		a, b   []int64
		method string
		cells  int
	}{
		{[]int64{50, 50, 0}, []int64{50, 50, 0}, MethodChiSquare, 2},
		{[]int64{50, 50, 1, 2, 1}, []int64{50, 50, 1, 2, 4}, MethodChiSquare, 3},
		{[]int64{50, 50, 1}, []int64{50, 50, 1}, MethodChiSquare, 2},
		{[]int64{100, 1}, []int64{100, 0}, MethodFisher, 2},
		{[]int64{100, 1, 1}, []int64{100, 0, 0}, MethodFisher, 2},
		{[]int64{100, 0}, []int64{100, 0}, MethodChiSquare, 1},
		{[]int64{100, 0}, []int64{0, 100}, MethodChiSquare, 2},
	} {
		r := Homogeneity(c.a, c.b)
		if r.Method != c.method || r.Cells != c.cells {
			t.Errorf("%v and %v: %+v, want %s of %d cells", c.a, c.b, r, c.method, c.cells)
		}
	}
	if r := HomogeneityG([]int64{3, 4}, []int64{0, 0}); r.P != 1 {
		t.Errorf("an empty list: %+v", r)
	}
}

// Tests of counts reject equal shares as rarely as they promise, also rare ones.
func TestHomogeneityLevel(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 1))
	const draws, alpha = 3000, 0.05
	for _, shares := range [][]float64{{0.5, 0.5}, {0.97, 0.03}, {0.6, 0.2, 0.1, 0.05, 0.02, 0.01, 0.01, 0.01}} {
		rejected := 0
		for range draws {
			a, b := multinomial(random, 400, shares), multinomial(random, 60, shares)
			if HomogeneityG(a, b).P <= alpha {
				rejected++
			}
		}
		t.Logf("%v: %.3f", shares, float64(rejected)/draws)
		if rejected > mostFalse(draws, 1.3*alpha) { // the limit of chi-square has an error at such counts
			t.Errorf("%v: %d of %d rejected", shares, rejected, draws)
		}
	}
}

func multinomial(random *rand.Rand, n int, shares []float64) []int64 {
	out := make([]int64, len(shares))
	for range n {
		u, i := random.Float64(), 0
		for ; i < len(shares)-1 && u >= shares[i]; i++ {
			u -= shares[i]
		}
		out[i]++
	}
	return out
}

// All intervals together contain the true differences about as often as promised.
func TestShareChangesCover(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 1))
	p, q := []float64{0.7, 0.2, 0.09, 0.01}, []float64{0.6, 0.3, 0.09, 0.01}
	const draws = 2000
	missed := 0
	for range draws {
		for i, s := range ShareChanges(multinomial(random, 500, p), multinomial(random, 300, q), 0.05) {
			if d := q[i] - p[i]; d < s.Low || d > s.High {
				missed++
				break
			}
		}
	}
	t.Logf("missed %.3f", float64(missed)/draws)
	if missed > mostFalse(draws, 0.06) {
		t.Errorf("%d of %d sets of intervals miss a difference", missed, draws)
	}
}

func gaussian(random *rand.Rand, n, dim int, shift float32) []float32 {
	out := make([]float32, n*dim)
	for i := range out {
		out[i] = float32(random.NormFloat64()) + shift
	}
	return out
}

// The statistic is that of a direct sum over all pairs of rows with the kernel of the random features, and close to that
// with the Gaussian kernel.
func TestMMDIsTheSumOverPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	random := seeded.Stream(1, "test", 0)
	const dim, n, k = 5, 700, 300
	base, now := gaussian(random, n, dim, 0), gaussian(random, k, dim, 0.4)
	m, err := NewMMD(base, dim, 7)
	if err != nil {
		t.Fatal(err)
	}
	s := m.NewSum()
	m.Add(s, now[:100*dim])
	m.Add(s, now[100*dim:])
	got := m.Test(s).MMD

	x, y := make([]float32, len(base)), make([]float32, len(now))
	m.standard(x, base)
	m.standard(y, now)
	row := func(rows []float32, i int) []float32 { return rows[i*dim : (i+1)*dim] }
	features := func(a, b []float32) (sum float64) {
		for f := range frequencies {
			angle := 0.0
			for c, w := range row(m.direction.Data, f) {
				angle += float64(w) * float64(a[c]-b[c])
			}
			sum += math.Cos(angle) / frequencies
		}
		return sum
	}
	gauss := func(a, b []float32) float64 {
		squares := 0.0
		for c := range a {
			squares += float64(a[c]-b[c]) * float64(a[c]-b[c])
		}
		return math.Exp(-squares / (2 * m.bandwidth * m.bandwidth))
	}
	direct := func(kernel func(a, b []float32) float64) float64 {
		mean := func(a, b []float32) (sum float64) {
			for i := range len(a) / dim {
				for j := range len(b) / dim {
					sum += kernel(row(a, i), row(b, j))
				}
			}
			return sum / float64(len(a)/dim) / float64(len(b)/dim)
		}
		return math.Sqrt(mean(x, x) + mean(y, y) - 2*mean(x, y))
	}
	// fewer rows for the sum over frequencies
	if want := direct(gauss); math.Abs(got-want) > 0.05 {
		t.Errorf("MMD %v, with the Gaussian kernel %v", got, want)
	}
	x, y = x[:200*dim], y[:100*dim]
	small, _ := NewMMD(base, dim, 7)
	small.mean = make([]float64, 2*frequencies)
	half := m.NewSum()
	m.Add(half, base[:200*dim])
	for i, v := range half.Sum {
		small.mean[i] = v / 200
	}
	s = m.NewSum()
	m.Add(s, now[:100*dim])
	if got, want := small.Test(s).MMD, direct(features); math.Abs(got-want) > 1e-5 {
		t.Errorf("MMD %v, by the sum over pairs %v", got, want)
	}
}

// MMD rejects equal distributions about as rarely as it promises, and finds a change in how features go together that
// leaves each of them as it was.
func TestMMDLevelAndPower(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	const dim = 4
	for _, c := range []struct{ base, now int }{{60, 50}, {1000, 60}} {
		const draws, alpha = 60, 0.05
		rejected := 0
		for d := range draws {
			random := seeded.Stream(uint64(d), "level", uint64(c.base))
			m, err := NewMMD(gaussian(random, c.base, dim, 0), dim, uint64(d))
			if err != nil {
				t.Fatal(err)
			}
			s := m.NewSum()
			m.Add(s, gaussian(random, c.now, dim, 0))
			if m.Test(s).P <= alpha {
				rejected++
			}
		}
		t.Logf("%d and %d rows: %.3f", c.base, c.now, float64(rejected)/draws)
		if rejected > mostFalse(draws, 1.2*alpha) {
			t.Errorf("%d and %d rows: %d of %d rejected", c.base, c.now, rejected, draws)
		}
	}
	random := seeded.Stream(1, "power", 0)
	m, _ := NewMMD(gaussian(random, 1000, dim, 0), dim, 1)
	now := gaussian(random, 1000, dim, 0)
	for i := 0; i < len(now); i += dim {
		now[i+1] = 0.8*now[i] + 0.6*now[i+1]
	}
	s := m.NewSum()
	m.Add(s, now)
	if r := m.Test(s); r.P > 1e-4 {
		t.Errorf("a correlation of 0.8 is not found: %+v", r)
	}
}

func TestCosSin(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for range 100_000 {
		angle := float32(random.NormFloat64() * math.Pow(10, 8*random.Float64()-3))
		sin, cos := math.Sincos(float64(angle))
		if c, s := cosSin(angle); math.Abs(float64(c)-cos) > 1e-7 || math.Abs(float64(s)-sin) > 1e-7 {
			t.Fatalf("%v: %v and %v, want %v and %v", angle, c, s, cos, sin)
		}
	}
}

func TestMMDOddRows(t *testing.T) {
	if _, err := NewMMD(make([]float32, 10), 1, 1); err == nil {
		t.Error("ten rows are accepted")
	}
	constant := make([]float32, 2*MMDLeast)
	m, err := NewMMD(constant, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := m.NewSum()
	m.Add(s, constant)
	if r := m.Test(s); r.P != 1 || !s.Fits() {
		t.Errorf("the same constant rows: %+v", r)
	}
	for _, v := range []float32{0.1, 1e-30, 12345.678, 3e38} {
		same, err := NewMMD(slices.Repeat([]float32{v, -v}, 77), 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		s := same.NewSum()
		same.Add(s, slices.Repeat([]float32{v, -v}, 1001))
		if r := same.Test(s); r.P != 1 {
			t.Errorf("more of the same row of %v: %+v", v, r)
		}
		rows := slices.Repeat([]float32{v, -v}, 77)
		copy(rows, []float32{-3e38, 1, 3e38, 1e-38})
		if same, err = NewMMD(rows, 2, 1); err != nil {
			t.Fatal(err)
		}
		s = same.NewSum()
		same.Add(s, rows)
		if r := same.Test(s); !(r.P > 0.5) || !s.Fits() {
			t.Errorf("the same rows, two of them far: %+v", r)
		}
	}
	far := slices.Repeat([]float32{math.MaxFloat32}, 2*MMDLeast)
	s = m.NewSum()
	m.Add(s, far)
	if r := m.Test(s); r.P > 1e-3 || !s.Fits() {
		t.Errorf("other constant rows: %+v", r)
	}
}
