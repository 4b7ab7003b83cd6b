package featurize

import (
	"fmt"
	"os"
	"slices"

	"pipe/onnx"
	"pipe/onnx/hf"
)

// EncoderInput tells what an encoder reads, InputText or InputImage, by its name
// as for ReadTextModel. A folder with a tower for each is one of images.
func EncoderInput(name string) (string, error) {
	path, err := hf.Resolve(name)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return folderInput(path), nil
	}
	m, err := onnx.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read encoder: %w", &DataError{File: name, Err: err})
	}
	if about, ok, err := ParseEncoderInfo(m.Metadata()); ok && err == nil {
		return about.Input, nil
	}
	if slices.ContainsFunc(m.Inputs(), func(v onnx.IO) bool { return len(v.Shape) == 4 }) {
		return InputImage, nil
	}
	return InputText, nil
}

// folderInput goes by the towers. A folder that does not say what it is is one
// of texts, whose reader tells what is missing.
func folderInput(folder string) string {
	_, exported := hf.ExportOf(folder, hf.TowerVision)
	if c, err := hf.ReadConfig(folder); exported || err == nil && c.Has(hf.TowerVision) {
		return InputImage
	}
	return InputText
}
