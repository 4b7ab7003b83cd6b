package policies

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/finite"
	"pipe/models/policy"
	"pipe/onnx"
)

// Graph is the graph of a policy file, for protocols with named tensors. It makes the same checks as Decide: NaN among the
// features is an error.
type Graph struct {
	policy          *Policy
	inputs, outputs []onnx.IO
}

// Graph returns the graph of the file.
func (p *Policy) Graph() *Graph { return p.graph }

// Inputs lists the inputs of the graph; open axes have a name.
func (g *Graph) Inputs() []onnx.IO { return slices.Clone(g.inputs) }

// Outputs lists the outputs of the graph.
func (g *Graph) Outputs() []onnx.IO { return slices.Clone(g.outputs) }

// fixedRows reports whether the graph takes only a fixed number of rows.
func (g *Graph) fixedRows() bool { return g.inputs[0].Shape[0].Known() }

// optional reports whether a request may omit an input: the prices and the mask of an any-price policy. Those of the file,
// or of the price file, are used then.
func (g *Graph) optional(input string) bool {
	return g.policy.Info().Prices != nil && slices.Contains(g.priceInputs(), input)
}

// priceInputs are the inputs of an any-price policy besides the features.
func (g *Graph) priceInputs() []string {
	names := []string{policy.ExpertFeesInput, policy.AdviceFeesInput, policy.PairFeesInput, policy.AvailableInput}
	if u := g.policy.Info().Usage; u != nil {
		for _, q := range u.Quantities {
			names = append(names, policy.UsagePriceInput(q))
		}
	}
	return names
}

// Answer has the decisions of a policy on tensors, and what they were made from.
type Answer struct {
	Decisions *policy.Decisions
	Features  []float32        // n x Dim, a copy; nil if an encoder is part of the graph
	Prices    []*policy.Prices // empty for those of the policy's file, one for all rows, or one per row
	Listed    bool             // the prices are those of the price file, not of the tensors
	Pricing   *Pricing         // the state of the price file, for what the tensors leave out
}

// Run decides on named inputs. The error is a *TensorError for an input that does not fit the graph, and a *decide.RowError
// for an invalid row.
func (g *Graph) Run(ctx context.Context, inputs map[string]*onnx.Tensor) (*Answer, error) {
	if err := g.check(inputs); err != nil {
		return nil, err
	}
	features, n, err := g.features(ctx, inputs)
	if err != nil {
		return nil, err
	}
	at, own, err := g.policy.fitting(g.policy.Pricing())
	if err != nil {
		return nil, err
	}
	prices, err := g.prices(inputs, n, own)
	if err != nil {
		return nil, err
	}
	listed := prices == nil && own != g.policy.Prices()
	if listed {
		prices = []*policy.Prices{own}
	}
	d, err := g.policy.decide(ctx, prices, features, n)
	if err != nil {
		return nil, err
	}
	if g.policy.router.HasEncoder() {
		features = nil
	}
	return &Answer{d, features, prices, listed, at}, nil
}

// listed returns the names of tensors for a message.
func listed(list []onnx.IO) string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = v.Name
	}
	return strings.Join(names, ", ")
}

// check compares tensors with the declared inputs: names, types, shapes and the number of rows.
func (g *Graph) check(inputs map[string]*onnx.Tensor) error {
	for name := range inputs {
		if !slices.ContainsFunc(g.inputs, func(v onnx.IO) bool { return v.Name == name }) {
			return &TensorError{name, fmt.Errorf("is not an input; the inputs are %s", listed(g.inputs))}
		}
	}
	sizes := map[string]int64{}
	for _, in := range g.inputs {
		t := inputs[in.Name]
		if t == nil {
			if g.optional(in.Name) {
				continue
			}
			return &TensorError{in.Name, errors.New("is missing")}
		}
		if err := checkTensor(in, t, sizes, g.optional(in.Name)); err != nil {
			return &TensorError{in.Name, err}
		}
	}
	return nil
}

