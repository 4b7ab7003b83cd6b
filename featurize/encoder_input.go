package featurize

import (
	"fmt"
	"os"
	"slices"

	"pipe/internal/dataerror"
	"pipe/onnx"
	"pipe/onnx/hf"
)

// EncoderInputs returns what an encoder reads: InputText, InputImage or both, the
// default first. The name is as for
// ReadTextModel and ReadImageModel. A file of pipe that holds no encoder alone is
// a *dataerror.Error.
func EncoderInputs(name string) ([]string, error) {
	path, err := hf.Resolve(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read encoder: %w", err)
	}
	if info.IsDir() {
		if inputs := towerInputs(path); inputs != nil {
			return inputs, nil
		}
		export, found := hf.Export(path)
		if !found {
			return []string{InputText}, nil // the reader of texts says what is missing
		}
		path = export
	}
	m, err := onnx.ReadFile(path)
	if err == nil {
		var input string
		if input, err = graphInput(m); err == nil {
			return []string{input}, nil
		}
	}
	return nil, fmt.Errorf("read encoder: %w", &dataerror.Error{File: name, Err: err})
}

// graphInput is what a graph says, else what the names and axes of its inputs are.
func graphInput(m *onnx.Model) (string, error) {
	if kind := m.Metadata()[keyKind]; kind != "" && kind != EncoderKind {
		return "", fmt.Errorf("is a %s, not an encoder alone", kind)
	}
	if about, ok, err := ParseEncoderInfo(m.Metadata()); ok {
		return about.Input, err
	}
	inputs := m.Inputs()
	switch {
	case slices.ContainsFunc(inputs, func(v onnx.IO) bool { return v.Name == textInputs[0] }):
		return InputText, nil
	case slices.ContainsFunc(inputs, maybeImages):
		return InputImage, nil
	}
	return "", fmt.Errorf("the graph has inputs %s: neither texts (%s) nor images (four axes)", listed(inputs), textInputs[0])
}

// maybeImages finds inputs of images, and those of which the graph does not say
// the axes.
func maybeImages(v onnx.IO) bool {
	return len(v.Shape) == 4 || v.Shape == nil && v.DType == onnx.Float32
}

// towerInputs goes by the towers of a folder; nil if it has none.
func towerInputs(folder string) (inputs []string) {
	c, err := hf.ReadConfig(folder)
	has := func(t hf.Tower) bool {
		_, exported := hf.ExportOf(folder, t)
		return exported || err == nil && c.Has(t)
	}
	if has(hf.TowerVision) {
		inputs = append(inputs, InputImage)
	}
	if has(hf.TowerText) {
		inputs = append(inputs, InputText)
	}
	return inputs
}
