package bench

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"pipe/costs"
	"pipe/internal/config"
	"pipe/internal/lists"
	"pipe/internal/realdata"
	"pipe/internal/seeded"
	"pipe/internal/storage"
	"pipe/internal/world"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/models/regress"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// Variable for the whole measurement: PIPE_HEADS=3 go test ./pipeline/bench -run HeadsOnTables -v
const headsVariable = "PIPE_HEADS" // number of splits

const (
	headSteps   = 1500 // optimiser steps of every network, rounded up to whole epochs
	headVectors = 6    // random price vectors besides the factors
	headSeed    = 200  // of the first split, which no other choice has used
	headDraws   = 8    // of prices: per row and training run for concatenate, per training run for additive
	inputsHead  = "concatenate"
	addHead     = "additive"
	decideHead  = "plug-in, decision term"
	logHead     = "plug-in, log loss"
	blendHead   = "plug-in of the blend"
)

// headFactors are the multipliers that are compared, see scaled.
var headFactors = []float64{0, 0.5, 1, 2, 4}

// headSettings are those among which every head chooses: strong, medium and weak regularisation.
func headSettings() []regress.Architecture {
	all := auto.DefaultSettings().Networks
	return []regress.Architecture{all[0], all[1], all[4]}
}

// headTable is what heads learn from and decide on.
type headTable struct {
	*regress.Data
	rt        *ort.Runtime
	actions   *costs.Actions
	low, high float64 // range of losses
	steps     int     // optimiser steps
}

// priceHead is a way to make a network decide at any price.
type priceHead struct {
	name string
	// learn trains a network of every architecture on the rows fit, and returns what each decides on the rows held: a pair
	// by architecture, price and row.
	learn func(t *testing.T, x *headTable, fit, held []int, of []regress.Architecture, seed uint64, prices []*costs.Actions) [][][]int
}

// priceHeads are the heads of one network. Fees of prices are final: they are charged as if lambda were 1.
func priceHeads() []priceHead {
	return []priceHead{{inputsHead, learnInputs}, {addHead, learnAdditive}, {decideHead, learnDecisions}, {logHead, learnLog}}
}

// scaled multiplies the fees of advice, or the fees of experts if there is no advice to buy.
func scaled(a *costs.Actions, factor float64) *costs.Actions {
	out := *a
	out.Experts, out.Advice = slices.Clone(a.Experts), slices.Clone(a.Advice)
	advice := false
	for k := range out.Advice {
		advice = advice || out.Advice[k].Fee > 0
		out.Advice[k].Fee *= factor
	}
	for j := range out.Experts {
		if !advice {
			out.Experts[j].Fee *= factor
		}
	}
	return &out
}

// drawnPrice is a draw of the law of prices that heads are trained on: a multiplier that is 0 or log-uniform from 1/8 to
// 8, and a factor from 1/4 to 4 on every fee.
func drawnPrice(a *costs.Actions, rng *rand.Rand) *costs.Actions {
	factor := math.Pow(8, 2*rng.Float64()-1)
	if rng.IntN(8) == 0 {
		factor = 0
	}
	return withFees(&costs.Tensor{Actions: scaled(a, factor)}, rng).Actions
}

// measuredPrices are those that are compared.
func measuredPrices(a *costs.Actions) []*costs.Actions {
	var out []*costs.Actions
	for _, f := range headFactors {
		out = append(out, scaled(a, f))
	}
	rng := seeded.Stream(headSeed, "heads/measured", 0)
	for range headVectors {
		out = append(out, withFees(&costs.Tensor{Actions: a}, rng).Actions)
	}
	return out
}

// inRange are fees in units of the range of losses.
func (x *headTable) inRange(fees []float64) []float64 {
	return lists.Each(fees, func(f float64) float64 { return f / (x.high - x.low) })
}

// problem has losses from 0 to 1 and no fees.
func (x *headTable) problem() *models.Problem {
	p := &models.Problem{Dim: x.Dim, Features: x.X, Experts: len(x.actions.Experts), Advice: len(x.actions.Advice)}
	for _, v := range x.Y {
		p.Target = append(p.Target, float32((float64(v)-x.low)/(x.high-x.low)))
	}
	return p
}

