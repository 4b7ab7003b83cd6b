package onnx

import (
	"errors"
	"fmt"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"pipe/internal/outside"
	"pipe/internal/textfile"
	"pipe/onnx/onnxpb"
)

// Parse reads the bytes of a model file. It does not Check the model, and does not load data in other files; see
// ReadFile.
func Parse(b []byte) (*Model, error) {
	p := &onnxpb.ModelProto{}
	// Unknown fields of newer versions are kept and written back.
	if err := outside.Check(func() error { return proto.Unmarshal(b, p) }); err != nil {
		return nil, fmt.Errorf("parse model: not an ONNX file: %w", err)
	}
	if p.GetGraph() == nil {
		return nil, errors.New("parse model: no graph; not an ONNX file")
	}
	return &Model{Proto: p}, nil
}

// ReadFile reads a model file. Data that is kept in other files is read too, from the same folder and from nowhere
// else, so that the model is complete.
func ReadFile(path string) (*Model, error) {
	m, err := parseFile(path)
	if err != nil {
		return nil, err
	}
	if err := m.loadExternal(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("read model %q: %w", path, err)
	}
	return m, nil
}

// ExternalFiles lists the files beside a model file that hold data of its tensors, as paths within its folder, sorted.
// It reads only the model file, not the data.
func ExternalFiles(path string) ([]string, error) {
	m, err := parseFile(path)
	if err != nil {
		return nil, err
	}
	return m.ExternalFiles()
}

// parseFile reads a model file without its side files.
func parseFile(path string) (*Model, error) {
	b, err := textfile.ReadFile(path, textfile.MaxModel)
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}
	m, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("read model %q: %w", path, err)
	}
	return m, nil
}
