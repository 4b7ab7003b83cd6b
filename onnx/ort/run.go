package ort

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	yort "github.com/yalue/onnxruntime_go"

	"pipe/onnx"
)

// Run computes the graph on named inputs and returns all outputs by name. Inputs are read in place and must not change
// during the call; outputs are new Go memory.
func (s *Session) Run(ctx context.Context, inputs map[string]*onnx.Tensor) (map[string]*onnx.Tensor, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	in := make([]yort.Value, len(s.inputs))
	out := make([]yort.Value, len(s.outputs))
	defer destroyAll(in)
	defer destroyAll(out)
	if err := s.wrapInputs(in, inputs, &pin); err != nil {
		return nil, fmt.Errorf("run %q: %w", s.name, err)
	}
	scalars, err := s.prepareScalars(out, &pin)
	if err != nil {
		return nil, fmt.Errorf("run %q: %w", s.name, err)
	}
	if err := s.call(ctx, in, out); err != nil {
		return nil, err
	}
	return s.collect(out, scalars)
}

func destroyAll(values []yort.Value) {
	for _, v := range values {
		if v != nil {
			_ = v.Destroy() // releasing a tensor reports nothing
		}
	}
}

func (s *Session) wrapInputs(in []yort.Value, given map[string]*onnx.Tensor, pin *runtime.Pinner) error {
	for i, io := range s.inputs {
		t := given[io.Name]
		if t == nil {
			return fmt.Errorf("input %q is missing", io.Name)
		}
		v, err := wrapTensor(t, pin)
		if err != nil {
			return fmt.Errorf("input %q: %w", io.Name, err)
		}
		in[i] = v
	}
	if len(given) == len(s.inputs) {
		return nil
	}
	for name := range given {
		if indexOf(s.inputs, name) < 0 {
			return fmt.Errorf("has no input %q: it has %q", name, names(s.inputs))
		}
	}
	return nil
}

func wrapTensor(t *onnx.Tensor, pin *runtime.Pinner) (yort.Value, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	if t.DType == onnx.String {
		return wrapText(t)
	}
	data := t.Raw
	if len(data) > 0 && uintptr(unsafe.Pointer(&data[0]))%uintptr(t.DType.Size()) != 0 {
		data = allocate(len(t.Raw)) // a slice from a file may be unaligned
		copy(data, t.Raw)
	}
	v, _, err := wrap(t.DType, t.Shape, data, pin)
	return v, err
}

// prepareScalars allocates rank-0 outputs beforehand: the binding can allocate any tensor except a scalar.
func (s *Session) prepareScalars(out []yort.Value, pin *runtime.Pinner) ([][]byte, error) {
	storage := make([][]byte, len(out))
	for i, io := range s.outputs {
		if !s.isScalar(io) {
			continue
		}
		v, data, err := wrapScalar(io.DType, nil, pin)
		if err != nil {
			return nil, fmt.Errorf("output %q: %w", io.Name, err)
		}
		out[i], storage[i] = v, data
	}
	return storage, nil
}

func (s *Session) isScalar(io onnx.IO) bool {
	return len(io.Shape) == 0 && !s.unranked[io.Name]
}

// collect turns native outputs into tensors.
func (s *Session) collect(out []yort.Value, scalars [][]byte) (map[string]*onnx.Tensor, error) {
	result := make(map[string]*onnx.Tensor, len(out))
	for i, io := range s.outputs {
		if scalars[i] != nil {
			result[io.Name] = &onnx.Tensor{DType: io.DType, Raw: slices.Clone(scalars[i])}
			continue
		}
		t, err := toTensor(out[i])
		if err != nil {
			return nil, fmt.Errorf("run %q: output %q: %w", s.name, io.Name, err)
		}
		result[io.Name] = t
	}
	return result, nil
}

