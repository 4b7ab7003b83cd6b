package onnx

import (
	"errors"
	"fmt"
	"os"
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

// inFolder is the error of a read; if a folder was named instead of a file, its hint names the models there.
func inFolder(path string, err error) error {
	entries, failed := os.ReadDir(path)
	if failed != nil {
		return err
	}
	var models []string
	for _, e := range entries {
		if !e.IsDir() && filepath.Ext(e.Name()) == ".onnx" {
			models = append(models, filepath.Join(path, e.Name()))
		}
	}
	advice := "it has no .onnx file; name a file that ends in .onnx"
	if len(models) > 0 {
		advice = "name a file in it: " + textfile.Listed(models, 3)
	}
	return &textfile.Error{File: path, Err: &textfile.Fault{Msg: "is a folder, not a file", Advice: advice}}
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
		return nil, fmt.Errorf("read model: %w", inFolder(path, err))
	}
	m, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("read model %q: %w", path, err)
	}
	return m, nil
}
