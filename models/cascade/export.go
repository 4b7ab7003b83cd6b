package cascade

import (
	"fmt"
	"math"
	"slices"

	"pipe/models/policy"
	"pipe/onnx"
)

// none is the expected cost of an action that there is not.
const none = 1e30

// noneAbove is below it and above every cost.
const noneAbove = 1e29

// Export builds the cascade file: one graph of standard ONNX operators. Only the policies of states that a row of the
// batch is in are computed. A row with a feature that is NaN or infinite has the action A, one past the last, is not
// accepted, and expects NaN; so does one of which only pairs were executed that do not exist. The same policy gives the
// same bytes.
func (p *Policy) Export() (*onnx.Model, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("export cascade: %w", err)
	}
	g := onnx.NewGraph("cascade")
	b := builder{p: p, pairs: int64(p.Actions.Len())}
	batch := onnx.Sym("batch")
	in := inputs{
		features: g.Input(FeaturesInput, onnx.Float32, onnx.Shape{batch, onnx.Fix(int64(p.Dim))}),
		observed: g.Input(ObservedInput, onnx.Float32, onnx.Shape{batch, onnx.Fix(b.pairs * int64(len(p.Facts)))}),
		executed: g.Input(ExecutedInput, onnx.Bool, onnx.Shape{batch, onnx.Fix(b.pairs)}),
	}
	if p.Prices != nil {
		in.fees, in.available = policy.PricesGraph(g, p.Actions, nil)
	}
	b.outputs(g, in, b.all(g, in))
	if b.err != nil {
		return nil, fmt.Errorf("export cascade: %w", b.err)
	}
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		return nil, fmt.Errorf("export cascade: %w", err)
	}
	m.SetMetadata(p.metadata())
	return m, nil
}

// head is the number of values in front of the expected costs in what a state says.
const head = 4

// builder builds the graph of a file. What a state says is a row of numbers: the action, whether it accepts, the expected
// loss, the remaining cost, and the expected cost of every pair. So the states of a batch are written into one value.
type builder struct {
	p     *Policy
	pairs int64
	err   error // the first that a policy has
	// What the policy of the empty state says, where it also decides in all others: its constants are in the file once.
	shared *policy.Outputs
}

// inputs are those of some rows. Fees of pairs, and those that may be executed, are nil in a file with fixed prices.
type inputs struct{ features, observed, executed, fees, available *onnx.Value }

// rows are some of the rows.
func (in inputs) rows(g *onnx.Graph, rows *onnx.Value) inputs {
	out := inputs{features: g.Gather(in.features, rows, 0), observed: g.Gather(in.observed, rows, 0), executed: g.Gather(in.executed, rows, 0)}
	if in.fees != nil {
		out.fees, out.available = g.Gather(in.fees, rows, 0), g.Gather(in.available, rows, 0)
	}
	return out
}

// all decides every row: a loop over the states that rows of the batch are in.
func (b *builder) all(g *onnx.Graph, in inputs) *onnx.Value {
	width := onnx.Fix(head + b.pairs)
	numbers := b.numbers(g, in)
	present := g.Op("Unique", []*onnx.Value{numbers}, onnx.Int64, onnx.Shape{onnx.Sym("present")}, onnx.Attr{Name: "sorted", Value: int64(1)})
	trips := g.Gather(g.ShapeOf(present), g.Scalar(onnx.Int64, 0), 0)
	count := g.ReduceSum(g.Cast(in.executed, onnx.Float32), true, 1)
	empty := g.Mul(count, row(g, make([]float32, head+b.pairs)))
	if in.fees != nil { // as many rows as the batch, and what was executed is always available
		in.fees = g.Add(in.fees, g.Mul(count, g.Scalar(onnx.Float32, 0)))
		in.available = g.Or(in.executed, in.available)
	}
	final, _ := g.Loop(trips, []*onnx.Value{empty}, func(body *onnx.Graph, n *onnx.Value, carried []*onnx.Value) (next, _ []*onnx.Value) {
		state := body.Gather(present, n, 0)
		count := onnx.Sym("rows")
		found := body.Op("NonZero", []*onnx.Value{body.Equal(numbers, state)}, onnx.Int64, onnx.Shape{onnx.Fix(1), count})
		rows := body.Squeeze(found, 0)
		own := in.rows(body, rows)
		if len(b.p.States) == 1 && b.p.Rest == b.p.States[0].Policy {
			b.shared = b.decide(body, State{Policy: b.p.Rest}, own.features, own)
		}
		said := b.among(body, state, 0, len(b.p.States)+1, own)
		if body.Err() != nil {
			return carried, nil
		}
		said = body.AssumeShape(said, onnx.Shape{count, width})
		return []*onnx.Value{body.Op("ScatterND", []*onnx.Value{carried[0], body.Unsqueeze(rows, 1), said}, onnx.Float32, carried[0].Shape())}, nil
	})
	return final[0]
}

