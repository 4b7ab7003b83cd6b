package models

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/stat/distuv"
)

// MeanStd returns the mean and the population standard deviation (divisor n)
// of values, which is the convention of every table in this project: a seed
// is a fixed condition of the experiment, not a draw whose spread is inferred.
// Both are NaN for an empty slice.
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

// BootstrapSettings governs PairedIntervals.
type BootstrapSettings struct {
	Resamples int     // bootstrap samples, at least 2
	Level     float64 // two-sided coverage in (0, 1)
	Seed      uint64  // the same seed gives the same intervals
}

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

// PairedIntervals returns, for every series of paired differences, the
// percentile bootstrap interval of its mean. Each series holds one difference
// per row (cost of a method minus cost of its reference on that row; average
// over seeds first, because rows are what is resampled), and all have the same
// length. The series share their resamples, so comparing many methods costs
// little more than comparing one: resamples become rows of a count matrix that
// is multiplied with all series at once.
func PairedIntervals(s BootstrapSettings, series ...[]float64) ([]Interval, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	if len(series) == 0 {
		return nil, nil
	}
	n := len(series[0])
	if n == 0 {
		return nil, fmt.Errorf("bootstrap: no rows")
	}
	for c, d := range series {
		if len(d) != n {
			return nil, fmt.Errorf("bootstrap: series %d has %d rows, series 0 has %d", c, len(d), n)
		}
	}
	out := make([]Interval, len(series))
	centred := centreSeries(series, out)
	means := resampleMeans(s, centred)
	tail := (1 - s.Level) / 2
	for c := range series {
		m := means[c]
		sort.Float64s(m)
		out[c].Low = out[c].Mean + sortedQuantile(m, tail)
		out[c].High = out[c].Mean + sortedQuantile(m, 1-tail)
	}
	return out, nil
}

// centreSeries stores each mean in out and returns the deviations, n x len(series):
// float32 products of deviations lose nothing that an interval could show.
func centreSeries(series [][]float64, out []Interval) blas32.General {
	n, cols := len(series[0]), len(series)
	m := blas32.General{Rows: n, Cols: cols, Stride: cols, Data: make([]float32, n*cols)}
	for c, d := range series {
		out[c].Mean, _ = MeanStd(d)
		for r, v := range d {
			m.Data[r*cols+c] = float32(v - out[c].Mean)
		}
	}
	return m
}

// resampleMeans returns the mean deviation of every resample, indexed [series][resample].
func resampleMeans(s BootstrapSettings, centred blas32.General) [][]float64 {
	const block = 32
	n, cols := centred.Rows, centred.Cols
	rng := rand.New(rand.NewPCG(s.Seed, 0x626f6f7473747261))
	counts := blas32.General{Rows: block, Cols: n, Stride: n, Data: make([]float32, block*n)}
	sums := blas32.General{Rows: block, Cols: cols, Stride: cols, Data: make([]float32, block*cols)}
	means := make([][]float64, cols)
	for start := 0; start < s.Resamples; start += block {
		rows := min(block, s.Resamples-start)
		clear(counts.Data)
		for r := range rows {
			row := counts.Data[r*n : (r+1)*n]
			for range n {
				row[rng.Uint64N(uint64(n))]++
			}
		}
		blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, counts, centred, 0, sums)
		for r := range rows {
			for c := range cols {
				means[c] = append(means[c], float64(sums.Data[r*cols+c])/float64(n))
			}
		}
	}
	return means
}

// sortedQuantile interpolates linearly between the order statistics.
func sortedQuantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	lo := int(math.Floor(at))
	hi := min(lo+1, len(sorted)-1)
	return sorted[lo] + (at-float64(lo))*(sorted[hi]-sorted[lo])
}

// GainLowerBound returns the mean of gains and its one-sided lower confidence
// bound, mean - t * standard error, with t the Student quantile at confidence
// (0.95 for the guard). gains holds, per row, the cost of the reference minus
// the cost of the candidate: positive means that the candidate is cheaper.
//
// The t bound is used rather than a bootstrap because it is free of draws, so
// that whether a policy is replaced by a constant never depends on a seed; the
// gains are bounded paired differences, for which it is accurate at the row
// counts where a guard matters.
//
// clusters, if not nil, names the cluster of each row (the rows of one user,
// one question): the standard error then treats clusters, not rows, as
// independent. With fewer than two rows or clusters the bound is -Inf: no
// evidence is not evidence of a gain.
func GainLowerBound(gains []float64, clusters []int, confidence float64) (mean, bound float64, err error) {
	if !(confidence > 0 && confidence < 1) {
		return 0, 0, fmt.Errorf("gain bound: confidence %v is outside (0, 1)", confidence)
	}
	if clusters != nil && len(clusters) != len(gains) {
		return 0, 0, fmt.Errorf("gain bound: %d cluster ids for %d rows", len(clusters), len(gains))
	}
	if len(gains) == 0 {
		return 0, math.Inf(-1), nil
	}
	mean, _ = MeanStd(gains)
	groups, squares := clusterSquares(gains, clusters, mean)
	if groups < 2 {
		return mean, math.Inf(-1), nil
	}
	g := float64(groups)
	se := math.Sqrt(squares*g/(g-1)) / float64(len(gains))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: g - 1}.Quantile(confidence)
	return mean, mean - t*se, nil
}

// clusterSquares returns the number of clusters and the sum over clusters of
// the squared sum of deviations; every row is its own cluster when ids is nil.
func clusterSquares(values []float64, ids []int, mean float64) (groups int, squares float64) {
	if ids == nil {
		for _, v := range values {
			squares += (v - mean) * (v - mean)
		}
		return len(values), squares
	}
	sums := make(map[int]float64)
	order := make([]int, 0) // summed in order of appearance: map order would change the last bits
	for i, v := range values {
		if _, seen := sums[ids[i]]; !seen {
			order = append(order, ids[i])
		}
		sums[ids[i]] += v - mean
	}
	for _, id := range order {
		squares += sums[id] * sums[id]
	}
	return len(order), squares
}
