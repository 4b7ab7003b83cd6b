package onnx

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"pipe/internal/textfile"
)

// Safetensors is an open file in the safetensors format: 8 bytes with the length of a JSON header (little endian), the
// header, and the tensors' bytes, row-major and little endian, without gaps. Tensors are read on request. It is safe
// for concurrent use until Close.
type Safetensors struct {
	src     io.ReaderAt
	closer  io.Closer
	base    int64 // where the tensors' bytes begin
	entries map[string]tensorEntry
}

// OpenSafetensors opens a file and checks its header against its size: every tensor lies inside the file, and together
// they fill it without overlaps. Close it after use.
func OpenSafetensors(path string) (*Safetensors, error) {
	f, size, err := textfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read safetensors: %w", err)
	}
	s, err := readSafetensors(f, size)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read safetensors %q: %w", path, err)
	}
	s.closer = f
	return s, nil
}

func readSafetensors(src io.ReaderAt, size int64) (*Safetensors, error) {
	header, err := safetensorsHeader(src, size)
	if err != nil {
		return nil, err
	}
	s := &Safetensors{src: src, base: lengthBytes + int64(len(header))}
	if s.entries, err = parseSafetensorsHeader(header); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return s, checkLayout(s.entries, size-s.base)
}

// Names lists the tensors, sorted.
func (s *Safetensors) Names() []string { return slices.Sorted(maps.Keys(s.entries)) }

// Lookup gives type and shape of a tensor without reading it.
func (s *Safetensors) Lookup(name string) (DType, []int64, bool) {
	e, ok := s.entries[name]
	return e.dtype, slices.Clone(e.Shape), ok
}

// Tensor reads a tensor in its type in the file.
func (s *Safetensors) Tensor(name string) (*Tensor, error) {
	e, ok := s.entries[name]
	if !ok {
		return nil, fmt.Errorf("read safetensors: no tensor %q", name)
	}
	t := &Tensor{DType: e.dtype, Shape: slices.Clone(e.Shape), Raw: make([]byte, e.Offsets[1]-e.Offsets[0])}
	if _, err := s.src.ReadAt(t.Raw, s.base+e.Offsets[0]); err != nil && (len(t.Raw) > 0 || !errors.Is(err, io.EOF)) {
		return nil, fmt.Errorf("read safetensors: tensor %q: %w", name, err)
	}
	return t, nil
}

// Close closes the file.
func (s *Safetensors) Close() error { return s.closer.Close() }
