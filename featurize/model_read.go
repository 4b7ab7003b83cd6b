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

// modelReader makes a model of what its name leads to.
type modelReader[M interface{ check() error }] struct {
	folder func(modelFolder) (M, error) // of a folder, or of an export with the folder around it
	file   func(*onnx.Model) (M, error) // of a file that Encoder made
}

// readModel reads the encoder of a name and holds its parts against each other. A model that is nowhere is an
// *hf.MissingModelError, one that cannot be used a *dataerror.Error; so is a panic of a reader.
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

// modelName is the last part of a name that says something.
func modelName(name string) string {
	name = strings.TrimSuffix(filepath.ToSlash(filepath.Clean(name)), ".onnx")
	for _, file := range exportNames() {
		name = strings.TrimSuffix(name, "/"+file)
	}
	return filepath.Base(strings.TrimSuffix(name, "/onnx"))
}
