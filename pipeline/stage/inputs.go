package stage

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pipe/internal/config"
	"pipe/internal/outside"
	"pipe/internal/storage"
	"pipe/onnx"
	"pipe/onnx/hf"
)

// inputEndings are the extensions of files that stages read from folders.
var inputEndings = append([]string{".parquet", ".jsonl", ".csv", ".json", ".onnx", ".safetensors", ".txt"}, ImageEndings...)

// ImageEndings are the extensions of images.
var ImageEndings = []string{".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp"}

// DescriptionEnding ends the name of the description beside a policy, NAME.onnx.json, which no stage reads as a setting of
// a model.
const DescriptionEnding = ".onnx.json"

// NamedFiles are files that are read under any name; empty names are ignored.
func NamedFiles(paths ...string) (list []Input) {
	for _, p := range paths {
		if p != "" {
			list = append(list, Input{Path: p})
		}
	}
	return list
}

// TensorFiles is a tensor, as one file or in parts, with the actions beside it.
func TensorFiles(path, actions string) []Input {
	list := []Input{{Path: path, Part: Ending(".parquet"), Grow: true}}
	if !IsFolder(path) {
		path = filepath.Dir(path)
	}
	return append(list, NamedFiles(filepath.Join(path, "actions.json"), actions)...)
}

// ModelFiles is a model as pipe convert takes it: a folder, a file with its companion files, or a name in the local
// cache. In a folder, exports other than model.onnx are not read.
func ModelFiles(name string) []Input {
	path, err := hf.Resolve(name)
	if err != nil {
		return nil
	}
	if IsFolder(path) {
		return []Input{{Path: path, Part: func(name string) bool {
			return name == "model.onnx" || filepath.Ext(name) != ".onnx" && !strings.HasSuffix(name, DescriptionEnding)
		}}}
	}
	list := append(NamedFiles(path), Input{Path: filepath.Dir(path), Part: externalTo(path), Big: true})
	beside, _ := filepath.Glob(quoteGlob(path) + "?*") // the weights of a model that cannot be read
	settings, _ := filepath.Glob(filepath.Join(quoteGlob(filepath.Dir(path)), "*.json"))
	return append(list, NamedFiles(slices.DeleteFunc(append(beside, settings...), func(file string) bool {
		return strings.HasSuffix(file, DescriptionEnding)
	})...)...)
}

// externalTo recognises the files that hold data of a model's tensors by their base names. It reads the model at the
// first call, which happens only if an output is in its folder.
func externalTo(model string) func(name string) bool {
	files := sync.OnceValue(func() []string {
		list, _ := outside.Read(func() ([]string, error) { return onnx.ExternalFiles(model) })
		return list // none if the model cannot be read, which the stage reports
	})
	return func(name string) bool {
		return slices.ContainsFunc(files(), func(f string) bool { return filepath.Base(filepath.FromSlash(f)) == name })
	}
}

// FilesIn lists the given files, and of given folders the files whose names have an ending, sorted. A folder without one is
// an error, which says what the files are.
func FilesIn(what string, paths []string, ending string) ([]string, error) {
	var out []string
	for _, p := range paths {
		if !IsFolder(p) {
			out = append(out, p)
			continue
		}
		entries, err := storage.ReadDir(p)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", what, p, err)
		}
		found := false
		for _, e := range entries { // sorted
			if !strings.HasPrefix(e.Name(), ".") && filepath.Ext(e.Name()) == ending {
				found, out = true, append(out, filepath.Join(p, e.Name()))
			}
		}
		if !found {
			return nil, fmt.Errorf("%s %q: the folder has no %s file: %w", what, p, ending, fs.ErrNotExist)
		}
	}
	return out, nil
}

// quoteGlob is the pattern that matches only path.
func quoteGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// ConfigFiles is a configuration file and every file and folder that it names: any string in it that is an existing
// path relative to the folder of the file. Kinds of experts or advice that are added later are therefore covered.
func ConfigFiles(path string) []Input {
	if path == "" {
		return nil
	}
	list := NamedFiles(path)
	for _, name := range config.Texts(path) {
		name = config.Resolve(name, filepath.Dir(path))
		list = append(list, Input{Path: name, Part: Ending(inputEndings...), Big: true})
	}
	return list
}

// Ending matches names that end in one of a list, such as ".csv", ignoring case.
func Ending(list ...string) func(string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(list, func(e string) bool { return strings.EqualFold(filepath.Ext(name), e) })
	}
}

// Standard is standard input or output if it is a regular file; anything else cannot be replaced.
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
