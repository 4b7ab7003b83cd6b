package models

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/stat/distuv"
)

// MeanStd returns the mean and the population standard deviation (divisor n) of values. All tables of this project use
// that divisor, because the seeds are fixed conditions of an experiment, not a sample. Both are NaN for an empty slice.
func MeanStd(values []float64) (mean, std float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v
	}
	mean /= n
	for _, v := range values {
		std += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(std / n)
}

// Interval is a mean with its two-sided interval, in the unit of the values.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// BootstrapSettings are the settings of [PairedIntervals].
type BootstrapSettings struct {
	Resamples int     // bootstrap samples, at least 2
	Level     float64 // two-sided coverage in (0, 1)
	Seed      uint64  // the same seed gives the same intervals
	Clusters  []int   // per row, the cluster that it is resampled with; nil: every row is its own cluster
}

// ErrOneDraw means that there is no interval because there are fewer than two rows or clusters. The variation between
// samples cannot be estimated from one.
var ErrOneDraw = errors.New("all rows are one draw")

// DefaultBootstrap is 2,000 resamples at 95%.
func DefaultBootstrap(seed uint64) BootstrapSettings {
	return BootstrapSettings{Resamples: 2000, Level: 0.95, Seed: seed}
}

func (s BootstrapSettings) validate() error {
	if s.Resamples < 2 {
		return fmt.Errorf("bootstrap: %d resamples, need at least 2", s.Resamples)
	}
	if !(s.Level > 0 && s.Level < 1) {
		return fmt.Errorf("bootstrap: level %v is outside (0, 1)", s.Level)
	}
	return nil
}

// PairedIntervals returns the percentile bootstrap interval of the mean of every series. A series has one difference
// per row: the cost of a method on that row minus the cost of its reference, averaged over seeds. All series have the
// same length. All series share the resamples, so further series cost little.
//
// If there are clusters, clusters are resampled instead of rows. A resample has the original number of clusters, and
// its mean is over their rows. Percentile intervals from few clusters are too narrow. The interval is therefore widened
// by the ratio of the quantiles of Student's t and the normal distribution (see studentOf).
//
// The error names invalid settings or lengths. It wraps [ErrOneDraw] if there are fewer than two rows or clusters.
func PairedIntervals(s BootstrapSettings, series ...[]float64) ([]Interval, error) {
	if len(series) == 0 {
		return nil, s.validate()
	}
	b, err := resample(s, series)
	if err != nil {
		return nil, err
	}
	out := make([]Interval, len(series))
	for c := range series {
		out[c] = b.interval(b.means[c], b.moved[c])
	}
	return out, nil
}

// PairedRatios returns the interval of the mean of every series over that of its base, in the resamples of
// [PairedIntervals] and widened as there. It is nil where the mean of the base is not above 0, in all rows or in a
// resample: a share of it has no meaning then. Both lists have one length, as do all series; errors are those of
// PairedIntervals.
func PairedRatios(s BootstrapSettings, series, bases [][]float64) ([]*Interval, error) {
	if len(series) != len(bases) {
		return nil, fmt.Errorf("bootstrap: %d series and %d bases", len(series), len(bases))
	}
	if len(series) == 0 {
		return nil, s.validate()
	}
	b, err := resample(s, slices.Concat(series, bases))
	if err != nil {
		return nil, err
	}
	out := make([]*Interval, len(series))
	for c := range series {
		out[c] = b.ratio(c, c+len(series))
	}
	return out, nil
}

// bootstrap has the means of series, and by how much they move in every resample.
type bootstrap struct {
	means       []float64
	moved       [][]float64 // [series][resample]
	tail, wider float64     // the probability on either side, and the factor on deviations
}

func resample(s BootstrapSettings, series [][]float64) (b bootstrap, err error) {
	if err := s.validate(); err != nil {
		return b, err
	}
	n := len(series[0])
	if n == 0 {
		return b, fmt.Errorf("bootstrap: no rows")
	}
	for c, d := range series {
		if len(d) != n {
			return b, fmt.Errorf("bootstrap: series %d has %d rows, series 0 has %d", c, len(d), n)
		}
	}
	if s.Clusters != nil && len(s.Clusters) != n {
		return b, fmt.Errorf("bootstrap: %d cluster ids for %d rows", len(s.Clusters), n)
	}
	b = bootstrap{means: make([]float64, len(series)), tail: (1 - s.Level) / 2, wider: 1}
	centred := centreSeries(series, b.means)
	var sizes []float64
	if s.Clusters != nil {
		centred, sizes = sumClusters(centred, s.Clusters)
		g := float64(len(sizes))
		b.wider = studentOf(sizes).Quantile(1-b.tail) / distuv.UnitNormal.Quantile(1-b.tail) * math.Sqrt(g/(g-1))
	}
	if centred.Rows < 2 {
		return b, fmt.Errorf("bootstrap: %w", ErrOneDraw)
	}
	b.moved = resampleMeans(s, centred, sizes)
	return b, nil
}

