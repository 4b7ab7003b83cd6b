package auto

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"pipe/costs"
	"pipe/models"
	"pipe/models/network"
	"pipe/models/regress"
)

// table is what the recipe learns from. Rows are positions among the training rows, 0..n-1.
type table struct {
	full *costs.Tensor
	order
	data     *regress.Data
	std      network.Standardizer
	features []span         // blocks of the features; nil: one
	clusters costs.Clusters // rows that belong together
	source   *costs.Tensor  // with pairs that may not be chosen, which do not exist in full
	support  support
	logged   []*logged // by row; nil: every row that judges is complete
	judged   []float32 // losses that held-out rows are taken to have, held-out rows x pairs; nil: they are known
	caution  []float64 // added to the costs of pairs in decisions; nil: nothing
	noise    float64   // variance of a loss around its estimate, over logged rows
	clip     float64   // bound on the weights of logged rows
	judging  []int     // rows that may be held out: complete or logged
	complete int       // rows on which every outcome is known
	unknown  int       // outcomes that are not known
	constant []float64 // mean loss of every pair over the rows that judge
	low      float64   // smallest loss
	high     float64   // and the largest
	usage    *usage    // nil: no fees are made of usage
	division
	sets []int // numbers of the sets of rows that belong together, by position in held; nil if no rows do
}

// division says which rows learn and which are held out.
type division struct {
	folds  []regress.Fold // none: all rows belong together, so nothing can be held out
	held   []int          // held-out rows of all folds, fold by fold and block by block
	blocks []span         // of held: what a block decides is chosen on the others
}

// span is a range of positions in division.held.
type span struct{ from, to int }

func newTable(t *costs.Tensor, s Settings) *table {
	in := orderOf(t, t.Rows(costs.Train)) // with all fees
	t, quantities := pricedUsage(t, s.Usage)
	rows := in.rows
	tab := &table{source: t, order: in, clusters: t.Together(rows, s.Apart), clip: s.Clip, logged: loggedRows(t, rows, s.Clip)}
	tab.judging, tab.complete = judgingRows(t, rows, tab.logged)
	tab.support = supportOf(t, rows, tab.clusters, s.Support)
	t = withoutPairs(t, tab.support.untried(t.Actions))
	tab.full = t
	// Fitted on all training rows, including held-out ones: means and spreads of features contain no information about
	// losses, and the exported policy uses the same.
	tab.std = network.FitStandardizer(t.Features, t.Dim, rows)
	tab.features = featureBlocks(t, tab.std, s.Narrow)
	balance(tab.std, tab.features)
	tab.data = regress.NewData(t, rows, tab.std)
	tab.data.Weight = s.HalfLife.Weights(t, rows)
	if quantities != nil {
		tab.usage = newUsage(tab, quantities, s)
		tab.judging = tab.usage.paid(tab.judging)
		tab.usage.means(tab.judging)
	}
	for _, known := range tab.data.Known {
		if !known {
			tab.unknown++
		}
	}
	tab.data.Count = tab.counts(s)
	tab.constant, _ = tab.data.Means(tab.meaning()) // there are rows
	tab.low, tab.high = tab.data.Range()
	return tab.drawn(s, 0)
}

// drawn is the table with the folds of a draw, numbered from 0.
func (t table) drawn(s Settings, draw int) *table {
	if t.usage != nil {
		own := *t.usage
		t.usage = &own
	}
	t.division = divide(t.clusters, shuffled(t.keys, s.Seed, draw), t.judging, s)
	t.sets = nil
	if t.clusters.Repeats() > 0 {
		t.sets = t.clusters.Pick(t.held).IDs()
	}
	return &t
}

// meaning are the rows whose mean losses are those of pairs before anything is estimated: those that judge, or all if a pair may have
// no loss on these.
func (t *table) meaning() []int {
	if t.logged != nil {
		return everyRow(t.data)
	}
	return t.judging
}

