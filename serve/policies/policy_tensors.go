package policies

import (
	"context"
	"errors"
	"fmt"

	"pipe/internal/parallel"
	"pipe/onnx"
	"pipe/pipeline/decide"
)

// tensorJob is the work of a job that encodes tensors.
type tensorJob struct {
	policy   *Policy
	in       map[string]*onnx.Tensor
	features []float32
}

// encodeTensors computes features from the inputs of the encoder of the graph, whose shapes were checked. Requests are not
// batched, because their widths differ. Large requests are split.
func (p *Policy) encodeTensors(ctx context.Context, in map[string]*onnx.Tensor) ([]float32, int, error) {
	rows, width := int(in[p.graph.inputs[0].Name].Shape[0]), int64(1)
	for name, t := range in {
		if n := int(t.Shape[0]); n != rows {
			return nil, 0, &TensorError{name, fmt.Errorf("has %d rows, another input has %d", n, rows)}
		}
		if t.DType == onnx.Int64 {
			width = max(width, t.Shape[1])
		} else {
			width = decide.ImageTokens
		}
	}
	q, dim := p.queues.encode, p.Info().Dim
	each := min(q.maxRows, max(1, q.maxLoad/int(width)))
	if rows <= each || p.graph.fixedRows() {
		features, err := p.encodeRows(ctx, in, rows, rows*int(width))
		return features, rows, err
	}
	out := make([]float32, rows*dim)
	err := parallel.Each(ctx, q.workers, (rows+each-1)/each, func(ctx context.Context, i int) error {
		first, end := i*each, min((i+1)*each, rows)
		features, err := p.encodeRows(ctx, sliceRows(in, first, end), end-first, (end-first)*int(width))
		copy(out[first*dim:end*dim], features)
		return offsetRow(err, first)
	})
	return out, rows, err
}

// encodeRows encodes tensors in one job.
func (p *Policy) encodeRows(ctx context.Context, in map[string]*onnx.Tensor, rows, load int) ([]float32, error) {
	t := &tensorJob{policy: p, in: in}
	j := &job{batchKey: t, rows: rows, load: load, work: t, run: func(ctx context.Context, jobs []*job) {
		t.features, jobs[0].err = t.policy.router.EncodeTensors(ctx, t.in)
	}}
	if err := p.queues.encode.do(ctx, j); err != nil {
		return nil, err
	}
	return t.features, nil
}

// sliceRows returns the rows of tensors from first to end, which share their memory.
func sliceRows(in map[string]*onnx.Tensor, first, end int) map[string]*onnx.Tensor {
	out := make(map[string]*onnx.Tensor, len(in))
	for name, t := range in {
		row := len(t.Raw) / int(t.Shape[0])
		shape := append([]int64{int64(end - first)}, t.Shape[1:]...)
		out[name] = &onnx.Tensor{DType: t.DType, Shape: shape, Raw: t.Raw[first*row : end*row]}
	}
	return out
}

// offsetRow adds the index of the first row of a part to the row that an error names.
func offsetRow(err error, first int) error {
	var row *decide.RowError
	if first > 0 && errors.As(err, &row) {
		return fmt.Errorf("decide: %w", &decide.RowError{Row: first + row.Row, Err: row.Err})
	}
	return err
}
