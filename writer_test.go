package pipe_test

import (
	"go/ast"
	"go/parser"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// makesNames are the functions of package os that give something a name on disk or change a file in place.
var makesNames = []string{
	"CopyFS", "Create", "CreateTemp", "Link", "Mkdir", "MkdirAll", "MkdirTemp", "OpenFile", "Rename", "Symlink", "Truncate", "WriteFile",
}

// writesItself names the places outside internal/atomicfile that write, with the reason why a half-written file does no
// harm there.
var writesItself = map[string]string{
	"experts/chat/answers_file.go OpenFile":                 "answers are appended and synced one by one; a half-written one is cut off",
	"experts/expert/trained/examples_distractors.go Create": "a file in a temporary folder",
	"internal/filelock/lock.go OpenFile":                    "a lock; the caches that are appended to under it have checksums",
	"pipeline/decisionlog/writer_stream.go OpenFile":        "lines are appended; each has a checksum, and readers leave half-written ones out",
	"pipeline/textlog/textlog.go OpenFile":                  "lines are appended, for their owner alone; readers leave a half-written one out and count it",
	"pipeline/textlog/textlog.go MkdirAll":                  "a folder for its owner alone, of files that are appended",
	"serve/gateway/gateway_panel.go OpenFile":               "lines are appended; one that was half written stays a line of its own, which readers skip",
	"serve/people/journal.go OpenFile":                      "lines are appended and synced one by one; a half-written one is cut off",
	"pipeline/decide/rows_source.go OpenFile":               "a copy of standard input in a temporary folder",
}

// TestOneWriter: outputs and their folders are made by internal/atomicfile, which syncs files and names, and objects by
// internal/storage. Packages for tests and the tools that make releases, fetch libraries and start a cluster write as they like.
func TestOneWriter(t *testing.T) {
	found := map[string]bool{}
	free := []string{"internal/atomicfile", "internal/storage", "tools/dist", "tools/dist/image", "tools/fetch", "tools/flink", "tools/flink/cluster"}
	for folder, files := range goFiles(t) {
		if slices.Contains(free, folder) || strings.HasSuffix(path.Base(folder), "test") {
			continue
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, call := range writesIn(t, file) {
				place := filepath.ToSlash(file) + " " + call
				found[place] = true
				if _, ok := writesItself[place]; !ok {
					t.Errorf("%s: %s: write by internal/atomicfile", file, call)
				}
			}
		}
	}
	for place := range writesItself {
		if !found[place] {
			t.Errorf("%s is allowed, but does not write", place)
		}
	}
}

// writesIn lists how a file writes without internal/atomicfile.
func writesIn(t *testing.T, file string) []string {
	t.Helper()
	f := parseFile(t, file, parser.SkipObjectResolution)
	var found []string
	name := ""
	for _, spec := range f.Imports {
		switch p, _ := strconv.Unquote(spec.Path.Value); {
		case p == "os" && spec.Name == nil:
			name = p
		case p == "os":
			name = spec.Name.Name
		case p == "io/ioutil", strings.HasPrefix(p, "github.com/google/renameio"):
			found = append(found, p)
		}
	}
	if name == "" {
		return found
	}
	if name == "." {
		return append(found, "import . os")
	}
	ast.Inspect(f, func(n ast.Node) bool {
		use, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, ok := use.X.(*ast.Ident); ok && of.Name == name && slices.Contains(makesNames, use.Sel.Name) {
			found = append(found, use.Sel.Name)
		}
		return true
	})
	return found
}
