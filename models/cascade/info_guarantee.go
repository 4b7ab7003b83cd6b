package cascade

import (
	"errors"
	"fmt"

	"pipe/models/policy"
	"pipe/onnx"
)

// Promises reports whether the guarantee of the file is about prices, see policy.Info.Promises.
func (i *Info) Promises(p *policy.Prices) bool { return i.once().Promises(p) }

// WithGuarantee is a cascade file with the output [AcceptedOutput] and the guarantee in its metadata: an answer that the cascade accepts
// is accepted by the guarantee, too, if the loss that is expected of it then is at most the threshold. m is not changed, and its constants
// are shared. A file with a guarantee is an error.
func WithGuarantee(m *onnx.Model, g policy.Guarantee) (*onnx.Model, error) {
	info, err := Parse(m)
	if err != nil {
		return nil, err
	}
	if info.Guarantee != nil {
		return nil, errors.New("the cascade has a guarantee already: calibrate the one without")
	}
	if err := g.Check(info.Actions); err != nil {
		return nil, fmt.Errorf("guarantee: %w", err)
	}
	b := onnx.NewGraph("accept")
	batch := onnx.Shape{onnx.Sym("batch")}
	accept := b.Input(AcceptOutput, onnx.Bool, batch)
	connect := map[string]string{AcceptOutput: AcceptOutput}
	if g.Threshold == nil {
		b.Output(AcceptedOutput, b.And(accept, accept))
	} else {
		connect[LossOutput] = LossOutput
		threshold := b.NamedConst("threshold", onnx.Float32s([]int64{1}, []float32{float32(*g.Threshold)}))
		b.Output(AcceptedOutput, b.And(accept, b.LessOrEqual(b.Input(LossOutput, onnx.Float32, batch), threshold)))
	}
	graph, err := b.Build(onnx.BuildOptions{})
	if err != nil {
		return nil, err
	}
	out, err := g.Add(m, graph, connect, formatGuarantee)
	if err == nil {
		_, err = Parse(out)
	}
	return out, err
}