// interval is that of a statistic which moves by so much in the resamples. It sorts moved.
func (b *bootstrap) interval(mean float64, moved []float64) Interval {
	sort.Float64s(moved)
	return Interval{Mean: mean, Low: mean + b.wider*sortedQuantile(moved, b.tail), High: mean + b.wider*sortedQuantile(moved, 1-b.tail)}
}

// ratio is the interval of the mean of one series over that of another.
func (b *bootstrap) ratio(series, base int) *Interval {
	if !(b.means[base] > 0) {
		return nil
	}
	ratio := b.means[series] / b.means[base]
	moved := make([]float64, len(b.moved[series]))
	for r := range moved {
		below := b.means[base] + b.moved[base][r]
		if !(below > 0) {
			return nil
		}
		moved[r] = (b.means[series]+b.moved[series][r])/below - ratio
	}
	v := b.interval(ratio, moved)
	return &v
}

// StudentInterval returns the mean of values with its two-sided interval by Student's t and the jackknife over clusters, as
// [GainLowerBound] has them: no draws are needed, so it serves high levels, as where many intervals are to hold together.
// The variance of a value is taken as at least least, because few values can be equal by chance; rows of one cluster then
// count as equal. An interval of fewer than two clusters is an error that wraps [ErrOneDraw].
func StudentInterval(values []float64, clusters []int, level, least float64) (Interval, error) {
	switch {
	case !(level > 0 && level < 1):
		return Interval{}, fmt.Errorf("interval: level %v is outside (0, 1)", level)
	case clusters != nil && len(clusters) != len(values):
		return Interval{}, fmt.Errorf("interval: %d cluster ids for %d rows", len(clusters), len(values))
	}
	mean, _ := MeanStd(values)
	sums, sizes := clusterSums(values, nil, clusters, mean)
	if len(sums) < 2 {
		return Interval{}, fmt.Errorf("interval: %w", ErrOneDraw)
	}
	spread := studentOf(sizes)
	effective := 0.0 // the sum of squared shares of clusters
	for _, n := range sizes {
		effective += n * n / float64(len(values)*len(values))
	}
	se := max(jackknifeError(sums, sizes), math.Sqrt(least*effective))
	half := se * spread.Quantile(1-(1-level)/2)
	return Interval{Mean: mean, Low: mean - half, High: mean + half}, nil
}

// sumClusters sums the rows of every cluster, in the order in which clusters first appear, and counts them.
func sumClusters(rows blas32.General, clusters []int) (sums blas32.General, sizes []float64) {
	at := map[int]int{}
	for _, id := range clusters {
		if _, seen := at[id]; !seen {
			at[id] = len(at)
		}
	}
	cols := rows.Cols
	sums = blas32.General{Rows: len(at), Cols: cols, Stride: cols, Data: make([]float32, len(at)*cols)}
	sizes = make([]float64, len(at))
	for r, id := range clusters {
		g := at[id]
		sizes[g]++
		for c, v := range rows.Data[r*cols : (r+1)*cols] {
			sums.Data[g*cols+c] += v
		}
	}
	return sums, sizes
}

// studentOf is the distribution of a mean over clusters of the given sizes, in
// units of its standard error: Student's t. Its degrees of freedom are the
// effective number of clusters, (sum of sizes)^2 / sum of squared sizes, minus 1,
// and at least 1.
func studentOf(sizes []float64) distuv.StudentsT {
	rows, squares := 0.0, 0.0
	for _, n := range sizes {
		rows += n
		squares += n * n
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: max(1, rows*rows/squares-1)}
}

// centreSeries stores the mean of each series in means and returns the deviations, n x len(series). float32 is accurate
// enough for deviations.
func centreSeries(series [][]float64, means []float64) blas32.General {
	n, cols := len(series[0]), len(series)
	m := blas32.General{Rows: n, Cols: cols, Stride: cols, Data: make([]float32, n*cols)}
	for c, d := range series {
		means[c], _ = MeanStd(d)
		for r, v := range d {
			m.Data[r*cols+c] = float32(v - means[c])
		}
	}
	return m
}

// resampleMeans returns the mean deviation of every resample, indexed [series][resample]. sizes are the numbers of rows
// behind each row of centred; nil means one each.
func resampleMeans(s BootstrapSettings, centred blas32.General, sizes []float64) [][]float64 {
	const block = 32
	n, cols := centred.Rows, centred.Cols
	rng := rand.New(rand.NewPCG(s.Seed, 0x626f6f7473747261))
	counts := blas32.General{Rows: block, Cols: n, Stride: n, Data: make([]float32, block*n)}
	sums := blas32.General{Rows: block, Cols: cols, Stride: cols, Data: make([]float32, block*cols)}
	means := make([][]float64, cols)
	drawn := make([]float64, block) // rows of each resample
	for start := 0; start < s.Resamples; start += block {
		rows := min(block, s.Resamples-start)
		clear(counts.Data)
		for r := range rows {
			row := counts.Data[r*n : (r+1)*n]
			drawn[r] = 0
			for range n {
				g := rng.Uint64N(uint64(n))
				row[g]++
				drawn[r] += sizeOf(sizes, g)
			}
		}
		blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, counts, centred, 0, sums)
		for r := range rows {
			for c := range cols {
				means[c] = append(means[c], float64(sums.Data[r*cols+c])/drawn[r])
			}
		}
	}
	return means
}

