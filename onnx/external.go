package onnx

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"pipe/onnx/onnxpb"
)

// external is the location of the data of a tensor; length -1 means up to the end of the file.
type external struct {
	location       string
	offset, length int64
}

func parseExternal(t *onnxpb.TensorProto) (external, error) {
	e := external{length: -1}
	for _, p := range t.GetExternalData() {
		var err error
		switch p.GetKey() {
		case "location":
			e.location = p.GetValue()
		case "offset":
			e.offset, err = strconv.ParseInt(p.GetValue(), 10, 64)
		case "length":
			e.length, err = strconv.ParseInt(p.GetValue(), 10, 64)
			if err == nil && e.length < 0 {
				err = errors.New("negative")
			}
		}
		if err != nil {
			return e, fmt.Errorf("external data: %s %q: %w", p.GetKey(), p.GetValue(), err)
		}
	}
	if e.offset < 0 {
		return e, fmt.Errorf("external data: offset %d", e.offset)
	}
	return e, e.checkLocation()
}

// checkLocation refuses every file outside the folder of the model, also if the path is read as on Windows.
func (e external) checkLocation() error {
	p := strings.ReplaceAll(e.location, `\`, "/")
	if p == "" || strings.ContainsRune(p, ':') || !filepath.IsLocal(filepath.FromSlash(p)) {
		return fmt.Errorf("external data: location %q is not inside the model's folder", e.location)
	}
	return nil
}

// loadExternal loads the data of side files in dir into the model.
func (m *Model) loadExternal(dir string) error {
	var files sideFiles
	defer files.close()
	return m.eachTensor(func(t *onnxpb.TensorProto) error {
		if t.GetDataLocation() != onnxpb.TensorProto_EXTERNAL {
			return nil
		}
		raw, err := files.read(dir, t)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", t.GetName(), err)
		}
		t.RawData, t.ExternalData, t.DataLocation = raw, nil, nil
		return nil
	})
}

// sideFiles keeps files open that several tensors share. They are opened through the root of the folder, so that no
// symbolic link leads out of it.
type sideFiles struct {
	root *os.Root
	open map[string]*os.File
}

func (f *sideFiles) close() {
	for _, file := range f.open {
		file.Close()
	}
	if f.root != nil {
		f.root.Close()
	}
}

func (f *sideFiles) file(dir, location string) (*os.File, error) {
	if f.root == nil {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		f.root, f.open = root, map[string]*os.File{}
	}
	if file, ok := f.open[location]; ok {
		return file, nil
	}
	path := filepath.FromSlash(location)
	info, err := f.root.Stat(path) // opening a pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is not a regular file", location)
	}
	file, err := f.root.Open(path)
	if err != nil {
		return nil, err
	}
	f.open[location] = file
	return file, nil
}

func (f *sideFiles) read(dir string, t *onnxpb.TensorProto) ([]byte, error) {
	e, err := parseExternal(t)
	if err != nil {
		return nil, err
	}
	file, err := f.file(dir, e.location)
	if err != nil {
		return nil, fmt.Errorf("external data: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("external data: %w", err)
	}
	if e.length < 0 {
		e.length = info.Size() - e.offset
	}
	if e.length < 0 || e.offset > info.Size()-e.length {
		return nil, fmt.Errorf("external data: bytes %d to %d of %q, which has %d",
			e.offset, e.offset+e.length, e.location, info.Size())
	}
	if err := wantBytes(t, e.length); err != nil {
		return nil, err
	}
	raw := make([]byte, e.length)
	if _, err := file.ReadAt(raw, e.offset); err != nil && err != io.EOF {
		return nil, fmt.Errorf("external data: %w", err)
	}
	return raw, nil
}

// wantBytes compares a length with type and shape before memory is allocated.
func wantBytes(t *onnxpb.TensorProto, length int64) error {
	n, err := elementCount(t.GetDims())
	if err != nil {
		return err
	}
	size := int64(DType(t.GetDataType()).Size())
	if size > 0 && (n > math.MaxInt64/size || n*size != length) {
		return fmt.Errorf("external data: %d bytes for %s of shape %v", length, DType(t.GetDataType()), t.GetDims())
	}
	return nil
}

// externalAlign is the alignment that readers that map files into memory expect.
const externalAlign = 4096

// WriteExternal writes the model with the data of all constants of at least threshold bytes in one side file, path +
// ".data", as needed for models of 2 GB and more. The side file is complete before the model file appears. If both
// existed before, a crash in between leaves the old model with the new data.
func (m *Model) WriteExternal(path string, threshold int) error {
	side := path + ".data"
	var light *Model
	if err := writeAtomic(side, func(w io.Writer) (err error) {
		light, err = m.splitData(filepath.Base(side), threshold, w)
		return err
	}); err != nil {
		return fmt.Errorf("write model %q: %w", path, err)
	}
	return light.WriteFile(path)
}

// splitData writes large data to w and returns a model that refers to it; the
// data itself is not copied.
func (m *Model) splitData(location string, threshold int, w io.Writer) (*Model, error) {
	light := m.shallow()
	g := light.Proto.Graph
	g.Initializer = nil
	offset := int64(0)
	for _, t := range m.Proto.GetGraph().GetInitializer() {
		if len(t.GetRawData()) < threshold || t.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
			g.Initializer = append(g.Initializer, t)
			continue
		}
		gap := (externalAlign - offset%externalAlign) % externalAlign
		if _, err := w.Write(make([]byte, gap)); err != nil {
			return nil, err
		}
		if _, err := w.Write(t.RawData); err != nil {
			return nil, err
		}
		offset += gap
		g.Initializer = append(g.Initializer, reference(t, location, offset))
		offset += int64(len(t.RawData))
	}
	return light, nil
}

func reference(t *onnxpb.TensorProto, location string, offset int64) *onnxpb.TensorProto {
	pair := func(k, v string) *onnxpb.StringStringEntryProto {
		return &onnxpb.StringStringEntryProto{Key: proto.String(k), Value: proto.String(v)}
	}
	return &onnxpb.TensorProto{
		Name: t.Name, Dims: t.Dims, DataType: t.DataType,
		DataLocation: onnxpb.TensorProto_EXTERNAL.Enum(),
		ExternalData: []*onnxpb.StringStringEntryProto{
			pair("location", location),
			pair("offset", strconv.FormatInt(offset, 10)),
			pair("length", strconv.Itoa(len(t.RawData))),
		},
	}
}

// ExternalFiles lists the files with data that Parse did not load, relative to the model's folder and sorted. A
// location outside the folder is an error.
func (m *Model) ExternalFiles() ([]string, error) {
	files := map[string]bool{}
	err := m.eachTensor(func(t *onnxpb.TensorProto) error {
		if t.GetDataLocation() != onnxpb.TensorProto_EXTERNAL {
			return nil
		}
		e, err := parseExternal(t)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", t.GetName(), err)
		}
		files[e.location] = true
		return nil
	})
	return slices.Sorted(maps.Keys(files)), err
}
