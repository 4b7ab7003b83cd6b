package drift

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/stat/distuv"

	"pipe/internal/seeded"
)

// MMD compares whole feature vectors: the maximum mean discrepancy (Gretton and others 2012) of the Gaussian kernel, by
// random Fourier features (Rahimi and Recht 2007). A row becomes the cosines and sines of random directions; the statistic
// is the squared distance of the two means of these. It is a sum over rows, so time is linear and memory constant.
//
// Features are standardised by the baseline, and the width of the kernel is the median distance between baseline rows.
type MMD struct {
	dim       int
	scale     []float32 // 1 / standard deviation; 1 for a constant feature
	centre    []float32
	bandwidth float64
	direction blas32.General // frequencies x dim
	mean      []float64      // of the baseline, by random feature
	n         int
	traces    [3]float64 // of the first three powers of the covariance of the random features
}

// frequencies is the number of random directions; there are two random features for each.
const frequencies = 128

// MMDLeast is the fewest rows of either side for which [MMD.Test] is used: its P is a limit for many rows.
const MMDLeast = 50

// NewMMD takes the rows of a baseline sample, n x dim finite values, and a seed for the random directions. Fewer than
// MMDLeast rows are an error.
func NewMMD(rows []float32, dim int, seed uint64) (*MMD, error) {
	if dim < 1 || len(rows)%dim != 0 || len(rows)/dim < MMDLeast {
		return nil, fmt.Errorf("mmd: %d values are not at least %d rows of %d", len(rows), MMDLeast, dim)
	}
	m := &MMD{dim: dim, n: len(rows) / dim}
	m.standardise(rows)
	m.bandwidth = m.medianDistance(rows, seed)
	m.direction = blas32.General{Rows: frequencies, Cols: dim, Stride: dim, Data: make([]float32, frequencies*dim)}
	random := seeded.Stream(seed, "mmd directions", 0)
	for i := range m.direction.Data {
		m.direction.Data[i] = float32(random.NormFloat64() / m.bandwidth)
	}
	m.baseline(rows)
	return m, nil
}

// Bandwidth is the width of the kernel, in standard deviations of the features.
func (m *MMD) Bandwidth() float64 { return m.bandwidth }

// standardise finds the mean and the standard deviation of every feature.
func (m *MMD) standardise(rows []float32) {
	m.centre, m.scale = make([]float32, m.dim), make([]float32, m.dim)
	for c := range m.dim {
		sum, squares := 0.0, 0.0
		for i := c; i < len(rows); i += m.dim {
			sum += float64(rows[i])
		}
		mean := sum / float64(m.n)
		for i := c; i < len(rows); i += m.dim {
			squares += (float64(rows[i]) - mean) * (float64(rows[i]) - mean)
		}
		m.centre[c], m.scale[c] = float32(mean), 1
		if s := 1 / math.Sqrt(squares/float64(m.n)); s < math.MaxFloat32 {
			m.scale[c] = float32(s)
		}
	}
}

// standard writes standardised rows to dst. Values far out are cut, so that they stay finite.
func (m *MMD) standard(dst, rows []float32) {
	const far = 1e4
	for i, v := range rows {
		c := i % m.dim
		dst[i] = min(far, max(-far, (v-m.centre[c])*m.scale[c]))
	}
}

// medianDistance is the median distance of 5,000 random pairs of standardised rows; the smallest positive one above it if it
// is 0, and 1 if there is none. It is at least a millionth, so that angles stay small enough to compute with.
func (m *MMD) medianDistance(rows []float32, seed uint64) float64 {
	const pairs = 5000
	random := seeded.Stream(seed, "mmd pairs", 0)
	a, b := make([]float32, m.dim), make([]float32, m.dim)
	distances := make([]float64, 0, pairs)
	for range pairs {
		i := random.IntN(m.n)
		j := (i + 1 + random.IntN(m.n-1)) % m.n
		m.standard(a, rows[i*m.dim:(i+1)*m.dim])
		m.standard(b, rows[j*m.dim:(j+1)*m.dim])
		squares := 0.0
		for c := range a {
			squares += float64(a[c]-b[c]) * float64(a[c]-b[c])
		}
		distances = append(distances, math.Sqrt(squares))
	}
	slices.Sort(distances)
	for _, d := range distances[pairs/2:] {
		if d > 0 {
			return max(d, 1e-6)
		}
	}
	return 1
}

// MMDSum is the sum of the random features of rows.
type MMDSum struct {
	N   int64     `json:"n"`
	Sum []float64 `json:"sum"`
}

// NewSum has added nothing yet.
func (m *MMD) NewSum() *MMDSum { return &MMDSum{Sum: make([]float64, 2*frequencies)} }

// Fits reports whether the sum can be one of random features.
func (s *MMDSum) Fits() bool {
	most := float64(s.N)
	return s.N >= 0 && len(s.Sum) == 2*frequencies && !slices.ContainsFunc(s.Sum, func(v float64) bool { return !(math.Abs(v) <= most*(1+1e-9)) })
}

// mmdBlock is how many rows are turned into random features at once.
const mmdBlock = 256

// Add adds rows, n x dim finite values. It may be called concurrently with different sums.
func (m *MMD) Add(s *MMDSum, rows []float32) {
	m.each(rows, func(_ int, features []float32) {
		for i, v := range features {
			s.Sum[i] += float64(v)
		}
		s.N++
	})
}

