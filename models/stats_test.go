package models

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func normals(seed uint64, n int, mean, std float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	v := make([]float64, n)
	for i := range v {
		v[i] = mean + std*rng.NormFloat64()
	}
	return v
}

func TestMeanStdIsPopulation(t *testing.T) {
	mean, std := MeanStd([]float64{1, 3})
	if mean != 2 || std != 1 {
		t.Fatalf("mean %v, std %v; want 2 and 1", mean, std)
	}
	if mean, std := MeanStd(nil); !math.IsNaN(mean) || !math.IsNaN(std) {
		t.Fatalf("of nothing: %v, %v", mean, std)
	}
}

func TestPairedIntervalsAgreeWithNormalTheory(t *testing.T) {
	const n = 4000
	d, e := normals(1, n, 0.3, 1), normals(2, n, -2, 0.1)
	got, err := PairedIntervals(DefaultBootstrap(7), d, e)
	if err != nil {
		t.Fatal(err)
	}
	for c, series := range [][]float64{d, e} {
		mean, std := MeanStd(series)
		half := 1.96 * std / math.Sqrt(n)
		if math.Abs(got[c].Mean-mean) > 1e-12 {
			t.Errorf("series %d: mean %v, want %v", c, got[c].Mean, mean)
		}
		if math.Abs(got[c].Low-(mean-half)) > half/10 || math.Abs(got[c].High-(mean+half)) > half/10 {
			t.Errorf("series %d: [%v, %v], normal theory %v +- %v", c, got[c].Low, got[c].High, mean, half)
		}
	}
}

func TestPairedIntervalsAreSeededAndIndependentOfCompany(t *testing.T) {
	d, e := normals(1, 100, 0, 1), normals(2, 100, 0, 1)
	alone, err := PairedIntervals(DefaultBootstrap(3), d)
	if err != nil {
		t.Fatal(err)
	}
	both, err := PairedIntervals(DefaultBootstrap(3), e, d)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(alone[0].Low-both[1].Low) > 1e-6 || math.Abs(alone[0].High-both[1].High) > 1e-6 {
		t.Errorf("alone %+v, beside another series %+v", alone[0], both[1])
	}
	other, err := PairedIntervals(DefaultBootstrap(4), d)
	if err != nil {
		t.Fatal(err)
	}
	if other[0] == alone[0] {
		t.Error("another seed gives the same interval")
	}
}

func TestPairedIntervalOfAConstantIsAPoint(t *testing.T) {
	got, err := PairedIntervals(DefaultBootstrap(1), []float64{0.25, 0.25, 0.25})
	if err != nil {
		t.Fatal(err)
	}
	if got[0] != (Interval{0.25, 0.25, 0.25}) {
		t.Fatalf("interval %+v", got[0])
	}
}

