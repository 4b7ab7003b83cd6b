package policies

import (
	"context"

	"pipe/onnx"
)

// tokens is the work of a job that encodes tensors.
type tokens struct {
	policy   *Policy
	in       map[string]*onnx.Tensor
	features []float32
}

// encodeTensors computes features of the inputs of the encoder in front. Tensors of several requests have several widths:
// each runs alone.
func (p *Policy) encodeTensors(ctx context.Context, in map[string]*onnx.Tensor) ([]float32, int, error) {
	t, rows := &tokens{policy: p, in: in}, 0
	for _, v := range in {
		rows = int(v.Shape[0])
	}
	j := &job{like: t, rows: rows, work: t, run: func(ctx context.Context, jobs []*job) {
		t.features, jobs[0].err = t.policy.router.EncodeTensors(ctx, t.in)
	}}
	if err := p.queues.encode.do(ctx, j); err != nil {
		return nil, 0, err
	}
	return t.features, rows, nil
}
