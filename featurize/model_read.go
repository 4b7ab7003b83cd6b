package featurize

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/outside"
	"pipe/onnx"
	"pipe/onnx/hf"
)

// modelReader reads a model from the folder or file of its name.
type modelReader[M interface{ check() error }] struct {
	folder func(modelFolder) (M, error) // of a folder, or of an export with the folder around it
	file   func(*onnx.Model) (M, error) // of a file that Encoder made
}

// readModel reads the encoder of a name and checks that its parts are consistent. A model that is not found gives an
// *hf.MissingModelError. One that cannot be used gives a *dataerror.Error, and so does a panic of a reader.
func readModel[M interface{ check() error }](name string, r modelReader[M]) (m M, err error) {
	path, err := hf.Resolve(name)
	if err != nil {
		return m, err
	}
	read, err := outside.Read(func() (M, error) { return r.read(path) })
	if err == nil {
		err = read.check()
	}
	if err != nil {
		return m, fmt.Errorf("read encoder: %w", &dataerror.Error{File: name, Err: err})
	}
	return read, nil
}

func (r modelReader[M]) read(path string) (m M, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return m, err
	}
	if info.IsDir() {
		return r.folder(modelFolder{path: path})
	}
	graph, err := onnx.ReadFile(path)
	if err != nil {
		return m, err
	}
	if graph.Metadata()[keyKind] == EncoderKind {
		return r.file(graph)
	}
	return r.folder(modelFolder{path: hf.FolderOf(path), export: path, graph: graph})
}

// exportNames are the files of exports, without .onnx.
func exportNames() []string {
	names := []string{"model"}
	for _, in := range encoderInputs {
		names = append(names, string(in.tower)+"_model")
	}
	return names
}

// modelName is the last meaningful part of a name.
func modelName(name string) string {
	name = strings.TrimSuffix(filepath.ToSlash(filepath.Clean(name)), ".onnx")
	for _, file := range exportNames() {
		name = strings.TrimSuffix(name, "/"+file)
	}
	return filepath.Base(strings.TrimSuffix(name, "/onnx"))
}
