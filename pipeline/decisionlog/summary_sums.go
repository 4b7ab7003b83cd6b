package decisionlog

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"pipe/costs"
)

// weighted sums values with weights.
type weighted struct {
	rows                     int
	weight, sum, squares     float64 // of w, w x, w x^2
	weights2, sum2, squares2 float64 // of w^2, w^2 x, w^2 x^2
}

// mostValue bounds what is added, so that sums and their squares stay finite whatever a log has.
const mostValue = 1e100

func (s *weighted) add(x, w float64) {
	if !(math.Abs(x) <= mostValue) {
		return
	}
	s.rows++
	s.weight += w
	s.sum += w * x
	s.squares += w * x * x
	s.weights2 += w * w
	s.sum2 += w * w * x
	s.squares2 += w * w * x * x
}

// effective is the number of rows of equal weight that would give a mean of the same certainty; 0 without rows.
func (s *weighted) effective() float64 {
	if s.rows == 0 {
		return 0
	}
	return s.weight * s.weight / s.weights2
}

// mean is the weighted mean, with an interval if there are enough rows.
func (s *weighted) mean() WeightedMean { return s.meanBy(s.effective()) }

// meanBy is mean for a given number of effective rows. The interval follows from the linearization.
func (s *weighted) meanBy(effective float64) WeightedMean {
	if s.rows == 0 {
		return WeightedMean{}
	}
	m := s.sum / s.weight
	if effective < LeastEffective {
		return WeightedMean{Rows: s.rows, Mean: m}
	}
	variance := (s.squares2 - 2*m*s.sum2 + m*m*s.weights2) * float64(s.rows) / float64(s.rows-1)
	wide := 1.96 * math.Sqrt(max(0, variance)) / s.weight
	low, high := m-wide, m+wide
	return WeightedMean{Rows: s.rows, Mean: m, Low: &low, High: &high}
}

// sums are the counts of one version of a policy.
type sums struct {
	out      PolicySummary
	pairs    []pairSums
	total    float64 // sum of weights
	shadows  map[[2]string]*ShadowSummary
	expected weighted
	measured weighted
	believed weighted
	money    weighted
	compared int // outcomes for which measured savings can be known
}

// pairSums are those of one pair.
type pairSums struct {
	probability weighted
	loss        weighted
	saving      weighted // expected cost less that of the chosen pair, on records for which it is available
	proven      weighted // the same from measured costs
	hits        weighted // outcomes of this pair itself, with their weights in proven
	never       bool     // it had no chance on a record with a known loss for which it was available
}

func newSums(d Decision) *sums {
	names := d.About.Actions.Names()
	s := &sums{pairs: make([]pairSums, len(names)), shadows: map[[2]string]*ShadowSummary{}}
	s.out = PolicySummary{Name: d.Policy, Digest: d.Digest, Keep: 1, Least: 1, Pairs: make([]PairSummary, len(names))}
	for i, name := range names {
		s.out.Pairs[i].Pair = name
	}
	return s
}

func (s *sums) add(d Decision) {
	o, w := &s.out, 1/d.Keep
	switch {
	case d.IsFixed():
		o.Fixed++
		return
	case d.IsPanel():
		o.Panel++
		return
	}
	s.total += w
	o.Records++
	o.Keep = min(o.Keep, d.Keep)
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	if _, measured := d.About.Meta[costs.MeterKey]; measured && d.UsagePrices == nil {
		o.MeasuredFees = true
	}
	count(&o.Canary, d.Canary)
	count(&o.Explored, d.Action != d.Greedy)
	count(&o.Guarded, d.Guarded)
	count(&o.PairFees, d.PairFees != nil)
	count(&o.Errors, d.Error != "")
	count(&o.Fallbacks, d.FellBack())
	count(&o.Outcomes, d.Outcome != nil)
	o.Pairs[d.Action].Chosen++
	for i, p := range d.Own() { // among the records of this version
		s.pairs[i].probability.add(p, w)
		if d.Available[i] {
			o.Pairs[i].Available++
			o.Least = min(o.Least, p)
			o.Explores = o.Explores || p > 0 && i != d.Greedy
		}
	}
	if paid := d.Paid(); paid == paid {
		s.money.add(paid, w)
	}
	s.addExpected(d, w)
	s.addMeasured(d, w)
	for _, x := range d.Shadows {
		key := [2]string{x.Policy, x.Digest}
		if s.shadows[key] == nil {
			s.shadows[key] = &ShadowSummary{Policy: x.Policy, Digest: x.Digest}
		}
		s.shadows[key].Rows++
		count(&s.shadows[key].Agrees, x.Action == d.Greedy)
	}
}