// each calls do with the random features of every row: cosines, then sines. They are valid until the next call.
func (m *MMD) each(rows []float32, do func(row int, features []float32)) {
	standard := make([]float32, mmdBlock*m.dim)
	angles := make([]float32, mmdBlock*frequencies)
	features := make([]float32, 2*frequencies)
	row := 0
	for part := range slices.Chunk(rows, mmdBlock*m.dim) {
		n := len(part) / m.dim
		m.standard(standard, part)
		blas32.Gemm(blas.NoTrans, blas.Trans, 1, blas32.General{Rows: n, Cols: m.dim, Stride: m.dim, Data: standard}, m.direction,
			0, blas32.General{Rows: n, Cols: frequencies, Stride: frequencies, Data: angles})
		for i := range n {
			for k, angle := range angles[i*frequencies : (i+1)*frequencies] {
				features[k], features[frequencies+k] = cosSin(angle)
			}
			do(row, features)
			row++
		}
	}
}

// cosSin is the cosine and the sine of an angle, with an error of at most a ten-millionth below a billion: faster than
// math.Sincos, which takes most of the time otherwise. Near a multiple k of a quarter turn both are short Taylor series.
func cosSin(angle float32) (cos, sin float32) {
	x := float64(angle)
	k := math.RoundToEven(x * (2 / math.Pi))
	x -= k * (math.Pi / 2)
	s := x * x
	c := float32(1 - s/2*(1-s/12*(1-s/30*(1-s/56*(1-s/90)))))
	d := float32(x * (1 - s/6*(1-s/20*(1-s/42*(1-s/72)))))
	switch int64(k) & 3 {
	case 0:
		return c, d
	case 1:
		return -d, c
	case 2:
		return -c, -d
	}
	return d, -c
}

// baseline keeps the mean of the baseline's random features, and the traces of their covariance.
func (m *MMD) baseline(rows []float32) {
	const width = 2 * frequencies
	s := m.NewSum()
	m.Add(s, rows)
	m.mean = make([]float64, width)
	for i, v := range s.Sum {
		m.mean[i] = v / float64(s.N)
	}
	cov := blas64.Symmetric{N: width, Stride: width, Data: make([]float64, width*width), Uplo: blas.Upper}
	block := blas64.General{Rows: mmdBlock, Cols: width, Stride: width, Data: make([]float64, mmdBlock*width)}
	flush := func(n int) {
		block.Rows = n
		blas64.Syrk(blas.Trans, 1/float64(frequencies*(m.n-1)), block, 1, cov)
	}
	m.each(rows, func(row int, features []float32) {
		at := row % mmdBlock
		for i, v := range features {
			block.Data[at*width+i] = float64(v) - m.mean[i]
		}
		if at == mmdBlock-1 {
			flush(mmdBlock)
		}
	})
	if left := m.n % mmdBlock; left > 0 {
		flush(left)
	}
	m.traces = tracesOf(cov, float64(m.n))
}

// tracesOf are the traces of the first three powers of a covariance that was estimated from n rows. Those of the second
// and third are freed of the part that the error of the estimate adds.
func tracesOf(cov blas64.Symmetric, n float64) [3]float64 {
	w := cov.N
	full := blas64.General{Rows: w, Cols: w, Stride: w, Data: cov.Data}
	for i := range w {
		for j := range i {
			full.Data[i*w+j] = full.Data[j*w+i]
		}
	}
	square := blas64.General{Rows: w, Cols: w, Stride: w, Data: make([]float64, w*w)}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, full, full, 0, square)
	one, three := 0.0, 0.0
	for i := range w {
		one += full.Data[i*w+i]
		for j := range w {
			three += square.Data[i*w+j] * full.Data[i*w+j]
		}
	}
	two := 0.0
	for i := range w {
		two += square.Data[i*w+i]
	}
	f := n - 1
	free2 := f * f / ((f - 1) * (f + 2)) * (two - one*one/f)
	free3 := three - 3*one*two/f + 2*one*one*one/(f*f) // to first order
	return [3]float64{one, max(free2, one*one/float64(w)), max(free3, 0)}
}

// MMDResult is the outcome of the test.
type MMDResult struct {
	MMD float64 // the distance of the two means, from 0 to the square root of 2
	P   float64
}

// Test compares added rows with the baseline. While both come from the same distribution, the squared distance times
// n*m/(n+m) tends to a weighted sum of chi-square variables, whose weights are the eigenvalues of the covariance of the
// random features. P is the tail of the scaled chi-square with the same first three cumulants (Buckley and Eagleson 1988).
// If either side has fewer than MMDLeast rows, P is 1.
func (m *MMD) Test(s *MMDSum) MMDResult {
	if s.N == 0 {
		return MMDResult{P: 1}
	}
	squares := 0.0
	for i, v := range s.Sum {
		d := v/float64(s.N) - m.mean[i]
		squares += d * d
	}
	squares /= frequencies
	r := MMDResult{MMD: math.Sqrt(squares), P: 1}
	if s.N >= MMDLeast {
		n, k := float64(m.n), float64(s.N)
		r.P = weightedChiSquare(squares*n*k/(n+k), m.traces)
	}
	return r
}

// weightedChiSquare is about the probability that a sum of squared normal variables exceeds x, given the sums of the first
// three powers of their variances.
func weightedChiSquare(x float64, traces [3]float64) float64 {
	mean, variance, third := traces[0], 2*traces[1], 8*traces[2]
	if variance <= 1e-18 { // all rows of the baseline are equal, but for rounding
		if x > mean+1e-6 {
			return 0
		}
		return 1
	}
	at := (x - mean) / math.Sqrt(variance)
	if third <= 1e-9*math.Pow(variance, 1.5) {
		return distuv.UnitNormal.Survival(at)
	}
	freedom := 8 * variance * variance * variance / (third * third)
	at = freedom + math.Sqrt(2*freedom)*at
	if at <= 0 {
		return 1
	}
	return distuv.ChiSquared{K: freedom}.Survival(at)
}