func TestPairedIntervalsRefuse(t *testing.T) {
	ok := DefaultBootstrap(1)
	for name, call := range map[string]func() ([]Interval, error){
		"no rows": func() ([]Interval, error) { return PairedIntervals(ok, nil) },
		"ragged":  func() ([]Interval, error) { return PairedIntervals(ok, []float64{1}, []float64{1, 2}) },
		"one resample": func() ([]Interval, error) {
			return PairedIntervals(BootstrapSettings{Resamples: 1, Level: 0.9}, []float64{1})
		},
		"certain level": func() ([]Interval, error) {
			return PairedIntervals(BootstrapSettings{Resamples: 9, Level: 1}, []float64{1})
		},
	} {
		if _, err := call(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestGainLowerBound(t *testing.T) {
	// Four gains 0, 0, 1, 1: mean 0.5, s = 0.57735, t(0.95, 3) = 2.35336.
	mean, bound, err := GainLowerBound([]float64{0, 0, 1, 1}, nil, 0.95)
	if err != nil || mean != 0.5 || math.Abs(bound-(0.5-2.353363*0.5773503/2)) > 1e-5 {
		t.Fatalf("mean %v, bound %v, %v", mean, bound, err)
	}
	// Each row as a separate cluster gives the same bound; duplicating rows in pairs adds no evidence.
	_, single, _ := GainLowerBound([]float64{0, 0, 1, 1}, []int{3, 1, 9, 4}, 0.95)
	if math.Abs(single-bound) > 1e-12 {
		t.Errorf("clusters of one: %v, want %v", single, bound)
	}
	_, doubled, _ := GainLowerBound([]float64{0, 0, 0, 0, 1, 1, 1, 1}, []int{0, 0, 1, 1, 2, 2, 3, 3}, 0.95)
	if math.Abs(doubled-bound) > 1e-12 {
		t.Errorf("rows doubled within clusters: %v, want %v", doubled, bound)
	}
	for _, gains := range [][]float64{nil, {1}} {
		if _, b, err := GainLowerBound(gains, nil, 0.95); err != nil || !math.IsInf(b, -1) {
			t.Errorf("bound of %v is %v, %v; want -Inf", gains, b, err)
		}
	}
	if _, _, err := GainLowerBound([]float64{1, 2}, []int{1}, 0.95); err == nil {
		t.Error("too few cluster ids: no error")
	}
	if _, _, err := GainLowerBound([]float64{1, 2}, nil, 1); err == nil {
		t.Error("confidence 1: no error")
	}
	for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if mean, b, err := GainLowerBound([]float64{1, odd, 2}, nil, 0.95); err == nil {
			t.Errorf("gain %v: mean %v, bound %v, no error", odd, mean, b)
		}
	}
}

// A one-sided 95% bound on a gain of zero is positive in about 5% of samples.
func TestGainLowerBoundCovers(t *testing.T) {
	const trials = 2000
	positive := 0
	for seed := range uint64(trials) {
		if _, b, _ := GainLowerBound(normals(seed, 60, 0, 1), nil, 0.95); b > 0 {
			positive++
		}
	}
	if share := float64(positive) / trials; share < 0.035 || share > 0.065 {
		t.Errorf("false alarms in %.3f of the samples, want about 0.05", share)
	}
}

// clustered draws rows in clusters: the component that the rows of a cluster share has twice the spread of the
// individual one.
func clustered(seed uint64, sizes []int) (values []float64, ids []int) {
	rng := rand.New(rand.NewPCG(seed, 2))
	for id, n := range sizes {
		shared := rng.NormFloat64()
		for range n {
			values, ids = append(values, shared+rng.NormFloat64()/2), append(ids, id)
		}
	}
	return values, ids
}

// clusterShapes are sizes of clusters: equal, uneven, few, and one cluster with a third of the rows.
func clusterShapes() map[string][]int {
	shapes := map[string][]int{"few": {4, 6, 8, 5, 9, 4, 7, 6}}
	for i := range 40 {
		shapes["equal"] = append(shapes["equal"], 6)
		shapes["uneven"] = append(shapes["uneven"], 1+i%3*i%17)
		shapes["giant"] = append(shapes["giant"], 4)
	}
	shapes["giant"] = append(shapes["giant"], 80)
	return shapes
}

// TestIntervalsCoverWhereRowsCluster: over many draws the interval over clusters has about its nominal coverage, and
// the interval over rows far less.
func TestIntervalsCoverWhereRowsCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("2,400 intervals")
	}
	const draws = 300
	for name, sizes := range clusterShapes() {
		covered, byRow := 0, 0
		for seed := range uint64(draws) {
			values, ids := clustered(seed, sizes)
			s := BootstrapSettings{Resamples: 200, Level: 0.95, Seed: seed}
			rows, err := PairedIntervals(s, values)
			if err != nil {
				t.Fatal(err)
			}
			s.Clusters = ids
			whole, err := PairedIntervals(s, values)
			if err != nil {
				t.Fatal(err)
			}
			if whole[0].Mean != rows[0].Mean {
				t.Fatalf("means %v and %v", whole[0].Mean, rows[0].Mean)
			}
			for i, c := range []*int{&covered, &byRow} {
				if v := []Interval{whole[0], rows[0]}[i]; v.Low <= 0 && 0 <= v.High {
					*c++
				}
			}
		}
		t.Logf("%s: clusters cover %.3f, rows %.3f", name, float64(covered)/draws, float64(byRow)/draws)
		if c := float64(covered) / draws; c < 0.88 || c > 0.99 {
			t.Errorf("%s: 95%% intervals over clusters cover %.3f", name, c)
		}
		if c := float64(byRow) / draws; c > 0.8 {
			t.Errorf("%s: intervals over rows cover %.3f: the draws show nothing", name, c)
		}
	}
}

// TestGainLowerBoundHoldsWhereRowsCluster: the rate of false alarms of the guard's bound stays near its level for every
// shape of clusters.
func TestGainLowerBoundHoldsWhereRowsCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("16,000 bounds, one after the other")
	}
	const draws = 2000
	for name, sizes := range clusterShapes() {
		alarms, byRow := 0, 0
		for seed := range uint64(draws) {
			values, ids := clustered(seed, sizes)
			if _, b, _ := GainLowerBound(values, ids, 0.95); b > 0 {
				alarms++
			}
			if _, b, _ := GainLowerBound(values, nil, 0.95); b > 0 {
				byRow++
			}
		}
		t.Logf("%s: alarms over clusters %.3f, over rows %.3f", name, float64(alarms)/draws, float64(byRow)/draws)
		if share := float64(alarms) / draws; share > 0.065 {
			t.Errorf("%s: false alarms in %.3f of the draws, want at most about 0.05", name, share)
		}
		if share := float64(byRow) / draws; share < 0.15 {
			t.Errorf("%s: false alarms over rows in %.3f: the draws show nothing", name, share)
		}
	}
}