// networks trains a network of every architecture, with the optimiser of regress.Networks.
func (x *headTable) networks(t *testing.T, p *models.Problem, fit []int, of []regress.Architecture, seed uint64, epochs int, loss string, own models.Surrogate) []network.MLP {
	rows := lists.Each(fit, func(n int) int32 { return int32(n) })
	var specs []models.Spec
	for _, a := range of {
		specs = append(specs, models.Spec{
			Seed: seed, Lambda: 1, LearningRate: a.LearningRate, WeightDecay: a.WeightDecay, Dropout: a.Dropout, Tau: 1, Rows: rows,
		})
	}
	s := models.DefaultSettings()
	s.Hidden, s.Surrogate, s.Schedule, s.Batch, s.Epochs = of[0].Hidden, loss, "cosine", headBatch, epochs
	trained, err := models.Train(t.Context(), p, specs, s, models.Options{Runtime: x.rt, Surrogate: own})
	if err != nil {
		t.Fatal(err)
	}
	return lists.Each(trained, func(m models.Trained) network.MLP { return m.Network })
}

// headBatch is the batch of regress.Networks.
const headBatch = 128

// epochs are those of regress.Networks.
func (x *headTable) epochs(fit []int) int {
	perEpoch := (len(fit) + headBatch - 1) / headBatch
	return (x.steps + perEpoch - 1) / perEpoch
}

// learnInputs is the head concatenate: prices are inputs of a network of the composite surrogate. Every row is there a
// few times, each time with other prices. Prices are standardised like features, else small fees would hardly be learned.
func learnInputs(t *testing.T, x *headTable, fit, held []int, of []regress.Architecture, seed uint64, prices []*costs.Actions) [][][]int {
	rounds := (x.epochs(fit) + headDraws - 1) / headDraws
	copies := (x.epochs(fit) + rounds - 1) / rounds
	rng := seeded.Stream(seed, "heads/inputs", 0)
	losses, dim := x.problem().Target, x.Dim+len(x.actions.Experts)+len(x.actions.Advice)
	input := func(n int, price *costs.Actions) []float32 {
		in := slices.Clone(x.Row(n))
		for _, e := range price.Experts {
			in = append(in, float32(e.Fee/(x.high-x.low)))
		}
		for _, a := range price.Advice {
			in = append(in, float32(a.Fee/(x.high-x.low)))
		}
		return in
	}
	p := &models.Problem{Dim: dim, Experts: len(x.actions.Experts), Advice: len(x.actions.Advice)}
	var all []int
	for range copies {
		for _, n := range fit {
			price := drawnPrice(x.actions, rng)
			all = append(all, len(all))
			p.Features = append(p.Features, input(n, price)...)
			for i, f := range x.inRange(price.Fees(1)) {
				p.Target = append(p.Target, losses[n*x.Pairs+i]+float32(f))
			}
		}
	}
	std := network.FitStandardizer(p.Features, dim, nil)
	p.Features = std.Apply(p.Features, dim)
	var out [][][]int
	for _, m := range x.networks(t, p, all, of, seed, rounds, "comp_sum", nil) {
		var decided [][]int
		for _, price := range prices {
			var pairs []int
			for _, n := range held {
				scores := m.Forward(float64s(std.Apply(input(n, price), dim)))
				pairs = append(pairs, slices.Index(scores, slices.Max(scores)))
			}
			decided = append(decided, pairs)
		}
		out = append(out, decided)
	}
	return out
}

func float64s(v []float32) []float64 {
	return lists.Each(v, func(f float32) float64 { return float64(f) })
}

// learnAdditive is the head additive: an estimate per pair, trained with the composite surrogate on scores from which
// the fees of a few prices are subtracted.
func learnAdditive(t *testing.T, x *headTable, fit, held []int, of []regress.Architecture, seed uint64, prices []*costs.Actions) [][][]int {
	var loss additiveLoss
	rng := seeded.Stream(seed, "heads/additive", 0)
	for range headDraws {
		loss.fees = append(loss.fees, x.inRange(drawnPrice(x.actions, rng).Fees(1)))
	}
	return x.plugIn(t, x.networks(t, x.problem(), fit, of, seed, x.epochs(fit), loss.Name(), loss), held, prices)
}

