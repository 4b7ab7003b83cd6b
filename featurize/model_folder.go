package featurize

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"pipe/internal/digest"
	"pipe/internal/textfile"
	"pipe/onnx"
	"pipe/onnx/hf"
)

// modelFolder is a model folder in Hugging Face's format, or an export in one.
type modelFolder struct {
	path   string
	tower  hf.Tower    // the requested tower of a model with several
	export string      // the ONNX file; "": the graph is built of weights
	graph  *onnx.Model // of export, once it is read
	config hf.Config
}

// open reads config.json and looks for an export. A tower is taken of models
// that have it, or that nothing but an export of it is known of; an export needs
// no config.json. The export of a model with that tower alone may be called as
// that of a model without towers.
func (f *modelFolder) open(tower hf.Tower) error {
	c, err := hf.ReadConfig(f.path)
	if err == nil {
		f.config = *c
	}
	if f.config.Has(tower) {
		f.tower = tower
	}
	towers := []hf.Tower{f.tower, tower}
	if len(f.config.Towers) == 1 {
		towers = append(towers, "")
	}
	for _, t := range towers {
		if export, found := hf.ExportOf(f.path, t); found && f.export == "" {
			f.export, f.tower = export, cmp.Or(t, f.tower)
		}
	}
	switch {
	case f.export != "" && errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && f.tower == "" && f.export == "" && len(f.config.Towers) > 0:
		return fmt.Errorf("a model of type %q has the towers %q, not %q", f.config.ModelType, f.config.Towers, tower)
	}
	return err
}

// readExport is the graph of the export.
func (f *modelFolder) readExport() (*onnx.Model, error) {
	var err error
	if f.graph == nil {
		f.graph, err = onnx.ReadFile(f.export)
	}
	return f.graph, err
}

// weights digests the files that the graph was made of, one after the other.
func (f *modelFolder) weights() (string, error) {
	files, err := f.files()
	if err != nil {
		return "", err
	}
	all := digest.New()
	for _, path := range files {
		one, err := fileSum(path)
		if err != nil {
			return "", err
		}
		all.Write(one)
	}
	return digest.Sum(all), nil
}

func (f *modelFolder) files() ([]string, error) {
	if f.export == "" {
		return hf.ModelFiles(f.path)
	}
	b, err := textfile.ReadFile(f.export, textfile.MaxModel)
	if err != nil {
		return nil, err
	}
	m, err := onnx.Parse(b) // again: the side files' data is inside of the graph that was read
	if err != nil {
		return nil, err
	}
	files := []string{f.export}
	side, err := m.ExternalFiles()
	for _, name := range side {
		files = append(files, filepath.Join(filepath.Dir(f.export), name))
	}
	return files, err
}

func fileSum(path string) ([]byte, error) {
	f, _, err := textfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return sum.Sum(nil), err
}
