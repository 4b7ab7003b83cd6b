package pipe_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport is who may import whom, for programs and tests alike. A package
// without a row, and an import that its row does not name, fail the test: a new
// arrow is a reviewed change of one line here.
var mayImport = map[string][]string{
	"onnx/onnxpb":           {},
	"onnx":                  {"onnx/onnxpb", "internal/atomicfile", "internal/outside", "internal/textfile"},
	"onnx/internal/conform": {"onnx"},
	"onnx/hf":               {"onnx", "internal/textfile", "internal/strictjson"},
	"onnx/ort":              {"onnx", "internal/sharedlib", "internal/textfile"},
	"costs":                 {"internal/atomicfile", "internal/outside", "internal/parquetfile", "internal/textfile", "internal/strictjson", "internal/digest", "internal/parallel"},
	"featurize":             {"onnx", "onnx/hf", "onnx/ort", "featurize/jpegturbo", "featurize/tokenizer", "internal/atomicfile", "internal/outside", "internal/parquetfile", "internal/textfile", "internal/strictjson", "internal/digest", "internal/parallel"},
	"featurize/jpegturbo":   {"internal/sharedlib"},
	"featurize/tokenizer":   {"internal/textfile", "internal/strictjson", "internal/outside", "internal/digest"},
	"models":                {"onnx", "onnx/ort", "costs", "internal/atomicfile", "internal/textfile", "internal/parallel"},
	"models/lightgbm":       {"onnx", "internal/sharedlib"},
	"costs/retrieval/bm25":  {"costs", "internal/atomicfile", "internal/progress", "internal/strictjson", "internal/textfile", "internal/digest"},
	"costs/build":           {"onnx", "onnx/hf", "onnx/ort", "costs", "costs/retrieval/bm25", "featurize", "featurize/tokenizer", "models", "models/lightgbm", "internal/atomicfile", "internal/filelock", "internal/outside", "internal/progress", "internal/safetext", "internal/strictjson", "internal/textfile", "internal/digest", "internal/parallel"},
	"pipeline":              {"onnx", "onnx/hf", "onnx/ort", "costs", "featurize", "featurize/jpegturbo", "models", "models/lightgbm", "costs/build", "costs/retrieval/bm25", "internal/atomicfile", "internal/filelock", "internal/outside", "internal/progress", "internal/safetext", "internal/strictjson", "internal/textfile", "internal/digest", "internal/parallel"},
	"cmd/pipe":              {"onnx", "onnx/hf", "onnx/ort", "costs", "featurize", "featurize/jpegturbo", "featurize/tokenizer", "models", "models/lightgbm", "costs/build", "costs/retrieval/bm25", "pipeline", "internal/atomicfile", "internal/outside", "internal/progress", "internal/safetext", "internal/textfile"},
	"internal/atomicfile":   {"internal/filelock"},
	"internal/digest":       {},
	"internal/filelock":     {},
	"internal/progress":     {"internal/safetext"},
	"internal/parallel":     {},
	"internal/parquetfile":  {},
	"internal/realdata":     {},
	"internal/safetext":     {},
	"internal/judge":        {"internal/realdata"},
	"onnx/ort/orttest":      {"onnx/ort"},
	"onnx/hf/hftest":        {"onnx"},
	"internal/sharedlib":    {},
	"internal/outside":      {},
	"internal/textfile":     {},
	"internal/strictjson":   {"internal/textfile"},
	"tools/fetch":           {},
	"tools/verify":          {"onnx", "onnx/ort", "costs", "models"},
	".":                     {},
}

// testsMayImport adds what only _test.go files may import.
var testsMayImport = map[string][]string{
	"onnx":                 {"onnx/internal/conform", "internal/realdata", "internal/judge"},
	"onnx/hf":              {"onnx/hf/hftest", "onnx/ort", "onnx/ort/orttest", "internal/realdata", "internal/judge"},
	"onnx/ort":             {"onnx/internal/conform"},
	"costs":                {"internal/realdata", "internal/judge"},
	"costs/retrieval/bm25": {"internal/realdata", "internal/judge"},
	"costs/build":          {"internal/realdata", "internal/judge", "onnx/hf/hftest", "onnx/ort/orttest"},
	"featurize":            {"internal/realdata", "internal/judge", "onnx/hf/hftest", "onnx/ort/orttest"},
	"featurize/tokenizer":  {"internal/realdata", "internal/judge"},
	"models":               {"internal/realdata", "onnx/ort/orttest"},
	"models/lightgbm":      {"onnx/ort", "onnx/ort/orttest", "internal/realdata"},
	"pipeline":             {"internal/realdata", "internal/judge", "onnx/hf/hftest", "onnx/ort/orttest"},
	"cmd/pipe":             {"onnx/hf/hftest"},
}

// ownedBy names the packages that may import a module which holds memory or
// threads outside Go: one for each library that it loads.
var ownedBy = map[string][]string{
	"github.com/yalue/onnxruntime_go": {"onnx/ort"},
	"github.com/ebitengine/purego":    {"models/lightgbm", "featurize/jpegturbo"},
}

func TestImports(t *testing.T) {
	for folder, files := range goFiles(t) {
		row, known := mayImport[folder]
		if !known {
			t.Errorf("%s has no row in the import table", folder)
			continue
		}
		for _, file := range files {
			row := row
			if strings.HasSuffix(file, "_test.go") {
				row = slices.Concat(row, testsMayImport[folder])
			}
			for _, imported := range importsOf(t, file) {
				if owners, owned := ownedBy[imported]; owned && !slices.Contains(owners, folder) {
					t.Errorf("%s imports %s, which belongs to %s", file, imported, strings.Join(owners, ", "))
				}
				target, ours := strings.CutPrefix(imported, "pipe/")
				if ours && target != folder && !slices.Contains(row, target) {
					t.Errorf("%s imports %s: no such arrow from %s", file, target, folder)
				}
			}
		}
	}
}

// TestImportsOneWay holds the table itself to an order.
func TestImportsOneWay(t *testing.T) {
	var visit func(folder string, path []string)
	visit = func(folder string, path []string) {
		if slices.Contains(path, folder) {
			t.Fatalf("the table goes in a circle: %s", strings.Join(append(path, folder), " -> "))
		}
		for _, next := range mayImport[folder] {
			visit(next, append(slices.Clone(path), folder))
		}
	}
	for folder := range mayImport {
		visit(folder, nil)
	}
}

// goFiles lists the Go files of this module by folder.
func goFiles(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			skip := slices.Contains([]string{"third_party", "testdata", "bin", "out", "demo"}, d.Name()) ||
				len(d.Name()) > 1 && strings.HasPrefix(d.Name(), ".")
			if skip {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".go") {
			folder := path.Dir(filepath.ToSlash(name))
			found[folder] = append(found[folder], name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 5 {
		t.Fatalf("found only %d packages: not run in the module's root?", len(found))
	}
	return found
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// Parquet from outside has one reader: the library that writes ours reads some
// files wrong and allocates what damaged ones ask for.
func TestOneReaderOfParquet(t *testing.T) {
	for _, files := range goFiles(t) {
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range []string{"OpenFile(", "NewFile(", "NewReader(", "NewGenericReader[", "Read[", "ReadFile["} {
				if strings.Contains(string(text), "parquet."+call) {
					t.Errorf("%s: parquet.%s...: read Parquet by internal/parquetfile", file, call)
				}
			}
		}
	}
}