// learnLog estimates by the logarithmic loss alone.
func learnLog(t *testing.T, x *headTable, fit, held []int, of []regress.Architecture, seed uint64, prices []*costs.Actions) [][][]int {
	return x.plugIn(t, x.networks(t, x.problem(), fit, of, seed, x.epochs(fit), logLoss{}.Name(), logLoss{}), held, prices)
}

// learnDecisions estimates by the networks of the recipe auto.
func learnDecisions(t *testing.T, x *headTable, fit, held []int, of []regress.Architecture, seed uint64, prices []*costs.Actions) [][][]int {
	f := regress.Networks{Candidates: of, Steps: x.steps, Seeds: 1, Seed: seed, Workers: 2, Options: models.Options{Runtime: x.rt}}
	e, err := f.CrossFit(t.Context(), x.Data, []regress.Fold{{Fit: fit, Held: held}})
	if err != nil {
		t.Fatal(err)
	}
	return lists.Each(e[0], func(e []float32) [][]int { return x.cheapest(t, float64s(e), prices) })
}

// plugIn decides by the estimates of networks with a sigmoid per pair.
func (x *headTable) plugIn(t *testing.T, networks []network.MLP, held []int, prices []*costs.Actions) [][][]int {
	return lists.Each(networks, func(m network.MLP) [][]int {
		e, n := make([]float64, len(held)*x.Pairs), estimate.Network{MLP: m, Low: x.low, High: x.high}
		for i, row := range held {
			n.Estimate(e[i*x.Pairs:(i+1)*x.Pairs], float64s(x.Row(row)))
		}
		return x.cheapest(t, e, prices)
	})
}

func (x *headTable) cheapest(t *testing.T, estimates []float64, prices []*costs.Actions) [][]int {
	return lists.Each(prices, func(price *costs.Actions) []int {
		pairs, err := cheapest(price, estimates, 1)
		if err != nil {
			t.Fatal(err)
		}
		return pairs
	})
}

// costs are what decisions cost on rows, averaged over prices.
func (x *headTable) costs(decided [][]int, rows []int, prices []*costs.Actions) []float64 {
	out := make([]float64, len(rows))
	for p, price := range prices {
		fees := price.Fees(1)
		for i, n := range rows {
			a := decided[p][i]
			out[i] += (float64(x.Losses(n)[a]) + fees[a]) / float64(len(prices))
		}
	}
	return out
}

// TestHeadsOfAKnownLaw: every head is near the optimum, and with estimates that do not depend on fees a higher fee of an
// expert never brings that expert a row.
func TestHeadsOfAKnownLaw(t *testing.T) {
	x, train, held := knownLaw(t, &tablesRun{benchRun: &benchRun{rt: orttest.Open(t, 0)}}, 3000, 1).heads(t, 400)
	prices := measuredPrices(x.actions)
	for e := range x.actions.Experts {
		dearer := scaled(x.actions, 1)
		dearer.Experts[e].Fee += 0.1
		prices = append(prices, dearer)
	}
	optimum := average(x.costs(bestOf(x, held, prices), held, prices))
	for _, h := range priceHeads() {
		d := h.learn(t, x, train, held, headSettings()[2:], 1, prices)[0]
		excess := average(x.costs(d, held, prices)) - optimum
		attracted := 0
		for e := range x.actions.Experts {
			base, dearer := d[slices.Index(headFactors, 1)], d[len(headFactors)+headVectors+e]
			for i := range held {
				before, _ := x.actions.Pair(base[i])
				after, _ := x.actions.Pair(dearer[i])
				if after == e && before != e {
					attracted++
				}
			}
		}
		t.Logf("%-24s %.4f above the optimum %.4f; %d rows go to an expert whose fee has risen", h.name, excess, optimum, attracted)
		if excess > 0.02 || excess < 0 {
			t.Errorf("%s is %.4f above the optimum", h.name, excess)
		}
		if h.name != inputsHead && attracted > 0 {
			t.Errorf("%s: %d rows go to an expert whose fee has risen", h.name, attracted)
		}
	}
}