// checkTensor compares a tensor with its declaration. sizes are the sizes of named axes so far. With oneForAll, the first
// axis may also be 1.
func checkTensor(in onnx.IO, t *onnx.Tensor, sizes map[string]int64, oneForAll bool) error {
	if t.DType != in.DType {
		return fmt.Errorf("is %v, the graph takes %v", t.DType, in.DType)
	}
	if len(t.Shape) != len(in.Shape) {
		return fmt.Errorf("has the shape %v, the graph takes %v", t.Shape, in.Shape)
	}
	for i, d := range in.Shape {
		size := t.Shape[i]
		known, named := sizes[d.Name]
		switch {
		case size < 1:
			return fmt.Errorf("has the shape %v: each size must be at least 1", t.Shape)
		case d.Known() && size != d.Size:
			return fmt.Errorf("has the shape %v, the graph takes %v", t.Shape, in.Shape)
		case d.Known() || d.Name == "?" || oneForAll && i == 0 && size == 1:
		case named && known != size:
			return fmt.Errorf("has the shape %v, but %s is %d in another input", t.Shape, d.Name, known)
		default:
			sizes[d.Name] = size
		}
	}
	return t.Validate()
}

// features returns the features of the request, or computes them with the encoder of the graph.
func (g *Graph) features(ctx context.Context, inputs map[string]*onnx.Tensor) ([]float32, int, error) {
	if t := inputs[policy.FeaturesInput]; t != nil && !g.policy.router.HasEncoder() {
		return t.Float32s(), int(t.Shape[0]), nil
	}
	return g.policy.encodeTensors(ctx, inputs)
}

// prices returns the prices in the tensors: empty, one for all rows, or one per row. Fees of advice in tensors are already
// multiplied by lambda, so lambda is 1. What the tensors leave out is as in own.
func (g *Graph) prices(inputs map[string]*onnx.Tensor, n int, own *policy.Prices) ([]*policy.Prices, error) {
	rows := 0
	for _, name := range g.priceInputs() {
		t := inputs[name]
		if t == nil || !g.optional(name) {
			continue
		}
		if has := int(t.Shape[0]); has != 1 && has != n {
			return nil, &TensorError{name, fmt.Errorf("has %d rows for %d rows of features: it must have one, or as many", has, n)}
		}
		rows = max(rows, int(t.Shape[0]))
	}
	if rows == 0 {
		return nil, nil
	}
	info := g.policy.Info()
	at := own.Tensors()
	maps.Copy(at, inputs)
	out, err := pricesOf(at, rows, info.Actions.Mask())
	if err != nil || info.Usage == nil {
		return out, err
	}
	return out, readUsagePrices(out, at, inputs, info, own)
}

// readUsagePrices adds the prices of usage to rows of prices. Those that the request leaves out are not rounded to float32.
func readUsagePrices(out []*policy.Prices, at, inputs map[string]*onnx.Tensor, info *policy.Info, own *policy.Prices) error {
	for i := range out {
		out[i].Usage = own.Usage
	}
	for _, q := range info.Usage.Quantities {
		name := policy.UsagePriceInput(q)
		if inputs[name] == nil {
			continue
		}
		rows, err := readFees(at[name])
		if err != nil {
			return &TensorError{name, err}
		}
		for i, v := range rows.fees {
			if expert := i % rows.width; v < 0 || v > 0 && !info.Usage.Known[q][expert] {
				why := "is negative"
				if v > 0 {
					why = "is a price, but the policy does not know how much it uses"
				}
				return &TensorError{name, fmt.Errorf("row %d: %g of expert %q %s", i/rows.width, v, info.Actions.Experts[expert].Name, why)}
			}
		}
		for i := range out {
			out[i].Usage[q] = rows.row(i)
		}
	}
	return nil
}