func sizeOf(sizes []float64, g uint64) float64 {
	if sizes == nil {
		return 1
	}
	return sizes[g]
}

// sortedQuantile interpolates linearly between the order statistics.
func sortedQuantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	lo := int(math.Floor(at))
	hi := min(lo+1, len(sorted)-1)
	return sorted[lo] + (at-float64(lo))*(sorted[hi]-sorted[lo])
}

// GainLowerBound returns the mean of gains and its one-sided lower confidence bound, mean - t * standard error, with t
// the Student quantile at confidence (0.95 for the guard). gains holds, per row, the cost of the reference minus the
// cost of the candidate: positive means that the candidate is cheaper.
//
// Unlike a bootstrap, the bound uses no random draws, so no seed decides whether a policy is replaced by a constant.
// Gains are bounded paired differences, for which the t bound is accurate at the numbers of rows where a guard matters.
//
// clusters, if not nil, has the cluster of each row, such as its user or question. Clusters are then independent, and
// rows are not. The standard error is the leave-one-cluster-out jackknife estimate, and the quantile is that of
// studentOf. If all clusters have the same size, both are the usual ones. A cluster with most of the rows makes the
// bound low. With fewer than two rows or clusters the bound is -Inf. A gain that is not finite is an error.
func GainLowerBound(gains []float64, clusters []int, confidence float64) (mean, bound float64, err error) {
	return WeightedGainLowerBound(gains, nil, clusters, confidence)
}

// WeightedGainLowerBound is [GainLowerBound] of a weighted mean: weights are one per row, positive; nil is 1 each. A
// cluster is then as large as the sum of its weights. Equal weights of any size give the same bound.
func WeightedGainLowerBound(gains, weights []float64, clusters []int, confidence float64) (mean, bound float64, err error) {
	if weights != nil && len(weights) != len(gains) {
		return 0, 0, fmt.Errorf("gain bound: %d weights for %d rows", len(weights), len(gains))
	}
	if !(confidence > 0 && confidence < 1) {
		return 0, 0, fmt.Errorf("gain bound: confidence %v is outside (0, 1)", confidence)
	}
	if clusters != nil && len(clusters) != len(gains) {
		return 0, 0, fmt.Errorf("gain bound: %d cluster ids for %d rows", len(clusters), len(gains))
	}
	if i := slices.IndexFunc(gains, func(g float64) bool { return math.IsNaN(g) || math.IsInf(g, 0) }); i >= 0 {
		return 0, 0, fmt.Errorf("gain bound: the gain of row %d is %v", i, gains[i])
	}
	if len(gains) == 0 {
		return 0, math.Inf(-1), nil
	}
	mean = WeightedMean(gains, weights)
	sums, sizes := clusterSums(gains, weights, clusters, mean)
	if len(sums) < 2 {
		return mean, math.Inf(-1), nil
	}
	return mean, mean - studentOf(sizes).Quantile(confidence)*jackknifeError(sums, sizes), nil
}

// WeightedMean is the mean of values with weights, one each; nil is 1 each. It is NaN for no values.
func WeightedMean(values, weights []float64) float64 {
	if weights == nil {
		mean, _ := MeanStd(values)
		return mean
	}
	sum, total := 0.0, 0.0
	for i, v := range values {
		sum += weights[i] * v
		total += weights[i]
	}
	return sum / total
}

// clusterSums returns the weighted sum of deviations and the sum of weights of every cluster; if ids is nil, every row is
// its own cluster.
func clusterSums(values, weights []float64, ids []int, mean float64) (sums, sizes []float64) {
	at := make(map[int]int)
	for i, v := range values {
		g, w, seen := len(sums), 1.0, false
		if ids != nil {
			if g, seen = at[ids[i]]; !seen {
				g = len(sums)
				at[ids[i]] = g
			}
		}
		if !seen {
			sums, sizes = append(sums, 0), append(sizes, 0)
		}
		if weights != nil {
			w = weights[i]
		}
		sums[g] += w * (v - mean)
		sizes[g] += w
	}
	return sums, sizes
}

// jackknifeError is the standard error of a mean over clusters with the given
// sums of deviations from it: without a cluster of size n the mean of the size
// N moves by sum/(N-n).
func jackknifeError(sums, sizes []float64) float64 {
	rows, squares := 0.0, 0.0
	for _, n := range sizes {
		rows += n
	}
	for g, sum := range sums {
		moved := sum / (rows - sizes[g])
		squares += moved * moved
	}
	g := float64(len(sums))
	return math.Sqrt(squares * (g - 1) / g)
}