// bestOf takes the cheapest pair by the losses of the table themselves.
func bestOf(x *headTable, rows []int, prices []*costs.Actions) [][]int {
	var all []float64
	for _, n := range rows {
		all = append(all, float64s(x.Losses(n))...)
	}
	return lists.Each(prices, func(price *costs.Actions) []int {
		pairs, err := cheapest(price, all, 1)
		if err != nil {
			panic(err) // losses of a valid table
		}
		return pairs
	})
}

// knownLaw is a table of the synthetic law: training rows with losses that came true, held-out rows with expected ones.
func knownLaw(t *testing.T, r *tablesRun, rows int, seed uint64) *tableSplit {
	t.Helper()
	train, held := world.SyntheticTensor(rows, costs.Train, seed, true), world.SyntheticTensor(rows, costs.Val, seed, false)
	all := *train
	all.IDs, all.Splits = slices.Concat(train.IDs, held.IDs), slices.Concat(train.Splits, held.Splits)
	all.Features, all.Loss = slices.Concat(train.Features, held.Features), slices.Concat(train.Loss, held.Loss)
	if r.c == nil {
		r.c = &tablesConfig{}
	}
	return &tableSplit{tablesRun: r, table: tableConfig{Name: "synthetic"}, t: &all, train: all.Rows(costs.Train), held: all.Rows(costs.Val)}
}

// heads is the split as heads see it.
func (x *tableSplit) heads(t *testing.T, steps int) (h *headTable, train, held []int) {
	t.Helper()
	d, err := x.data()
	if err != nil {
		t.Fatal(err)
	}
	h = &headTable{Data: d, rt: x.rt, actions: x.t.Actions, steps: steps}
	h.low, h.high = d.Range()
	return h, x.train, x.held
}

// TestHeadsOnTables compares the heads on real tables and on the synthetic law. It checks nothing: docs/results.md has
// what it prints.
func TestHeadsOnTables(t *testing.T) {
	splits, err := strconv.Atoi(os.Getenv(headsVariable))
	if err != nil {
		t.Skipf("the whole measurement takes minutes: set %s to a number of splits", headsVariable)
	}
	t.Setenv("PIPE_DATA", filepath.Dir(realdata.Folder(t, "outcomes")))
	file := defaultTables()
	path := filepath.Join("..", "configs", "tables.yaml")
	if err := config.Load(t.Context(), storage.File(path), &file); err != nil {
		t.Fatal(err)
	}
	if err := file.choose([]string{"ferplus", "yelp", "digit", "cifar10", "gsm8k", "mba"}, nil); err != nil {
		t.Fatal(err)
	}
	file.Seed = headSeed
	r := &tablesRun{c: &file, benchRun: &benchRun{out: t.TempDir(), dir: filepath.Dir(path), rt: orttest.Open(t, 0), progress: stage.Quiet}}
	all, err := r.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var sum []headFigures
	for i, table := range file.Tables {
		together := table.together(all[i])
		sum = append(sum, compareHeads(t, table.Name, together, splits, func(draw int) *tableSplit {
			x, err := newTableSplit(r, table, all[i], together, draw)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}))
	}
	for name := range sum[0] {
		rows := lists.Each(sum, func(f headFigures) report.Row { return f[name] })
		logHeadRow(t, fmt.Sprintf("sum of %d tables", len(rows)), name, sumRows(rows))
	}
	compareHeads(t, "synthetic", costs.NewClusters(10_000), splits, func(draw int) *tableSplit {
		x := knownLaw(t, r, 5000, headSeed+uint64(draw))
		x.draw = draw
		return x
	})
}

// headFigures are by head: the mean cost, and its difference from the plug-in with the decision term.
type headFigures map[string]report.Row