func toTensor(v yort.Value) (*onnx.Tensor, error) {
	if text, ok := v.(*yort.StringTensor); ok {
		content, err := text.GetContents()
		return &onnx.Tensor{DType: onnx.String, Shape: text.GetShape(), Text: content}, err
	}
	t, shape, data, err := unwrap(v)
	return &onnx.Tensor{DType: t, Shape: shape, Raw: data}, err
}

// RunBuffers computes every output from in, in place. in and out are in the order of Inputs and Outputs. An out[i] that
// is nil is allocated, stored in out[i] and then belongs to the caller; a given one must have exactly the shape of the
// result. A buffer cannot be written while it is read, neither by this call nor by another. After an error the outputs
// are undefined, and the inputs unchanged.
func (s *Session) RunBuffers(ctx context.Context, in, out []*Buffer) error {
	if len(in) != len(s.inputs) || len(out) != len(s.outputs) {
		return fmt.Errorf("run %q: got %d inputs and %d outputs, the model has %d and %d",
			s.name, len(in), len(out), len(s.inputs), len(s.outputs))
	}
	values := make([]yort.Value, len(in)+len(out))
	ins, outs := values[:len(in)], values[len(in):]
	held, err := hold(in, ins, s.inputs, false)
	defer release(in[:held], false)
	if err != nil {
		return fmt.Errorf("run %q: input %w", s.name, err)
	}
	fresh, err := s.scalarBuffers(out)
	if err != nil {
		return fmt.Errorf("run %q: %w", s.name, err)
	}
	held, err = hold(out, outs, s.outputs, true)
	written := slices.Clone(out[:held])
	defer release(written, true)
	if err == nil {
		err = s.call(ctx, ins, outs)
	} else {
		err = fmt.Errorf("run %q: output %w", s.name, err)
	}
	if err == nil {
		err = s.keep(out, outs)
	}
	if err != nil {
		s.discard(out, fresh)
	}
	return err
}

// hold reserves buffers and stores their native tensors; nil buffers are skipped. It returns the number of buffers
// processed.
func hold(buffers []*Buffer, values []yort.Value, io []onnx.IO, write bool) (int, error) {
	for i, b := range buffers {
		if b == nil {
			if write {
				continue
			}
			return i, fmt.Errorf("%q is missing", io[i].Name)
		}
		if err := b.mem.acquire(write); err != nil {
			return i, fmt.Errorf("%q: buffer %w", io[i].Name, err)
		}
		values[i] = b.mem.value
	}
	return len(buffers), nil
}

func release(buffers []*Buffer, write bool) {
	for _, b := range buffers {
		if b != nil {
			b.mem.release(write)
		}
	}
}

// scalarBuffers fills nil rank-0 outputs and returns their positions.
func (s *Session) scalarBuffers(out []*Buffer) (fresh []int, err error) {
	for i, io := range s.outputs {
		if out[i] != nil || !s.isScalar(io) {
			continue
		}
		if out[i], err = newBuffer(io.DType, nil, nil); err != nil {
			s.discard(out, fresh)
			return nil, fmt.Errorf("output %q: %w", io.Name, err)
		}
		fresh = append(fresh, i)
	}
	return fresh, nil
}

func (s *Session) discard(out []*Buffer, fresh []int) {
	for _, i := range fresh {
		_ = out[i].Close() // releasing a tensor reports nothing
		out[i] = nil
	}
}

// keep wraps the outputs that the runtime allocated.
func (s *Session) keep(out []*Buffer, values []yort.Value) error {
	var errs []error
	for i, b := range out {
		if b != nil {
			continue
		}
		t, shape, data, err := unwrap(values[i])
		if err == nil {
			out[i], err = newBuffer(t, shape, data)
		}
		_ = values[i].Destroy() // the data is Go memory and stays
		if err != nil {
			errs = append(errs, fmt.Errorf("run %q: output %q: %w", s.name, s.outputs[i].Name, err))
		}
	}
	return errors.Join(errs...)
}