// Rows that are repeated six times give the same bound as single rows.
func TestRepeatsDoNotNarrowIntervals(t *testing.T) {
	once := normals(3, 50, 0, 1)
	var six []float64
	var ids []int
	for id, v := range once {
		for range 6 {
			six, ids = append(six, v), append(ids, id)
		}
	}
	alone := make([]int, len(once))
	for i := range alone {
		alone[i] = i
	}
	s := DefaultBootstrap(1)
	s.Clusters = alone
	want, err := PairedIntervals(s, once)
	if err != nil {
		t.Fatal(err)
	}
	s.Clusters = ids
	got, err := PairedIntervals(s, six)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got[0].Low-want[0].Low) > 1e-6 || math.Abs(got[0].High-want[0].High) > 1e-6 {
		t.Errorf("six times %+v, once %+v", got[0], want[0])
	}
}

func TestOneClusterHasNoInterval(t *testing.T) {
	s := DefaultBootstrap(1)
	s.Clusters = []int{7, 7, 7}
	if _, err := PairedIntervals(s, []float64{1, 2, 3}); !errors.Is(err, ErrOneDraw) {
		t.Errorf("one cluster: %v", err)
	}
	if _, err := PairedIntervals(DefaultBootstrap(1), []float64{1}); !errors.Is(err, ErrOneDraw) {
		t.Errorf("one row: %v", err)
	}
	if _, b, err := GainLowerBound([]float64{1, 2, 3}, s.Clusters, 0.95); err != nil || !math.IsInf(b, -1) {
		t.Errorf("bound over one cluster is %v, %v", b, err)
	}
}