// numbers are the positions of the rows' states among those of the policy, int64, batch; their number where it has none.
func (b *builder) numbers(g *onnx.Graph, in inputs) *onnx.Value {
	count := int64(len(b.p.States))
	members, sizes, index := slices.Repeat([]float32{-1}, int(b.pairs*count)), make([]float32, count), make([]float32, count)
	for s, state := range b.p.States {
		for _, i := range state.Executed {
			members[int64(i)*count+int64(s)] = 1
		}
		sizes[s], index[s] = float32(len(state.Executed)), float32(s)
	}
	// The pairs of a state that were executed, less all others that were, are as many as the state has only there.
	same := g.Equal(g.MatMul(g.Cast(in.executed, onnx.Float32), g.Const(onnx.Float32s([]int64{b.pairs, count}, members))), row(g, sizes))
	return g.Cast(g.ReduceMin(g.Where(same, row(g, index), g.Scalar(onnx.Float32, float64(count))), false, 1), onnx.Int64)
}

// among is what the policy of a state says, one of those from up to to. States of fewer pairs, which more rows are in, are
// told apart first; the others are found by halves.
func (b *builder) among(g *onnx.Graph, state *onnx.Value, from, to int, in inputs) *onnx.Value {
	if to == from+1 {
		return b.one(g, from, in)
	}
	middle := from + 1
	for middle < to && b.size(middle) == b.size(from) {
		middle++
	}
	if middle == to {
		middle = (from + to) / 2
	}
	before := g.Less(state, g.Scalar(onnx.Int64, float64(middle)))
	branch := func(from, to int) func(*onnx.Graph) []*onnx.Value {
		return func(g *onnx.Graph) []*onnx.Value { return []*onnx.Value{b.among(g, state, from, to, in)} }
	}
	out := g.If(before, branch(from, middle), branch(middle, to))
	if len(out) == 0 {
		return state // the graph has an error
	}
	return out[0]
}

// size is the number of executed pairs of a state; that of rows without a policy is the largest.
func (b *builder) size(state int) int {
	if state == len(b.p.States) {
		return math.MaxInt
	}
	return len(b.p.States[state].Executed)
}

// decide adds the policy of a state to the graph; nil, with the error kept, if it cannot.
func (b *builder) decide(g *onnx.Graph, s State, features *onnx.Value, in inputs) *policy.Outputs {
	if b.shared != nil {
		return b.shared
	}
	var fees *onnx.Value
	if in.fees != nil {
		fees = b.fees(g, s, in)
	}
	out, err := s.Policy.GraphAt(g, features, fees, in.available)
	if in.fees != nil && err == nil {
		out.Cost = g.Where(in.available, out.Cost, g.Scalar(onnx.Float32, none))
	}
	if err == nil {
		return &out
	}
	if b.err == nil {
		b.err = err
	}
	return nil
}

// fees are what every pair costs besides what the policy of a state estimates: rows x A. That is its own fee unless it was executed, and
// of what is executed later the difference of the fee from that of the policy.
func (b *builder) fees(g *onnx.Graph, s State, in inputs) *onnx.Value {
	own := slices.Repeat([]float32{1}, int(b.pairs))
	for _, i := range s.Executed {
		own[i] = 0
	}
	if s.Later == nil {
		return g.Mul(in.fees, row(g, own))
	}
	now := g.Where(in.available, in.fees, g.Scalar(onnx.Float32, b.p.Range))
	usual, of, less := s.Policy.Actions.Fees(1), make([]float32, len(s.Later)), make([]float32, len(own))
	for at, share := range s.Later {
		first, later := at/len(own), at%len(own)
		of[at] = float32(share)
		less[first] -= float32(share * usual[later])
		if first == later {
			of[at] += own[first]
		}
	}
	shape := []int64{b.pairs, b.pairs}
	return g.Gemm(now, g.Const(onnx.Float32s(shape, of)), g.Const(onnx.Float32s(shape[:1], less)), 1, 1, false, true)
}

