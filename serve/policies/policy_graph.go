package policies

import (
	"context"
	"errors"
	"fmt"
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

// Run computes the named outputs, or all, from named inputs. An input or output that does not fit the graph is a
// *TensorError, a bad row a *decide.RowError.
func (g *Graph) Run(ctx context.Context, inputs map[string]*onnx.Tensor, outputs ...string) (map[string]*onnx.Tensor, error) {
	wanted, err := g.wanted(outputs)
	if err != nil {
		return nil, err
	}
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
	d, err := g.policy.ask(ctx, prices, features, n)
	if err != nil {
		return nil, err
	}
	return g.tensors(d, wanted), nil
}

// wanted are the outputs that a request names, or all.
func (g *Graph) wanted(names []string) ([]onnx.IO, error) {
	if len(names) == 0 {
		return g.outputs, nil
	}
	var out []onnx.IO
	for _, name := range names {
		i := slices.IndexFunc(g.outputs, func(v onnx.IO) bool { return v.Name == name })
		if i < 0 {
			return nil, &TensorError{name, fmt.Errorf("is not an output; the outputs are %s", listed(g.outputs))}
		}
		out = append(out, g.outputs[i])
	}
	return out, nil
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

// prices are those of the request for n rows: none, one row, or one for each row of features.
func (g *Graph) prices(inputs map[string]*onnx.Tensor, n int) ([]policy.Prices, error) {
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
	base := policy.PricesOf(info.Actions, info.Lambda)
	out := make([]policy.Prices, rows)
	for i := range out {
		out[i] = base
	}
	if err := fillFees(out, inputs, policy.ExpertFeesInput, func(p *policy.Prices, v []float32) { p.Experts = v }); err != nil {
		return nil, err
	}
	if err := fillFees(out, inputs, policy.AdviceFeesInput, func(p *policy.Prices, v []float32) { p.Advice = v }); err != nil {
		return nil, err
	}
	if err := fillFees(out, inputs, policy.PairFeesInput, func(p *policy.Prices, v []float32) { p.Pairs = v }); err != nil {
		return nil, err
	}
	if t := inputs[policy.AvailableInput]; t != nil {
		values, width := t.Bools(), int(t.Shape[1])
		for i := range out {
			at := min(i, int(t.Shape[0])-1) * width
			out[i].Available = values[at : at+width]
		}
	}
	return out, nil
}

// fillFees sets the fees of an input in each row of prices; one row of fees is for all.
func fillFees(out []policy.Prices, inputs map[string]*onnx.Tensor, name string, set func(p *policy.Prices, v []float32)) error {
	t := inputs[name]
	if t == nil {
		return nil
	}
	values, width := t.Float32s(), int(t.Shape[1])
	if i := finite.First(values); i >= 0 {
		return &TensorError{name, fmt.Errorf("fee %d of row %d is %v", i%width, i/width, values[i])}
	}
	for i := range out {
		at := min(i, int(t.Shape[0])-1) * width
		set(&out[i], values[at:at+width])
	}
	return nil
}

// tensors are decisions as the outputs of the graph.
func (g *Graph) tensors(d *policy.Decisions, wanted []onnx.IO) map[string]*onnx.Tensor {
	rows := int64(len(d.Action))
	ints := map[string][]int64{policy.ActionOutput: d.Action, policy.ExpertOutput: d.Expert, policy.AdviceOutput: d.Advice}
	floats := map[string][]float32{policy.ScoresOutput: d.Scores, policy.LossOutput: d.Loss, policy.CostOutput: d.Cost}
	out := make(map[string]*onnx.Tensor, len(wanted))
	for _, w := range wanted {
		if v, ok := ints[w.Name]; ok {
			out[w.Name] = onnx.Int64s([]int64{rows}, v)
		} else {
			out[w.Name] = onnx.Float32s([]int64{rows, int64(d.Actions)}, floats[w.Name])
		}
	}
	return out
}