// pricesOf converts tensors to rows of prices. exists is the mask of the pairs that exist.
func pricesOf(at map[string]*onnx.Tensor, rows int, exists []bool) ([]*policy.Prices, error) {
	fees := map[string]feeRows{}
	for _, name := range []string{policy.ExpertFeesInput, policy.AdviceFeesInput, policy.PairFeesInput} {
		var err error
		if fees[name], err = readFees(at[name]); err != nil {
			return nil, &TensorError{name, err}
		}
	}
	available, pairs := at[policy.AvailableInput].Bools(), len(exists)
	for i := range available {
		available[i] = available[i] && exists[i%pairs]
	}
	out := make([]*policy.Prices, rows)
	for i := range out {
		first := i * pairs % len(available)
		p := &policy.Prices{Lambda: 1, Available: available[first : first+pairs : first+pairs]}
		p.Experts, p.Advice, p.Pairs = fees[policy.ExpertFeesInput].row(i), fees[policy.AdviceFeesInput].row(i), fees[policy.PairFeesInput].row(i)
		if !slices.ContainsFunc(p.Pairs, func(fee float64) bool { return fee != 0 }) {
			p.Pairs = nil
		}
		if fee := p.Advice[0]; fee != 0 {
			return nil, &TensorError{policy.AdviceFeesInput, fmt.Errorf("row %d: the first fee is %g, but no advice is free", i, fee)}
		}
		if !slices.Contains(p.Available, true) {
			return nil, &TensorError{policy.AvailableInput, fmt.Errorf("row %d: no pair may be chosen", i)}
		}
		out[i] = p
	}
	return out, nil
}

// feeRows are rows of fees of the same width, or one row for all.
type feeRows struct {
	fees  []float64
	width int
}

func (f feeRows) row(i int) []float64 {
	first := i * f.width % len(f.fees)
	return f.fees[first : first+f.width : first+f.width]
}

// readFees reads the fees of a tensor.
func readFees(t *onnx.Tensor) (feeRows, error) {
	values, width := t.Float32s(), int(t.Shape[1])
	if i := finite.First(values); i >= 0 {
		return feeRows{}, fmt.Errorf("fee %d of row %d is %v", i%width, i/width, values[i])
	}
	f := feeRows{make([]float64, len(values)), width}
	for i, v := range values {
		f.fees[i] = float64(v)
	}
	return f, nil
}

// Tensors converts decisions to the named outputs of the graph, or to all of them if none is named. The error is a
// *TensorError for an unknown name.
func (g *Graph) Tensors(d *policy.Decisions, names ...string) (map[string]*onnx.Tensor, error) {
	if len(names) == 0 {
		for _, o := range g.outputs {
			names = append(names, o.Name)
		}
	}
	rows := int64(len(d.Action))
	ints := map[string][]int64{policy.ActionOutput: d.Action, policy.ExpertOutput: d.Expert, policy.AdviceOutput: d.Advice}
	floats := map[string][]float32{policy.ScoresOutput: d.Scores, policy.LossOutput: d.Loss, policy.CostOutput: d.Cost}
	out := make(map[string]*onnx.Tensor, len(names))
	for _, name := range names {
		if !slices.ContainsFunc(g.outputs, func(v onnx.IO) bool { return v.Name == name }) {
			return nil, &TensorError{name, fmt.Errorf("is not an output; the outputs are %s", listed(g.outputs))}
		}
		if v, ok := ints[name]; ok {
			out[name] = onnx.Int64s([]int64{rows}, v)
		} else if name == policy.AcceptedOutput {
			out[name] = onnx.Bools([]int64{rows}, d.Accepted)
		} else if v := usageOf(d, name); v != nil {
			out[name] = onnx.Float32s([]int64{rows, int64(d.Actions)}, v)
		} else {
			out[name] = onnx.Float32s([]int64{rows, int64(d.Actions)}, floats[name])
		}
	}
	return out, nil
}

// usageOf is the output of a quantity; nil if the name is that of another output.
func usageOf(d *policy.Decisions, name string) []float32 {
	for q, values := range d.Usage {
		if name == policy.UsageOutput(costs.Quantity(q)) {
			return values
		}
	}
	return nil
}