// everyRow has the positions of all rows.
func everyRow(d *regress.Data) []int {
	rows := make([]int, d.Len())
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// interval returns the one-sided bounds of the mean of a value per row; rows are positions in held.
func (t *table) interval(values []float64, rows []int, confidence float64) (low, high float64, err error) {
	var sets []int
	if t.sets != nil {
		for _, n := range rows {
			sets = append(sets, t.sets[n])
		}
	}
	mean, low, err := models.WeightedGainLowerBound(values, t.weights(rows), sets, confidence)
	return low, 2*mean - low, err
}

// bounds are those of interval, at least as far from the mean as the probabilities of the log make them, and farther by what one more row
// can change: with few rows of large weights, those that were not seen count.
func (t *table) bounds(values []float64, doubts []doubt, rows []int, confidence float64) (low, high float64, err error) {
	low, high, err = t.interval(values, rows, confidence)
	sum, total, one := 0.0, 0.0, 0.0
	for i, n := range rows {
		w := t.weight(n)
		sum, total, one = sum+w*w*doubts[i].variance, total+w, max(one, w*doubts[i].largest)
	}
	mean, far := t.mean(values, rows), distuv.UnitNormal.Quantile(confidence)*math.Sqrt(sum)/total
	return min(low, mean-far) - one/total, max(high, mean+far) + one/total, err
}

// mean is the weighted mean of a value per row; rows are positions in held.
func (t *table) mean(values []float64, rows []int) float64 {
	return models.WeightedMean(values, t.weights(rows))
}

// weight is that of a row, a position in held.
func (t *table) weight(n int) float64 {
	if t.data.Weight == nil {
		return 1
	}
	return t.data.Weight[t.held[n]]
}

// weights are those of rows, positions in held; nil if all count alike.
func (t *table) weights(rows []int) []float64 {
	if t.data.Weight == nil {
		return nil
	}
	of := make([]int, len(rows))
	for i, n := range rows {
		of[i] = t.held[n]
	}
	return t.data.Weights(of)
}

// divide splits the rows into folds, or into one inner split whose held-out rows form the blocks. Rows that belong
// together always stay together: if a copy of a held-out row were among the training rows, memorising would look like
// learning. Only complete and logged rows are held out; others that belong to no held-out row learn in every fold. order has all
// rows at random.
func divide(c costs.Clusters, order, judges []int, s Settings) division {
	if c.Pick(judges).Len() < 2 {
		return division{}
	}
	judging := order
	if len(judges) < len(order) {
		is := make([]bool, len(order))
		for _, r := range judges {
			is[r] = true
		}
		judging = slices.DeleteFunc(slices.Clone(order), func(r int) bool { return !is[r] })
	}
	if len(judging) > s.CrossFit {
		if d, ok := divideOnce(c, order, judging, s); ok {
			return d
		}
	}
	return divideFolds(c, order, judging, s)
}

// apart are the rows of order that belong to none of held.
func apart(c costs.Clusters, order, held []int) []int {
	in := make([]bool, c.Len())
	for _, r := range held {
		in[c.Of[r]] = true
	}
	return slices.DeleteFunc(slices.Clone(order), func(r int) bool { return in[c.Of[r]] })
}

// divideFolds makes folds of the judging rows: each is decided by what is fitted on the others.
func divideFolds(c costs.Clusters, order, judging []int, s Settings) (d division) {
	for _, held := range deal(c, judging, s.Folds) {
		d.folds = append(d.folds, regress.Fold{Fit: apart(c, order, held), Held: held})
		d.add(held)
	}
	return d
}

// divideOnce holds out one share of the judging rows. It returns false if too few clusters are small enough to make blocks of
// them.
func divideOnce(c costs.Clusters, order, judging []int, s Settings) (d division, ok bool) {
	want := max(s.Folds, int(s.Inner*float64(len(judging))))
	var held []int
	for i, drawn := range c.Pick(judging).Share(want, want/s.Folds) {
		if drawn {
			held = append(held, judging[i])
		}
	}
	if len(held) < want || c.Pick(held).Len() < s.Folds {
		return d, false
	}
	for _, rows := range deal(c, held, s.Folds) {
		d.add(rows)
	}
	d.folds = []regress.Fold{{Fit: apart(c, order, held), Held: d.held}}
	return d, true
}

// add makes a block of held-out rows.
func (d *division) add(rows []int) {
	d.blocks = append(d.blocks, span{len(d.held), len(d.held) + len(rows)})
	d.held = append(d.held, rows...)
}

// deal splits rows into blocks of whole clusters, in their order.
func deal(c costs.Clusters, rows []int, blocks int) [][]int {
	var out [][]int
	for i, f := range c.Pick(rows).Folds(blocks) {
		for len(out) <= f {
			out = append(out, nil)
		}
		out[f] = append(out[f], rows[i])
	}
	return out
}

// laterThan are the held-out rows, as positions in held, that are later than a time and belong to no row up to it.
func (t *table) laterThan(until int64) (out []int) {
	known := make([]bool, t.clusters.Len())
	for row, n := range t.rows {
		if t.full.Times[n] <= until {
			known[t.clusters.Of[row]] = true
		}
	}
	for n, row := range t.held {
		if !known[t.clusters.Of[row]] {
			out = append(out, n)
		}
	}
	return out
}
