package policy

import (
	"pipe/costs"
	"pipe/onnx"
)

// decodeEstimate scores actions by minus their estimated cost. The score of the best fixed pair is higher by the margin.
type decodeEstimate struct{}

func (decodeEstimate) check(p *Policy) error { return p.Estimate.check(p) }

func (decodeEstimate) scores(dst []float64, p *Policy, x []float64) {
	p.Estimate.Blend.Estimate(dst, x)
	fees, mask := p.Actions.Fees(p.Lambda), p.Estimate.choosable(p.Actions)
	mean := fees
	if u := p.Estimate.Usage; u != nil {
		fees, mean = u.fees(fees, u.estimates(x), p.Actions), u.fees(fees, u.Mean, p.Actions)
	}
	fixed, least := -1, float32(0)
	for i, c := range p.Estimate.Constant {
		cost := float32(c+p.Estimate.caution(i)) + float32(mean[i])
		if mask[i] && (fixed < 0 || cost < least) {
			fixed, least = i, cost
		}
		dst[i] = -(dst[i] + p.Estimate.caution(i) + fees[i])
	}
	dst[fixed] += p.Estimate.Margin
	exclude(dst, mask)
}

func (d decodeEstimate) graph(g *onnx.Graph, p *Policy, features *onnx.Value) values {
	return d.priced(g, p, features, d.prices(g, p))
}

// graphPrices are prices within a graph: the fees of every action and the actions that may be chosen, as values that broadcast to batch x
// J(K+1). rates are the fees of a unit of usage, by quantity; none without usage.
type graphPrices struct {
	fees, available *onnx.Value
	rates           []*onnx.Value
}

// priced is graph at given prices.
func (d decodeEstimate) priced(g *onnx.Graph, p *Policy, features *onnx.Value, at graphPrices) values {
	standard := p.standardGraph(g, features)
	raw := p.Estimate.Blend.Graph(g, standard, "")
	fees, mean := at.fees, at.fees
	var usage []*onnx.Value
	if u := p.Estimate.Usage; u != nil {
		usage = u.graph(g, standard, p.Actions.Len())
		fees, mean = usageFees(g, fees, at.rates, usage), usageFees(g, fees, at.rates, u.means(g, p.Actions.Len()))
	}
	scores := g.Neg(g.Add(d.careful(g, p, raw), fees))
	if p.Estimate.Margin > 0 {
		isFixed := g.Cast(d.fixed(g, p, mean, at.available), onnx.Float32)
		scores = g.Add(scores, g.Mul(isFixed, g.Scalar(onnx.Float32, p.Estimate.Margin)))
	}
	scores = g.Where(at.available, scores, g.Scalar(onnx.Float32, excludedScore))
	loss := p.Estimate.Curve.Graph(g, raw, "curve_")
	if c := p.Estimate.Selection; len(c.X) > 0 {
		behind := g.Sub(g.ReduceMax(scores, true, 1), scores)
		loss = p.Estimate.Curve.Within(g, g.Sub(loss, c.Graph(g, behind, "selection_")))
	}
	cost := g.Add(loss, fees)
	may := p.Estimate.choosable(p.Actions)
	return values{scores: scores, loss: unavailable(g, loss, may), cost: unavailable(g, cost, may), usage: usage}
}

// careful adds the caution to estimates.
func (decodeEstimate) careful(g *onnx.Graph, p *Policy, raw *onnx.Value) *onnx.Value {
	if p.Estimate.Caution == nil {
		return raw
	}
	caution := make([]float32, len(p.Estimate.Caution))
	for i := range caution {
		caution[i] = float32(p.Estimate.caution(i))
	}
	return g.Add(raw, g.Const(onnx.Float32s([]int64{1, int64(len(caution))}, caution)))
}

// unavailable replaces what is said about pairs that may not be chosen by minus the excluded score.
func unavailable(g *onnx.Graph, v *onnx.Value, may []bool) *onnx.Value {
	return g.Neg(excludeGraph(g, g.Neg(v), may))
}

// prices are constants, or the inputs of an any-price policy.
func (decodeEstimate) prices(g *onnx.Graph, p *Policy) (at graphPrices) {
	u := p.Estimate.Usage
	row := []int64{1, int64(p.Actions.Len())}
	exists := g.Const(onnx.Bools(row, p.Estimate.choosable(p.Actions)))
	if p.Estimate.Prices == nil {
		if u != nil {
			at.rates = u.rates(g, p.Actions, nil)
		}
		at.fees, at.available = p.feesGraph(g), exists
		return at
	}
	at.fees, at.available = PricesGraph(g, p.Actions, func(input func(name string, t onnx.DType, width int) *onnx.Value) {
		if u != nil {
			at.rates = u.rates(g, p.Actions, input)
		}
	})
	at.available = g.And(at.available, exists)
	return at
}

// PricesGraph adds the price inputs of an any-price file to a graph: the fee of every pair, and which pairs may be chosen, each for one
// row or for as many as the batch. more adds further inputs after these; nil: there are none.
func PricesGraph(g *onnx.Graph, a *costs.Actions, more func(input func(name string, t onnx.DType, width int) *onnx.Value)) (fees, available *onnx.Value) {
	// The graph is built as for one row of prices; operators broadcast, so that it takes a row per row of features too.
	input := func(name string, t onnx.DType, width int) *onnx.Value {
		v := g.Input(name, t, onnx.Shape{onnx.Sym(name + "_rows"), onnx.Fix(int64(width))})
		return g.AssumeShape(v, onnx.Dims(1, int64(width)))
	}
	expert := input(ExpertFeesInput, onnx.Float32, len(a.Experts))
	advice := input(AdviceFeesInput, onnx.Float32, len(a.Advice))
	pair := input(PairFeesInput, onnx.Float32, a.Len())
	available = input(AvailableInput, onnx.Bool, a.Len())
	if more != nil {
		more(input)
	}
	var ofExpert, ofAdvice []int64
	for i := range a.Len() {
		j, k := a.Pair(i)
		ofExpert, ofAdvice = append(ofExpert, int64(j)), append(ofAdvice, int64(k))
	}
	columns := []int64{int64(a.Len())}
	fees = g.Add(g.Gather(expert, g.Const(onnx.Int64s(columns, ofExpert)), 1), g.Gather(advice, g.Const(onnx.Int64s(columns, ofAdvice)), 1))
	return g.Add(fees, pair), available
}

// fixed marks the best fixed pair: the first of the available ones with the smallest mean loss plus mean fee.
func (d decodeEstimate) fixed(g *onnx.Graph, p *Policy, fees, available *onnx.Value) *onnx.Value {
	n := p.Actions.Len()
	row := []int64{1, int64(n)}
	mean, index := make([]float32, n), make([]float32, n)
	for i := range index {
		mean[i], index[i] = float32(p.Estimate.Constant[i]+p.Estimate.caution(i)), float32(i)
	}
	cost := g.Add(g.Const(onnx.Float32s(row, mean)), fees)
	cost = g.Where(available, cost, g.Scalar(onnx.Float32, -excludedScore))
	best := g.Equal(cost, g.ReduceMin(cost, true, 1))
	number := g.Const(onnx.Float32s(row, index))
	first := g.ReduceMin(g.Where(best, number, g.Scalar(onnx.Float32, float64(n))), true, 1)
	return g.Equal(number, first)
}