func compareHeads(t *testing.T, table string, together costs.Clusters, splits int, draw func(int) *tableSplit) headFigures {
	measured, rows := map[string]heldCosts{}, [][]int{}
	for s := range splits {
		x := draw(s)
		for name, c := range headCosts(t, x, together) {
			measured[name] = append(measured[name], c)
		}
		rows = append(rows, x.held)
	}
	out := headFigures{}
	for _, name := range slices.Sorted(maps.Keys(measured)) {
		difference, err := pairedInterval(measured[name], measured[decideHead], rows, together)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = report.Row{TrueLossMean: measured[name].mean(), TrueLossSE: measured[name].standardError(), DiffAuto: difference}
		var bySplit []float64
		for s := range rows {
			bySplit = append(bySplit, average(measured[name][s])-average(measured[decideHead][s]))
		}
		logHeadRow(t, table, name, out[name])
		t.Logf("%-18s %-24s by split %.4f", table, name, bySplit)
	}
	return out
}

// logHeadRow prints a head's mean cost and its difference from the plug-in with the decision term, with standard errors.
func logHeadRow(t *testing.T, table, name string, r report.Row) {
	t.Helper()
	t.Logf("%-18s %-24s %.4f difference %+.4f (%.4f)", table, name, r.TrueLossMean, r.DiffAuto.Mean, (r.DiffAuto.High-r.DiffAuto.Mean)/1.96)
}

// headCosts are what every head, the best fixed pair of every price and the cheapest pair of every row cost on the
// held-out rows of a split.
func headCosts(t *testing.T, x *tableSplit, together costs.Clusters) map[string][]float64 {
	h, train, held := x.heads(t, headSteps)
	prices := measuredPrices(h.actions)
	out := map[string][]float64{"oracle": h.costs(bestOf(h, held, prices), held, prices)}
	fit, inner := innerSplit(together, train, x.seed())
	rng := seeded.Stream(x.seed(), "heads/chosen", 0)
	var chosenBy []*costs.Actions
	for range headDraws {
		chosenBy = append(chosenBy, drawnPrice(h.actions, rng))
	}
	for _, head := range priceHeads() {
		settings := headSettings()
		var found []float64
		for _, d := range head.learn(t, h, fit, inner, settings, x.seed(), chosenBy) {
			found = append(found, average(h.costs(d, inner, chosenBy)))
		}
		best := slices.Index(found, slices.Min(found))
		t.Logf("%s: %s: inner rows %.4f", x.table.Name, head.name, found)
		out[head.name] = make([]float64, len(held))
		for s := range uint64(2) {
			d := head.learn(t, h, train, held, settings[best:best+1], 1000*s+x.seed(), prices)[0]
			for i, c := range h.costs(d, held, prices) {
				out[head.name][i] += c / 2
			}
		}
	}
	var fixed, blend [][]int
	p, _, err := auto.TrainAnyPrice(t.Context(), x.t, x.c.Train.Prices, x.auto(), models.Options{Runtime: x.rt})
	if err != nil {
		t.Fatal(err)
	}
	for _, price := range prices {
		priced, at := *x.t, *p.At(1)
		priced.Actions, at.Actions = price, price
		constant, err := constantOf(&priced, x, 1)
		if err != nil {
			t.Fatal(err)
		}
		l, err := replay.Decide(t.Context(), x.rt, &at, &priced, held)
		if err != nil {
			t.Fatal(err)
		}
		fixed, blend = append(fixed, constant), append(blend, l.Action)
	}
	out["best fixed pair"], out[blendHead] = h.costs(fixed, held, prices), h.costs(blend, held, prices)
	return out
}

// innerSplit holds out a quarter of the training rows. Rows that belong together stay together.
func innerSplit(together costs.Clusters, train []int, seed uint64) (fit, held []int) {
	order := slices.Clone(train)
	seeded.Stream(seed, "heads/inner", 0).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for i, taken := range together.Pick(order).Share(len(order)/4, len(order)/4) {
		if taken {
			held = append(held, order[i])
		} else {
			fit = append(fit, order[i])
		}
	}
	return fit, held
}