func BenchmarkPairedIntervals(b *testing.B) {
	for _, series := range []int{1, 50} {
		b.Run(fmt.Sprintf("rows=10000/series=%d", series), func(b *testing.B) {
			d := make([][]float64, series)
			for c := range d {
				d[c] = normals(uint64(c), 10000, 0, 1)
			}
			for b.Loop() {
				if _, err := PairedIntervals(DefaultBootstrap(1), d...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The interval of a ratio is that of the delta method, where both means are far from 0.
func TestPairedRatiosAgreeWithTheory(t *testing.T) {
	const n = 4000
	base, saved := normals(1, n, 2, 0.5), normals(2, n, 0.6, 0.4)
	for k := range saved {
		saved[k] += 0.3 * base[k] // they move together, as the cost of a constant and what is saved of it do
	}
	got, err := PairedRatios(DefaultBootstrap(3), [][]float64{saved}, [][]float64{base})
	if err != nil {
		t.Fatal(err)
	}
	top, _ := MeanStd(saved)
	bottom, _ := MeanStd(base)
	ratio := top / bottom
	linear := make([]float64, n)
	for k := range linear {
		linear[k] = (saved[k] - ratio*base[k]) / bottom
	}
	_, std := MeanStd(linear)
	half := 1.96 * std / math.Sqrt(n)
	if v := got[0]; math.Abs(v.Mean-ratio) > 1e-12 || math.Abs(v.Low-(ratio-half)) > half/10 || math.Abs(v.High-(ratio+half)) > half/10 {
		t.Errorf("%+v, the delta method has %g +- %g", *v, ratio, half)
	}
}

// Of one base, the intervals of a ratio and of a mean are in proportion if the base is constant, clusters included.
func TestPairedRatiosOfAConstantBase(t *testing.T) {
	s := DefaultBootstrap(5)
	for k := range 60 {
		s.Clusters = append(s.Clusters, k/4)
	}
	d, base := normals(4, 60, 0.1, 1), make([]float64, 60)
	for k := range base {
		base[k] = 2
	}
	means, err := PairedIntervals(s, d)
	if err != nil {
		t.Fatal(err)
	}
	ratios, err := PairedRatios(s, [][]float64{d}, [][]float64{base})
	if err != nil {
		t.Fatal(err)
	}
	m, r := means[0], ratios[0]
	for _, pair := range [][2]float64{{m.Mean, r.Mean}, {m.Low, r.Low}, {m.High, r.High}} {
		if math.Abs(pair[0]/2-pair[1]) > 1e-6 {
			t.Errorf("mean %+v, ratio to 2 %+v", m, *r)
		}
	}
}

func TestPairedRatiosRefuse(t *testing.T) {
	d := normals(1, 20, 1, 0.1)
	around := normals(2, 20, 0.01, 1) // a mean that may be below 0
	zero := make([]float64, 20)
	got, err := PairedRatios(DefaultBootstrap(1), [][]float64{d, d, d}, [][]float64{around, zero, d})
	if err != nil || got[0] != nil || got[1] != nil || got[2] == nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := PairedRatios(DefaultBootstrap(1), [][]float64{d}, nil); err == nil {
		t.Error("no base is accepted")
	}
	if _, err := PairedRatios(DefaultBootstrap(1), [][]float64{{1}}, [][]float64{{1}}); !errors.Is(err, ErrOneDraw) {
		t.Errorf("one row: %v", err)
	}
	if _, err := PairedRatios(DefaultBootstrap(1), nil, nil); err != nil {
		t.Error(err)
	}
}

func TestStudentInterval(t *testing.T) {
	values := []float64{1, 2, 3, 4, 5}
	v, err := StudentInterval(values, nil, 0.95, 0)
	half := 2.7764451 * math.Sqrt(2.5/5) // the quantile of Student's t with 4 degrees of freedom, in every table
	if err != nil || v.Mean != 3 || math.Abs(v.High-3-half) > 1e-6 || math.Abs(3-v.Low-half) > 1e-6 {
		t.Errorf("%+v, %v; want 3 +- %g", v, err, half)
	}
	wide, err := StudentInterval(values, nil, 0.95, 10)
	if want := 2.7764451 * math.Sqrt(10.0/5); err != nil || math.Abs(wide.High-3-want) > 1e-6 {
		t.Errorf("with a variance of at least 10: %+v, %v; want 3 +- %g", wide, err, want)
	}
	twice, err := StudentInterval([]float64{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, []int{0, 0, 1, 1, 2, 2, 3, 3, 4, 4}, 0.95, 0)
	if err != nil || math.Abs(twice.High-v.High) > 1e-9 {
		t.Errorf("every row twice: %+v, once %+v (%v)", twice, v, err)
	}
	bounded, err := StudentInterval([]float64{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, []int{0, 0, 1, 1, 2, 2, 3, 3, 4, 4}, 0.95, 10)
	if err != nil || math.Abs(bounded.High-wide.High) > 1e-9 {
		t.Errorf("every row twice, with a least variance: %+v, once %+v (%v)", bounded, wide, err)
	}
	for name, err := range map[string]error{
		"level":    second(StudentInterval(values, nil, 1, 0)),
		"clusters": second(StudentInterval(values, []int{1}, 0.9, 0)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, of := range [][]float64{nil, {1}} {
		if _, err := StudentInterval(of, nil, 0.9, 0); !errors.Is(err, ErrOneDraw) {
			t.Errorf("%v: %v", of, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// A weighted row is a cluster of as many equal rows; equal weights of any size change nothing.
func TestWeightedGainLowerBound(t *testing.T) {
	gains, weights := normals(3, 40, 0.2, 1), make([]float64, 40)
	var repeated []float64
	var clusters []int
	for i, g := range gains {
		weights[i] = float64(1 + i%3)
		for range 1 + i%3 {
			repeated, clusters = append(repeated, g), append(clusters, i)
		}
	}
	mean, bound, err := WeightedGainLowerBound(gains, weights, nil, 0.9)
	wantMean, want, err2 := GainLowerBound(repeated, clusters, 0.9)
	if err != nil || err2 != nil || math.Abs(mean-wantMean) > 1e-12 || math.Abs(bound-want) > 1e-12 {
		t.Errorf("mean %g, bound %g; of repeated rows %g and %g; %v, %v", mean, bound, wantMean, want, err, err2)
	}
	for i := range weights {
		weights[i] = 0.125
	}
	plainMean, plain, err := GainLowerBound(gains, nil, 0.9)
	mean, bound, err2 = WeightedGainLowerBound(gains, weights, nil, 0.9)
	if err != nil || err2 != nil || math.Abs(mean-plainMean) > 1e-12 || math.Abs(bound-plain) > 1e-12 {
		t.Errorf("mean %g, bound %g with equal weights, %g and %g without; %v, %v", mean, bound, plainMean, plain, err, err2)
	}
	if _, _, err := WeightedGainLowerBound(gains, weights[1:], nil, 0.9); err == nil {
		t.Error("too few weights are accepted")
	}
}