func (s *sums) addExpected(d Decision, w float64) {
	if d.ExpectedCost == nil {
		return
	}
	chosen := float64(d.ExpectedCost[d.Action])
	s.expected.add(chosen, w)
	for i, c := range d.ExpectedCost {
		if d.Available[i] {
			s.pairs[i].saving.add(float64(c)-chosen, w)
		}
	}
}

func (s *sums) addMeasured(d Decision, w float64) {
	if d.IsCascade() { // its outcome is that of an answer that was chosen among several
		s.out.Cascades++
		s.out.Asked += len(d.Cascade)
		return
	}
	loss, ok := d.Outcome.LossOf()
	if !ok {
		return
	}
	s.out.Losses++
	s.pairs[d.Answered()].loss.add(loss, w)
	if s.out.MeasuredFees {
		return // the cost below lacks them, so it cannot be compared with expected costs
	}
	cost, ok := d.Cost()
	if !ok {
		return // its fee depends on what the pair uses, which is not known
	}
	s.measured.add(cost, w)
	if d.ExpectedCost != nil {
		s.believed.add(float64(d.ExpectedCost[d.Action]), w)
	}
	if d.FellBack() { // its cost is not that of the pair that had the probability
		return
	}
	s.compared++
	for i, p := range d.Own() {
		switch {
		case !d.Available[i]: // compared on the other records, as what is expected
		case p == 0:
			s.pairs[i].never = true
		case i == d.Action:
			s.pairs[i].proven.add(cost/p-cost, w)
			s.pairs[i].hits.add(0, w/p)
		default:
			s.pairs[i].proven.add(-cost, w)
		}
	}
}

// end returns the summary.
func (s *sums) end() *PolicySummary {
	o := &s.out
	o.Expected, o.Measured, o.Believed, o.Money = s.expected.mean(), s.measured.mean(), s.believed.mean(), s.money.mean()
	for i := range s.pairs {
		p := &o.Pairs[i]
		p.Share, p.Loss = float64(p.Chosen)/float64(max(1, o.Records)), s.pairs[i].loss.mean()
		p.Probability = s.pairs[i].probability.mean().Mean
	}
	if best := s.best(); best >= 0 {
		b := &s.pairs[best]
		o.BestFixed, o.Saving, o.SavingLacks = o.Pairs[best].Pair, b.saving.mean(), s.expected.rows-b.saving.rows
		if !b.never && b.proven.rows > 0 {
			o.Proven, o.ProvenLacks = b.proven.meanBy(b.hits.effective()), s.compared-b.proven.rows
		}
	}
	o.Shadows = []ShadowSummary{}
	for _, key := range slices.SortedFunc(maps.Keys(s.shadows), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	}) {
		o.Shadows = append(o.Shadows, *s.shadows[key])
	}
	return o
}

// best is the pair that is expected to cost least beside what was chosen, on the records for which it was available, of those that
// were available for at least half: a record without it does not change it. -1 without expected costs.
func (s *sums) best() int {
	best, most := -1, 0
	for i := range s.pairs {
		most = max(most, s.pairs[i].saving.rows)
	}
	for i := range s.pairs {
		c := &s.pairs[i].saving
		if c.rows > 0 && 2*c.rows >= most && (best < 0 || c.sum/c.weight < s.pairs[best].saving.sum/s.pairs[best].saving.weight) {
			best = i
		}
	}
	return best
}
