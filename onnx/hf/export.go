package hf

import (
	"os"
	"path/filepath"
)

const exportFolder = "onnx"

// exportFile is the file of a tower's export.
func exportFile(t Tower) string {
	if t == "" {
		return "model.onnx"
	}
	return string(t) + "_model.onnx"
}

// Export finds the ONNX export in the folder of a model with one tower:
// onnx/model.onnx, else model.onnx.
func Export(folder string) (path string, found bool) { return ExportOf(folder, "") }

// ExportOf finds the ONNX export of a tower, text_model.onnx or vision_model.onnx: in the folder onnx, else beside it.
func ExportOf(folder string, t Tower) (path string, found bool) {
	for _, path := range []string{filepath.Join(folder, exportFolder, exportFile(t)), filepath.Join(folder, exportFile(t))} {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, true
		}
	}
	return "", false
}

// FolderOf is the model folder of an ONNX file: its folder, or the parent of a folder called onnx.
func FolderOf(export string) string {
	folder := filepath.Dir(export)
	if filepath.Base(folder) == exportFolder {
		return filepath.Dir(folder)
	}
	return folder
}
