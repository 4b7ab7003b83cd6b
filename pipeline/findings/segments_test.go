package findings

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/pipeline/report"
)

// topics has rows of law, art and sport as one-hot columns, with labels and a length. The large expert is always right; the
// small one is wrong for law.
func topics(rows int) *costs.Tensor {
	t := tableOf(rows, rows, []string{"topic=law", "topic=art", "topic=sport", "length"}, func(n int) [4]float32 {
		wrong := float32(0)
		if n%3 == 0 {
			wrong = 1
		}
		return [4]float32{wrong, wrong, 0, 0}
	}, func(n int) []float32 {
		f := []float32{0, 0, 0, float32(n * 7919 % 1000)}
		f[n%3] = 1
		return f
	})
	for n := range t.Len() {
		t.Labels = append(t.Labels, []string{"yes", "no"}[n%2])
	}
	return t
}

func segmentsOf(t *testing.T, e *Evidence, p *Policy) *report.Segments {
	t.Helper()
	s, err := e.Segments(1, p)
	if err != nil || s == nil {
		t.Fatalf("%v, %v", s, err)
	}
	return s
}

func find(s *report.Segments, name string) *report.Segment {
	i := slices.IndexFunc(s.Segments, func(g report.Segment) bool { return g.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Segments[i]
}

// TestPlantedSegmentsAreFound: a policy that asks the small expert for art and sport saves the fee of 0.2 there; for law it
// takes docs, which only cost more.
func TestPlantedSegmentsAreFound(t *testing.T) {
	e := evidenceOf(topics(600))
	p := &Policy{Name: "p"}
	for _, n := range e.Rows {
		p.Action = append(p.Action, []int{3, 0, 0}[n%3])
	}
	s := segmentsOf(t, e, p)
	if s.Pair != "large/none" || s.Compared != len(s.Segments) { // the policy differs from the constant in all
		t.Errorf("%+v", s)
	}
	for name, want := range map[string]struct {
		mean    float64
		finding string
		pair    string
	}{"topic=law": {-0.1, report.Harms, "large/docs"}, "topic=art": {0.2, report.Helps, "small/none"}, "topic=sport": {0.2, report.Helps, "small/none"}} {
		g := find(s, name)
		if g == nil || math.Abs(g.Mean-want.mean) > 1e-6 || g.Finding != want.finding || g.Rows != 200 || g.Chosen[0] != (report.PairShare{Pair: want.pair, Share: 1}) {
			t.Errorf("%s: %+v", name, g)
		}
	}
	if !slices.IsSortedFunc(s.Segments, func(a, b report.Segment) int {
		switch x, y := math.Abs(a.Effect), math.Abs(b.Effect); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	}) {
		t.Error("not by falling size of the effect")
	}
	checkParts(t, e, s, mean(minus(e.paid(e.constant(2), 1).cost, e.paid(p.Action, 1).cost)))
}

// Segments in which the policy is the constant have no interval, and do not widen those of the others.
func TestSegmentsWithoutADifference(t *testing.T) {
	e := evidenceOf(topics(600))
	for n := range e.Tensor.Labels {
		e.Tensor.Labels[n] = "one"
	}
	p := &Policy{Name: "p"}
	for _, n := range e.Rows {
		p.Action = append(p.Action, []int{2, 2, 0}[n%3])
	}
	s := segmentsOf(t, e, p)
	count := 0
	for _, g := range s.Segments {
		if g.Saved != nil {
			count++
		} else if g.Mean != 0 || g.Effect != 0 || g.Finding != "" {
			t.Errorf("%+v", g)
		}
	}
	if law := find(s, "topic=law"); law.Saved != nil || s.Compared != count || count == len(s.Segments) {
		t.Errorf("%d of %d are compared, %d have intervals: %+v", s.Compared, len(s.Segments), count, law)
	}
}

// checkParts checks that the segments of every partition and what is left out are all rows, and that their effects sum to the
// saving over all rows where nothing is left out.
func checkParts(t *testing.T, e *Evidence, s *report.Segments, saved float64) {
	t.Helper()
	rows, effect, left := map[string]int{}, map[string]float64{}, map[string]bool{}
	part := func(by, name string) string {
		if by == report.ByCategory || by == report.ByRange {
			return by + " " + strings.FieldsFunc(strings.TrimPrefix(name, "other "), func(r rune) bool { return r == ' ' || r == '=' })[0]
		}
		return by
	}
	for _, g := range s.Segments {
		rows[part(g.By, g.Name)] += g.Rows
		effect[part(g.By, g.Name)] += g.Effect
	}
	for _, l := range s.LeftOut {
		rows[part(l.By, l.Name)] += l.Rows
		left[part(l.By, l.Name)] = true
	}
	for name, n := range rows {
		if n != len(e.Rows) {
			t.Errorf("%s: %d rows of %d", name, n, len(e.Rows))
		}
		if !left[name] && math.Abs(effect[name]-saved) > 1e-9 {
			t.Errorf("%s: effects sum to %g, not %g", name, effect[name], saved)
		}
	}
	if len(rows) == 0 {
		t.Error("no partition")
	}
}

// TestNoSegmentsByChance: where the saving has nothing to do with the segments and is 0 on average, at most one table in
// twenty may have a finding at all. The saving is skewed, as that of a policy which saves a small fee on most rows and fails on
// few: small segments without a failure must not look certain.
func TestNoSegmentsByChance(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	const tables = 300
	for name, c := range map[string]struct{ fee, size float64 }{"even": {0.5, 1}, "skewed": {0.03, 1}, "sets of rows": {0.2, 5}} {
		found := 0
		for seed := range uint64(tables) {
			e := nullEvidence(seed, c.fee, int(c.size))
			p := &Policy{Name: "p", Action: e.constant(0)}
			s := segmentsOf(t, e, p)
			if slices.ContainsFunc(s.Segments, func(g report.Segment) bool { return g.Finding != "" }) {
				found++
			}
		}
		t.Logf("%s: findings in %d of %d tables", name, found, tables)
		if limit := 0.05*tables + 3*math.Sqrt(0.05*0.95*tables); float64(found) > limit {
			t.Errorf("%s: findings in %d of %d tables, at most %.0f may have one", name, found, tables, limit)
		}
	}
}

// nullEvidence has small/none, which fails with the probability of its price difference to large/docs, and features and
// labels that are drawn apart from that. Rows come in sets of one outcome.
func nullEvidence(seed uint64, fee float64, set int) *Evidence {
	r := rand.New(rand.NewPCG(seed, 3))
	wrong := float32(0)
	t := tableOf(100, 600, []string{"topic=a", "topic=b", "topic=c", "length"}, func(n int) [4]float32 {
		if n%set == 0 {
			if wrong = 0; r.Float64() < fee {
				wrong = 1
			}
		}
		return [4]float32{wrong, 0, 0, 0}
	}, func(int) []float32 {
		f := []float32{0, 0, 0, float32(r.NormFloat64())}
		f[r.IntN(3)] = 1
		return f
	})
	t.Actions.Experts[1].Fee, t.Actions.Advice[1].Fee = fee, 2 // large/none is the constant
	for n := range t.Len() {
		t.Labels = append(t.Labels, fmt.Sprint(r.IntN(12)))
		t.Groups = append(t.Groups, fmt.Sprint(n/set))
	}
	e := evidenceOf(t)
	e.Train, e.Today = nil, 2
	return e
}

// Small segments are merged or left out, and every row is counted.
func TestSmallSegments(t *testing.T) {
	x := topics(300)
	for n := range x.Labels {
		x.Labels[n] = []string{"big", "big", "big", fmt.Sprint("small-", n%40)}[n%4]
	}
	e := evidenceOf(x)
	p := perfect(e)
	s := segmentsOf(t, e, p)
	g := find(s, "other labels")
	if g == nil || g.Merged != 10 || g.Rows != 75 || find(s, "big").Rows != 225 {
		t.Errorf("%+v, %+v", g, find(s, "big"))
	}
	checkParts(t, e, s, mean(minus(e.paid(e.constant(e.fixed(1)), 1).cost, e.paid(p.Action, 1).cost)))
	for n := range x.Labels { // every row has its own
		x.Labels[n] = fmt.Sprint(n)
	}
	s = segmentsOf(t, e, p)
	if i := slices.IndexFunc(s.LeftOut, func(l report.LeftOut) bool { return l.By == report.ByLabel }); i < 0 || s.LeftOut[i].Rows != 300 || s.LeftOut[i].Segments != 300 {
		t.Errorf("%+v", s.LeftOut)
	}
	if slices.ContainsFunc(s.Segments, func(g report.Segment) bool { return g.By == report.ByLabel }) {
		t.Errorf("segments of one row each: %+v", s.Segments)
	}
}

// A policy that is the constant has no segments, and neither has none.
func TestNothingToCompare(t *testing.T) {
	e := evidenceOf(topics(100))
	for _, p := range []*Policy{nil, {Action: e.constant(2)}} {
		if s, err := e.Segments(1, p); s != nil || err != nil {
			t.Errorf("%+v, %v", s, err)
		}
		if x := e.Examples(1, p, 5); x != nil {
			t.Errorf("%+v", x)
		}
	}
}

func TestPartitionsOfFeatures(t *testing.T) {
	names := []string{"a=1", "x", "a=2", "b_is_0", "b_is_1", "c=1"}
	if got := fmt.Sprint(families(names)); got != "[[0 2] [1] [3 4] [5]]" {
		t.Errorf("families %v", got)
	}
	both := tableOf(10, 60, []string{"a=1", "a=2"}, func(int) [4]float32 { return [4]float32{} }, func(n int) []float32 { return []float32{1, float32(n % 2)} })
	parts := evidenceOf(both).byFeatures()
	if len(parts) != 2 || parts[0].name != "a=1" || parts[0].by != report.ByCategory { // both are 1: not one category
		t.Errorf("%+v", parts)
	}
	numbers := tableOf(100, 100, []string{"x"}, func(int) [4]float32 { return [4]float32{} }, func(n int) []float32 { return []float32{float32(n % 100)} })
	quarters := evidenceOf(numbers).byFeatures()[0]
	count := map[int]int{}
	for n := 100; n < 200; n++ {
		count[quarters.of(n)]++
	}
	if want := []string{"x up to 24", "x above 24 up to 49", "x above 49 up to 74", "x above 74"}; !slices.Equal(quarters.names, want) || count[0] != 25 || count[3] != 25 {
		t.Errorf("%q, %v", quarters.names, count)
	}
	for _, meta := range []string{"", "{", `["x","y"]`} {
		numbers.Meta[costs.NamesKey] = meta
		if got := evidenceOf(numbers).byFeatures(); got != nil {
			t.Errorf("%q: %+v", meta, got)
		}
	}
	wide := make([]string, 60)
	for i := range wide {
		wide[i] = fmt.Sprint("v", i)
	}
	vectors := tableOf(50, 50, wide, func(int) [4]float32 { return [4]float32{} }, func(n int) []float32 { return make([]float32, 60) })
	if got := evidenceOf(vectors).byFeatures(); got != nil {
		t.Errorf("ranges of a vector: %d", len(got))
	}
}

// Of many features those are kept that explain what the training rows could gain.
func TestTheTellingFeaturesAreKept(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	names := []string{"telling"}
	for i := range 20 {
		names = append(names, fmt.Sprint("noise ", i))
	}
	slices.Reverse(names)
	x := tableOf(400, 400, names, func(n int) [4]float32 {
		return [4]float32{float32(n % 2), float32(n % 2), 1 - float32(n%2), 1 - float32(n%2)}
	}, func(n int) []float32 {
		f := make([]float32, len(names))
		for i := range f {
			f[i] = float32(r.NormFloat64())
		}
		f[20] = float32(n%2) + float32(r.NormFloat64())/10
		return f
	})
	e := evidenceOf(x)
	parts := e.partitions(1)
	if len(parts) != mostPartitions+1 || parts[0].name != "telling" || parts[len(parts)-1].by != report.ByCluster {
		t.Errorf("%d partitions, the first by %s", len(parts), parts[0].name)
	}
}

// Clusters that are far apart are found, the same on every run, whatever the scales of the features.
func TestClusters(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	x := tableOf(400, 400, []string{"u", "v", "constant"}, func(int) [4]float32 { return [4]float32{} }, func(n int) []float32 {
		at := [][2]float64{{0, 0}, {9, 0}, {0, 9}, {9, 9}}[n%4]
		return []float32{float32(at[0] + r.NormFloat64()), float32(1000 * (at[1] + r.NormFloat64())), 3}
	})
	e := evidenceOf(x)
	p := e.byCluster()
	if len(p.names) != 4 {
		t.Fatalf("%d clusters", len(p.names))
	}
	for _, n := range e.Rows {
		if p.of(n) != p.of(400+n%4) {
			t.Fatalf("row %d is in cluster %d, row %d of the same centre in %d", n, p.of(n), 400+n%4, p.of(400+n%4))
		}
	}
	again := evidenceOf(x).byCluster()
	if fmt.Sprint(again.like) != fmt.Sprint(p.like) || slices.Contains(p.like, "") {
		t.Errorf("like %q, then %q", p.like, again.like)
	}
	few := evidenceOf(tableOf(50, 150, []string{"u"}, func(int) [4]float32 { return [4]float32{} }, func(n int) []float32 { return []float32{float32(n)} }))
	same := evidenceOf(tableOf(50, 300, []string{"u"}, func(int) [4]float32 { return [4]float32{} }, func(int) []float32 { return []float32{1} }))
	if few.byCluster() != nil || same.byCluster() != nil {
		t.Error("clusters of few or of equal rows")
	}
}

// Lloyd's iterations end where every centre is the mean of the points nearest to it.
func TestCentresAreMeans(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	var points [][]float64
	for range 200 {
		points = append(points, []float64{r.NormFloat64(), r.NormFloat64()})
	}
	centres := fitClusters(points, 3, 1)
	of := make([]int, len(points))
	for i, p := range points {
		of[i], _ = closest(p, centres)
	}
	for i, m := range middles(points, of, centres) {
		if math.Abs(m[0]-centres[i][0]) > 1e-9 || math.Abs(m[1]-centres[i][1]) > 1e-9 {
			t.Errorf("centre %v, mean %v", centres[i], m)
		}
	}
	text, _ := json.Marshal(centres)
	if other, _ := json.Marshal(fitClusters(points, 3, 1)); string(other) != string(text) {
		t.Error("another run has other centres")
	}
}
