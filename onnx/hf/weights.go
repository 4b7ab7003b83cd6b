package hf

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pipe/internal/strictjson"
	"pipe/internal/textfile"
	"pipe/onnx"
)

const (
	wholeFile = "model.safetensors"
	indexFile = "model.safetensors.index.json"
)

// weights are the tensors of a checkpoint: of one file, or of the shards that an
// index lists.
type weights struct {
	files map[string]*onnx.Safetensors
	where map[string]string // the file of each tensor
	err   error             // the first of get
}

// ModelFiles lists the files from which Model builds a graph: the weight files, sorted, the index of the shards if
// there is one, and config.json.
func ModelFiles(folder string) ([]string, error) {
	where, err := readIndex(folder)
	if err != nil {
		return nil, fmt.Errorf("read weights of %q: %w", folder, err)
	}
	if where == nil {
		return []string{filepath.Join(folder, wholeFile), filepath.Join(folder, configFile)}, nil
	}
	names := map[string]bool{indexFile: true}
	for _, name := range where {
		names[name] = true
	}
	var files []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		files = append(files, filepath.Join(folder, name))
	}
	return append(files, filepath.Join(folder, configFile)), nil
}

// readIndex gives the file of every tensor; nil if one file has all.
func readIndex(folder string) (map[string]string, error) {
	if _, err := os.Stat(filepath.Join(folder, wholeFile)); err == nil {
		return nil, nil
	}
	text, err := textfile.ReadFile(filepath.Join(folder, indexFile), textfile.MaxWhole)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no %s, nor %s of shards: %w", wholeFile, indexFile, err)
	}
	if err != nil {
		return nil, err
	}
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := strictjson.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("%s: %w", indexFile, err)
	}
	for tensor, file := range index.Map {
		if file != filepath.Base(file) || !filepath.IsLocal(file) || !strings.HasSuffix(file, ".safetensors") {
			return nil, fmt.Errorf("%s: tensor %q is in %q, not in a safetensors file of the folder", indexFile, tensor, file)
		}
	}
	if len(index.Map) == 0 {
		return nil, fmt.Errorf("%s lists no tensors", indexFile)
	}
	return index.Map, nil
}

// openWeights opens the checkpoint of a folder; close it after use.
func openWeights(folder string) (*weights, error) {
	where, err := readIndex(folder)
	if err != nil {
		return nil, err
	}
	w := &weights{files: map[string]*onnx.Safetensors{}, where: where}
	if where == nil {
		w.where = map[string]string{}
		err = w.open(folder, wholeFile)
		if err == nil {
			for _, name := range w.files[wholeFile].Names() {
				w.where[name] = wholeFile
			}
		}
	}
	for _, file := range slices.Sorted(maps.Values(where)) {
		if err == nil && w.files[file] == nil {
			err = w.open(folder, file)
		}
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *weights) open(folder, file string) error {
	s, err := onnx.OpenSafetensors(filepath.Join(folder, file))
	if err == nil {
		w.files[file] = s
	}
	return err
}

func (w *weights) close() {
	for _, f := range w.files {
		f.Close() // opened only for reading
	}
}

func (w *weights) has(name string) bool { return w.where[name] != "" }

// get reads a tensor as float32 and compares its shape with the one of the configuration. After the first error, which
// is kept in w, it returns an empty tensor.
func (w *weights) get(name string, shape ...int64) *onnx.Tensor {
	none := &onnx.Tensor{DType: onnx.Float32, Shape: []int64{0}}
	if w.err != nil {
		return none
	}
	t, err := w.read(name, shape)
	if err != nil {
		w.err = err
		return none
	}
	return t
}

func (w *weights) read(name string, shape []int64) (*onnx.Tensor, error) {
	f := w.files[w.where[name]]
	if f == nil {
		return nil, fmt.Errorf("the weights have no tensor %q", name)
	}
	dtype, have, ok := f.Lookup(name)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s has no tensor %q, although %s lists it there", w.where[name], name, indexFile)
	case !slices.Equal(have, shape):
		return nil, fmt.Errorf("tensor %q has shape %v, config.json asks for %v", name, have, shape)
	case !dtype.IsFloat():
		return nil, fmt.Errorf("tensor %q holds %s", name, dtype)
	}
	t, err := f.Tensor(name)
	if err == nil {
		t, err = t.ToFloat32()
	}
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", name, err)
	}
	return t, nil
}
