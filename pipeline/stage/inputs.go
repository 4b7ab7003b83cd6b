package stage

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pipe/internal/config"
	"pipe/internal/outside"
	"pipe/onnx"
	"pipe/onnx/hf"
)

// inputEndings are those of the files that stages read of folders.
var inputEndings = append([]string{".parquet", ".jsonl", ".csv", ".json", ".onnx", ".safetensors", ".txt"}, ImageEndings...)

// ImageEndings are those of images.
var ImageEndings = []string{".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp"}

// NamedFiles are files that are read whatever they are called; empty names count for nothing.
func NamedFiles(paths ...string) (list []Input) {
	for _, p := range paths {
		if p != "" {
			list = append(list, Input{Path: p})
		}
	}
	return list
}

// TensorFiles is a tensor, of one file or of parts, with the actions beside it.
func TensorFiles(path, actions string) []Input {
	list := []Input{{Path: path, Part: Ending(".parquet"), Grow: true}}
	if !IsFolder(path) {
		path = filepath.Dir(path)
	}
	return append(list, NamedFiles(filepath.Join(path, "actions.json"), actions)...)
}

// ModelFiles is a model as pipe convert takes it: a folder, a file with those beside it that belong to it, or a name in
// the local cache. Of a folder, other exports than model.onnx are not read.
func ModelFiles(name string) []Input {
	path, err := hf.Resolve(name)
	if err != nil {
		return nil
	}
	if IsFolder(path) {
		return []Input{{Path: path, Part: func(name string) bool {
			return name == "model.onnx" || filepath.Ext(name) != ".onnx"
		}}}
	}
	list := append(NamedFiles(path), Input{Path: filepath.Dir(path), Part: externalTo(path), Big: true})
	beside, _ := filepath.Glob(quoteGlob(path) + "?*") // the weights of a model that cannot be read
	settings, _ := filepath.Glob(filepath.Join(quoteGlob(filepath.Dir(path)), "*.json"))
	return append(list, NamedFiles(append(beside, settings...)...)...)
}

// externalTo knows the files that hold data of a model's tensors by their base names. The model is read when it is first
// asked, which is where an output lies in its folder already.
func externalTo(model string) func(name string) bool {
	files := sync.OnceValue(func() []string {
		list, _ := outside.Read(func() ([]string, error) { return onnx.ExternalFiles(model) })
		return list // none of a model that cannot be read, which the stage says
	})
	return func(name string) bool {
		return slices.ContainsFunc(files(), func(f string) bool { return filepath.Base(filepath.FromSlash(f)) == name })
	}
}

// quoteGlob is the pattern that matches path alone.
func quoteGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// ConfigFiles is a configuration file and every file and folder that it names: any text in it that leads to something
// from the folder of the file. So a kind of expert or advice that is added later is covered.
func ConfigFiles(path string) []Input {
	if path == "" {
		return nil
	}
	list := NamedFiles(path)
	for _, name := range config.Texts(path) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		list = append(list, Input{Path: name, Part: Ending(inputEndings...), Big: true})
	}
	return list
}

// Ending knows the files whose names end in one of a list, such as ".csv", in any case of letters.
func Ending(list ...string) func(string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(list, func(e string) bool { return strings.EqualFold(filepath.Ext(name), e) })
	}
}

// Standard is standard input or output where it is a regular file; what is none cannot be replaced.
func Standard(stream any) os.FileInfo {
	f, ok := stream.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return info
}
