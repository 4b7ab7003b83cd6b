package policies

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"pipe/internal/finite"
	"pipe/models/policy"
	"pipe/onnx"
)

// Graph is the graph of a policy file, for protocols that name tensors. Its checks are those of Decide: NaN among the
// features is an error, not an answer.
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

// fixedRows reports whether the graph takes one number of rows only.
func (g *Graph) fixedRows() bool { return g.inputs[0].Shape[0].Known() }

// Optional reports whether a request may leave out an input: prices and mask of an any-price policy, which are then those
// of the file.
func (g *Graph) Optional(input string) bool {
	return input != policy.FeaturesInput && g.policy.Info().Prices != nil && slices.Contains(priceInputs, input)
}

// priceInputs are the inputs of an any-price policy besides the features.
var priceInputs = []string{policy.ExpertFeesInput, policy.AdviceFeesInput, policy.PairFeesInput, policy.AvailableInput}

// Answer is what a policy decided on tensors, and from what.
type Answer struct {
	Decisions *policy.Decisions
	Features  []float32        // n x Dim, in memory of its own; nil where an encoder is in front
	Prices    []*policy.Prices // of the tensors: none for those of the file, one for all rows, or one for each row
}

// Run decides on named inputs. An input that does not fit the graph is a *TensorError, a bad row a *decide.RowError.
func (g *Graph) Run(ctx context.Context, inputs map[string]*onnx.Tensor) (*Answer, error) {
	if err := g.check(inputs); err != nil {
		return nil, err
	}
	features, n, err := g.features(ctx, inputs)
	if err != nil {
		return nil, err
	}
	prices, err := g.prices(inputs, n)
	if err != nil {
		return nil, err
	}
	d, err := g.policy.decide(ctx, prices, features, n)
	if err != nil {
		return nil, err
	}
	if g.policy.router.HasEncoder() {
		features = nil
	}
	return &Answer{d, features, prices}, nil
}

func listed(list []onnx.IO) string {
	text := ""
	for i, v := range list {
		if i > 0 {
			text += ", "
		}
		text += v.Name
	}
	return text
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
			if g.Optional(in.Name) {
				continue
			}
			return &TensorError{in.Name, errors.New("is missing")}
		}
		if err := checkTensor(in, t, sizes, g.Optional(in.Name)); err != nil {
			return &TensorError{in.Name, err}
		}
	}
	return nil
}

// checkTensor compares a tensor with its declaration. sizes are those of named axes so far; the first axis of an input with
// one row for all may be 1 besides.
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

// features are those of the request, or computed by the encoder in front.
func (g *Graph) features(ctx context.Context, inputs map[string]*onnx.Tensor) ([]float32, int, error) {
	if t := inputs[policy.FeaturesInput]; t != nil && !g.policy.router.HasEncoder() {
		return t.Float32s(), int(t.Shape[0]), nil
	}
	return g.policy.encodeTensors(ctx, inputs)
}

// prices are those of the tensors for n rows: none, one row, or one for each row of features. Their fees of advice are
// multiplied by lambda already, so lambda is 1.
func (g *Graph) prices(inputs map[string]*onnx.Tensor, n int) ([]*policy.Prices, error) {
	rows := 0
	for _, name := range priceInputs {
		t := inputs[name]
		if t == nil || !g.Optional(name) {
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
	at := policy.PricesOf(info.Actions, info.Lambda).Tensors()
	maps.Copy(at, inputs)
	return pricesOf(at, rows, info.Actions.Mask())
}

// pricesOf are rows of prices in tensors. exists is the mask of the pairs that exist.
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

// feeRows are rows of fees of the same width; one row may be for all.
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

// Tensors are decisions as the named outputs of the graph, or as all of them. A name that is none is a *TensorError.
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
		} else {
			out[name] = onnx.Float32s([]int64{rows, int64(d.Actions)}, floats[name])
		}
	}
	return out, nil
}