// one is what one state says: rows x width.
func (b *builder) one(g *onnx.Graph, state int, in inputs) *onnx.Value {
	if state == len(b.p.States) {
		return b.rest(g, in)
	}
	s := b.p.States[state]
	out := b.decide(g, s, s.Encoding.graph(g, in.features, in.observed), in)
	if out == nil {
		return in.features
	}
	accept := make([]float32, b.pairs+1)
	for _, i := range s.Executed {
		accept[i] = 1
	}
	action := g.Unsqueeze(out.Action, 1)
	remaining := g.GatherElements(out.Cost, g.Min(action, g.Scalar(onnx.Int64, float64(b.pairs-1))), 1)
	return g.Concat(1, g.Cast(action, onnx.Float32), g.Gather(g.Const(onnx.Float32s([]int64{b.pairs + 1}, accept)), action, 0),
		b.loss(g, s, out, remaining), remaining, out.Cost)
}

// loss is what the answer is expected to lose that would be accepted: that of the largest score, the first on ties. It is
// rows x 1.
func (b *builder) loss(g *onnx.Graph, s State, out *policy.Outputs, remaining *onnx.Value) *onnx.Value {
	switch n := len(s.Executed); {
	case n == 0:
		return g.Mul(remaining, g.Scalar(onnx.Float32, math.NaN()))
	case s.ends():
		return remaining
	default:
		of := func(v *onnx.Value) *onnx.Value { return columns(g, v, n, func(i int) int { return s.Executed[i] }) }
		return b.best(g, of(out.Loss), of(out.Scores))
	}
}

// rest is what a state without a policy says: the answer with the smallest loss by the features is accepted.
func (b *builder) rest(g *onnx.Graph, in inputs) *onnx.Value {
	out := b.decide(g, State{Policy: b.p.Rest}, in.features, in)
	if out == nil {
		return in.features
	}
	cost := g.Where(in.executed, out.Loss, g.Scalar(onnx.Float32, none))
	least := g.ReduceMin(cost, true, 1)
	exists := g.Less(least, g.Scalar(onnx.Float32, noneAbove))
	said := g.Concat(1, first(g, g.Equal(cost, least), b.pairs), g.Cast(exists, onnx.Float32), least, least, cost)
	return g.Where(exists, said, b.invalid(g))
}

// invalid is what is said about a row on which no decision is possible.
func (b *builder) invalid(g *onnx.Graph) *onnx.Value {
	v := slices.Repeat([]float32{float32(math.NaN())}, int(head+b.pairs))
	v[0], v[1] = float32(b.pairs), 0
	return row(g, v)
}

// best is the element of v, rows x n, where by is largest, the first on ties. It is rows x 1.
func (b *builder) best(g *onnx.Graph, v, by *onnx.Value) *onnx.Value {
	if g.Err() == nil && v.Shape()[1].Size == 1 {
		return v
	}
	n := v.Shape()[1].Size
	at := g.Min(first(g, g.Equal(by, g.ReduceMax(by, true, 1)), n), g.Scalar(onnx.Float32, float64(n-1)))
	return g.GatherElements(v, g.Cast(at, onnx.Int64), 1)
}

// first is the position of the first of n marked columns, rows x 1; n where none is. It is float32, which represents it
// exactly.
func first(g *onnx.Graph, marked *onnx.Value, n int64) *onnx.Value {
	index := make([]float32, n)
	for i := range index {
		index[i] = float32(i)
	}
	return g.ReduceMin(g.Where(marked, row(g, index), g.Scalar(onnx.Float32, float64(n))), true, 1)
}

// outputs are those of the file, of what the states say.
func (b *builder) outputs(g *onnx.Graph, in inputs, said *onnx.Value) {
	zero := g.Scalar(onnx.Float32, 0)
	finite := g.Equal(g.ReduceSum(g.Mul(in.features, zero), true, 1), zero)
	if in.fees != nil { // where nothing is available there is no action
		remaining := g.Slice(said, []int64{head - 1}, []int64{head}, []int64{1}, []int64{1})
		finite = g.And(finite, g.Less(remaining, g.Scalar(onnx.Float32, noneAbove)))
	}
	parts := g.Split(g.Where(finite, said, b.invalid(g)), 1, 1, 1, 1, 1, b.pairs)
	if g.Err() != nil {
		return
	}
	g.Output(ActionOutput, g.Cast(g.Squeeze(parts[0], 1), onnx.Int64))
	g.Output(AcceptOutput, g.Cast(g.Squeeze(parts[1], 1), onnx.Bool))
	g.Output(LossOutput, g.Squeeze(parts[2], 1))
	g.Output(RemainingOutput, g.Squeeze(parts[3], 1))
	g.Output(CostOutput, parts[4])
}
