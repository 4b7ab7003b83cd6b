package expert

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"pipe/costs"
	"pipe/internal/parallel"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// RowModel is an ONNX graph that maps rows of float32 values to probabilities of classes. It is safe for concurrent use.
type RowModel struct {
	runtime *ort.Runtime
	session runner
	input   string
	output  string
	shape   []int64 // of one row
	width   int     // values of one row
	fixed   int     // batch size that the graph fixes; 0: any
	batch   int     // rows per call if the graph takes any number
	classes int
	logits  bool // scores are logits, not probabilities

	slots   callSlots // limit the concurrent calls of a build; nil: the calls of one batch run one after the other
	buffers sync.Pool // of *ort.Buffer, inputs of calls
}

// NewRowModel returns the model of a session that maps rows of width float32 values to the probabilities of classes. Of two
// classes the session may return only the second one's: then classes is 1. A call takes at most batch rows, unless the
// graph fixes the number of rows. The model owns the session; NewRowModel closes it on an error. The session must have one
// input and one output, both float32, that fit width and classes; anything else is an error.
func NewRowModel(rt *ort.Runtime, session *ort.Session, width, classes, batch int) (*RowModel, error) {
	m := &RowModel{runtime: rt, session: session, batch: batch}
	err := m.bind(classes)
	if err == nil {
		err = m.setShape(int64(width))
	}
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return m, nil
}

// runner is the part of an *ort.Session that a RowModel needs.
type runner interface {
	Inputs() []onnx.IO
	Outputs() []onnx.IO
	RunBuffers(ctx context.Context, in, out []*ort.Buffer) error
	Close() error
}

// largestInput is the largest number of values per call, 1 GiB of float32, since a graph can declare any number.
const largestInput = 1 << 28

// bind finds the input, the output and the number of rows of a call.
func (m *RowModel) bind(labels int) error {
	in, out := m.session.Inputs(), m.session.Outputs()
	if len(in) != 1 {
		return fmt.Errorf("has %d inputs; a classifier must have one", len(in))
	}
	if len(out) != 1 {
		return fmt.Errorf("has %d outputs; name the one with the scores (output: NAME)", len(out))
	}
	if in[0].DType != onnx.Float32 || out[0].DType != onnx.Float32 {
		return fmt.Errorf("input %q is %v and output %q is %v; both must be float32", in[0].Name, in[0].DType, out[0].Name, out[0].DType)
	}
	if len(in[0].Shape) < 2 {
		return fmt.Errorf("input %q has shape %v; the first axis must be the batch", in[0].Name, in[0].Shape)
	}
	m.input, m.output, m.classes, m.width = in[0].Name, out[0].Name, labels, 1
	if d := in[0].Shape[0]; d.Name == "" {
		if d.Size < 1 || d.Size > largestInput {
			return fmt.Errorf("input %q has shape %v: batch size out of range", in[0].Name, in[0].Shape)
		}
		m.fixed = int(d.Size)
	}
	for _, d := range in[0].Shape[1:] {
		if d.Name == "" && (d.Size < 1 || d.Size > int64(largestInput/m.width)) {
			return fmt.Errorf("input %q has shape %v: row size out of range", in[0].Name, in[0].Shape)
		}
		if d.Name != "" {
			m.shape = append(m.shape, -1)
			continue
		}
		m.shape = append(m.shape, d.Size)
		m.width *= int(d.Size)
	}
	if s := out[0].Shape; len(s) > 0 && s[len(s)-1].Name == "" && s[len(s)-1].Size != int64(labels) {
		return fmt.Errorf("output %q has shape %v for %d labels", out[0].Name, s, labels)
	}
	return nil
}

// setShape sets the shape of one row, which must match the axes that the graph fixes.
func (m *RowModel) setShape(want ...int64) error {
	if len(m.shape) != len(want) {
		return fmt.Errorf("input %q has %d axes besides the batch; it must have %d", m.input, len(m.shape), len(want))
	}
	m.width = 1
	for i, d := range m.shape {
		if d >= 0 && d != want[i] {
			return fmt.Errorf("input %q takes rows of shape %v, not %v", m.input, m.shape, want)
		}
		m.shape[i] = want[i]
		m.width *= int(want[i])
	}
	return nil
}

// Probabilities returns rows x classes probabilities for rows x width values. Outputs of the graph that are not
// probabilities are an error.
func (m *RowModel) Probabilities(ctx context.Context, values []float32) ([]float32, error) {
	return m.stream(ctx, len(values)/m.width, func(dst []float32, row int) error {
		copy(dst, values[row*m.width:])
		return nil
	})
}

