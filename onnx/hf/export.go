package hf

import (
	"os"
	"path/filepath"
)

const (
	exportFolder = "onnx"
	exportFile   = "model.onnx"
)

// Export finds the ONNX export in a model's folder: onnx/model.onnx, else
// model.onnx.
func Export(folder string) (path string, found bool) {
	for _, path := range []string{filepath.Join(folder, exportFolder, exportFile), filepath.Join(folder, exportFile)} {
		if _, err := os.Stat(path); err == nil {
			return path, true
		}
	}
	return "", false
}

// FolderOf is the model's folder that an ONNX file lies in, which is the one above
// a folder called onnx.
func FolderOf(export string) string {
	folder := filepath.Dir(export)
	if filepath.Base(folder) == exportFolder {
		return filepath.Dir(folder)
	}
	return folder
}
