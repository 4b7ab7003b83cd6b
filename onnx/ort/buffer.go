package ort

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	yort "github.com/yalue/onnxruntime_go"

	"pipe/onnx"
)

// Buffer is a tensor that stays in place between calls: RunBuffers reads and
// writes it without copying, so the output of one call can be the input of the
// next. Its views are valid for as long as the caller keeps them, even after
// Close. Do not touch a view while a call that uses the buffer is running.
type Buffer struct {
	dtype onnx.DType
	shape []int64
	data  []byte
	mem   *memory
	clean runtime.Cleanup
}

// memory is the native half of a Buffer. It is separate so that a Buffer that was dropped without Close can still be
// cleaned up.
type memory struct {
	value yort.Value
	pin   runtime.Pinner

	mu      sync.Mutex
	readers int
	writing bool
	closed  bool
}

// NewBuffer returns a zeroed buffer. An empty shape is a scalar.
func (r *Runtime) NewBuffer(t onnx.DType, shape ...int64) (*Buffer, error) {
	n, err := count(shape)
	if err != nil {
		return nil, fmt.Errorf("new buffer: %w", err)
	}
	size := t.Size()
	if size == 0 {
		return nil, fmt.Errorf("new buffer: type %v is not supported", t)
	}
	return newBuffer(t, shape, allocate(n*size))
}

// BufferOf returns a buffer that holds a copy of t.
func (r *Runtime) BufferOf(t *onnx.Tensor) (*Buffer, error) {
	b, err := r.NewBuffer(t.DType, t.Shape...)
	if err != nil {
		return nil, err
	}
	if len(t.Raw) != len(b.data) {
		return nil, errors.Join(fmt.Errorf("new buffer: %d bytes do not fill shape %v of %v", len(t.Raw), t.Shape, t.DType), b.Close())
	}
	copy(b.data, t.Raw)
	return b, nil
}

// newBuffer takes ownership of data, whose length must match the shape.
func newBuffer(t onnx.DType, shape []int64, data []byte) (*Buffer, error) {
	mem := &memory{}
	value, data, err := wrap(t, shape, data, &mem.pin)
	if err != nil {
		mem.pin.Unpin()
		return nil, fmt.Errorf("new buffer: %w", native(err))
	}
	mem.value = value
	b := &Buffer{dtype: t, shape: slices.Clone(shape), data: data, mem: mem}
	b.clean = runtime.AddCleanup(b, func(m *memory) { m.close() }, mem)
	return b, nil
}

// Shape is the shape; empty for a scalar.
func (b *Buffer) Shape() []int64 { return slices.Clone(b.shape) }

// Bytes is a view of the content in the machine's byte order.
func (b *Buffer) Bytes() []byte { return b.data }

// Float32s is a view of the content; nil unless the type is Float32.
func (b *Buffer) Float32s() []float32 { return view[float32](b, onnx.Float32) }

// Int64s is a view of the content; nil unless the type is Int64.
func (b *Buffer) Int64s() []int64 { return view[int64](b, onnx.Int64) }

// Bools is a view of the content; nil unless the type is Bool.
func (b *Buffer) Bools() []bool { return view[bool](b, onnx.Bool) }

func view[T any](b *Buffer, t onnx.DType) []T {
	if b.dtype != t {
		return nil
	}
	return viewOf[T](b.data)
}

// Close frees the native tensor, at once or when the calls that use it have ended. It is idempotent; later calls with
// the buffer fail with ErrClosed.
func (b *Buffer) Close() error {
	b.clean.Stop()
	return b.mem.close()
}

func (m *memory) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return m.freeIfIdle()
}

func (m *memory) freeIfIdle() error {
	if !m.closed || m.readers > 0 || m.writing || m.value == nil {
		return nil
	}
	err := m.value.Destroy()
	m.value = nil
	m.pin.Unpin()
	return err
}

// acquire reserves the buffer for a call: any number may read, or one write.
func (m *memory) acquire(write bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return ErrClosed
	case m.writing:
		return errors.New("is being written by another call or output")
	case write && m.readers > 0:
		return errors.New("is being read by this or another call")
	case write:
		m.writing = true
	default:
		m.readers++
	}
	return nil
}

func (m *memory) release(write bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if write {
		m.writing = false
	} else {
		m.readers--
	}
	_ = m.freeIfIdle() // releasing a tensor reports nothing
}