// stream returns rows x classes probabilities for rows that fill writes: width values each. Calls run concurrently and
// fill their rows just before, so that only the rows of the calls in flight are in memory. fill must be safe for
// concurrent use.
func (m *RowModel) stream(ctx context.Context, rows int, fill func(dst []float32, row int) error) ([]float32, error) {
	out, step := make([]float32, rows*m.classes), m.batch
	if m.fixed > 0 {
		step = m.fixed
	}
	calls := (rows + step - 1) / step
	err := parallel.Each(ctx, max(1, cap(m.slots)), calls, func(ctx context.Context, i int) error {
		if m.slots != nil {
			select {
			case m.slots <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			defer func() { <-m.slots }()
		}
		return m.call(ctx, out[i*step*m.classes:min((i+1)*step, rows)*m.classes], i*step, fill)
	})
	return out, err
}

// call fills the rows that start at from and writes their probabilities into dst.
func (m *RowModel) call(ctx context.Context, dst []float32, from int, fill func(dst []float32, row int) error) error {
	rows := len(dst) / m.classes
	in, err := m.take(max(rows, m.fixed))
	if err != nil {
		return err
	}
	defer m.buffers.Put(in)
	values := in.Float32s()
	for i := range rows {
		if err := fill(values[i*m.width:(i+1)*m.width], from+i); err != nil {
			return err
		}
	}
	clear(values[rows*m.width:]) // unused rows of a graph with a fixed batch
	if err := m.run(ctx, dst, in); err != nil {
		return err
	}
	for i := range rows {
		if err := m.normalise(dst[i*m.classes : (i+1)*m.classes]); err != nil {
			return err
		}
	}
	return nil
}

// take returns a buffer for a number of rows, possibly one of an earlier call.
func (m *RowModel) take(rows int) (*ort.Buffer, error) {
	if rows > largestInput/m.width {
		return nil, fmt.Errorf("a call of %d rows of %d values is too large", rows, m.width)
	}
	if b, ok := m.buffers.Get().(*ort.Buffer); ok && b.Shape()[0] == int64(rows) {
		return b, nil
	}
	return m.runtime.NewBuffer(onnx.Float32, append([]int64{int64(rows)}, m.shape...)...)
}

// run writes the scores of the first rows of a call into dst.
func (m *RowModel) run(ctx context.Context, dst []float32, in *ort.Buffer) error {
	out := make([]*ort.Buffer, 1)
	if err := m.session.RunBuffers(ctx, []*ort.Buffer{in}, out); err != nil {
		return err
	}
	defer out[0].Close()
	scores := out[0].Float32s()
	if rows := int(in.Shape()[0]); len(scores) != rows*m.classes {
		return fmt.Errorf("output %q has shape %v for %d rows and %d labels", m.output, out[0].Shape(), rows, m.classes)
	}
	copy(dst, scores)
	return nil
}

// normalise makes one row of scores a distribution.
func (m *RowModel) normalise(row []float32) error {
	for i, v := range row {
		if v-v != 0 {
			return fmt.Errorf("output %q: score %d is %v", m.output, i, v)
		}
	}
	switch {
	case m.logits:
		softmax(row)
	case len(row) > 1: // a single probability, that of one label against the other, has no sum to check
		return m.checkDistribution(row)
	}
	return nil
}

// notOne is the tolerance for probabilities outside of 0..1, and for their sum.
// Each may also be off by half a step of 8 bits: some networks are quantised, with
// sums such as 0.97 over 1,001 classes.
const notOne = 1e-2

// checkDistribution rejects scores that should be probabilities but are not.
func (m *RowModel) checkDistribution(row []float32) error {
	var sum float64
	for _, v := range row {
		sum += float64(v)
	}
	if low, high := slices.Min(row), slices.Max(row); low < -notOne || high > 1+notOne || math.Abs(sum-1) > notOne+float64(len(row))/512 {
		return &costs.DataError{Msg: fmt.Sprintf("output %q has scores from %v to %v that sum to %.4g, so they are not probabilities; set scores: logits if they are logits", m.output, low, high, sum)}
	}
	return nil
}

// Close frees the model.
func (m *RowModel) Close() error { return m.session.Close() }

// callSlots limit how many models of a build run concurrently.
type callSlots chan struct{}

// softmax replaces logits by probabilities, in double precision.
func softmax(row []float32) {
	top := row[0]
	for _, v := range row {
		top = max(top, v)
	}
	var sum float64
	for _, v := range row {
		sum += math.Exp(float64(v - top))
	}
	for i, v := range row {
		row[i] = float32(math.Exp(float64(v-top)) / sum)
	}
}

// Argmax returns the index of the largest value of a row, the first one on ties. A row has at least one value.
func Argmax(row []float32) int {
	best := 0
	for i, v := range row {
		if v > row[best] {
			best = i
		}
	}
	return best
}
