package stage

import (
	"context"
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
func NamedFiles(paths ...storage.Location) (list []Input) {
	for _, p := range paths {
		if !p.IsZero() {
			list = append(list, Input{Path: p})
		}
	}
	return list
}

// TensorFiles is a tensor, as one file or in parts, with the actions beside it.
func TensorFiles(ctx context.Context, path, actions storage.Location) []Input {
	list := []Input{{Path: path, Part: Ending(".parquet"), Grow: true}}
	if !IsFolder(ctx, path) {
		path = path.Dir()
	}
	return append(list, NamedFiles(path.Join("actions.json"), actions)...)
}

// ModelFiles is a model as pipe convert takes it: a folder, a file with its companion files, or a name in the local
// cache. In a folder, exports other than model.onnx are not read.
func ModelFiles(ctx context.Context, name string) []Input {
	if at, err := storage.Parse(name); err != nil || at.IsRemote() {
		return NamedFiles(at)
	}
	found, err := hf.Resolve(name)
	if err != nil {
		return nil
	}
	path := storage.File(found)
	if IsFolder(ctx, path) {
		return []Input{{Path: path, Part: func(name string) bool {
			return name == "model.onnx" || filepath.Ext(name) != ".onnx" && !strings.HasSuffix(name, DescriptionEnding)
		}}}
	}
	list := append(NamedFiles(path), Input{Path: path.Dir(), Part: externalTo(found), Big: true})
	beside, _ := filepath.Glob(quoteGlob(found) + "?*") // the weights of a model that cannot be read
	settings, _ := filepath.Glob(filepath.Join(quoteGlob(filepath.Dir(found)), "*.json"))
	others := slices.DeleteFunc(append(beside, settings...), func(file string) bool { return strings.HasSuffix(file, DescriptionEnding) })
	return append(list, NamedFiles(storage.Files(others...)...)...)
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
func FilesIn(ctx context.Context, what string, paths []storage.Location, ending string) ([]storage.Location, error) {
	var out []storage.Location
	for _, p := range paths {
		if !IsFolder(ctx, p) {
			out = append(out, p)
			continue
		}
		entries, err := p.ReadDir(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", what, p, err)
		}
		found := false
		for _, e := range entries { // sorted
			if !strings.HasPrefix(e.Name(), ".") && filepath.Ext(e.Name()) == ending {
				found, out = true, append(out, p.Join(e.Name()))
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
func ConfigFiles(ctx context.Context, path storage.Location) []Input {
	if path.IsZero() {
		return nil
	}
	list := NamedFiles(path)
	for _, name := range config.Texts(ctx, path) {
		list = append(list, Input{Path: config.Resolve(name, path.Dir()), Part: Ending(inputEndings...), Big: true})
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
