package pipe_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The limits for one package, without its tests.
const mostFiles, mostLines = 40, 5000

// listed is the output of go list for a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, CgoFiles       []string
	Standard                bool
	Module                  *struct{ Main bool }
}

func (p *listed) files() []string { return slices.Concat(p.GoFiles, p.CgoFiles) }

func (p *listed) ours() bool { return p.Module != nil && p.Module.Main }

// listPackages lists the packages of the module and everything that they import, with the compiler's export data.
func listPackages(t *testing.T) map[string]*listed {
	t.Helper()
	if testing.Short() {
		t.Skip("it reads the whole source, and the race detector finds nothing in that")
	}
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,CgoFiles,Standard,Module", "./...", "./cloud/...", "./cmd/pipe/...", "./cmd/pipe-beam/...", "./serve/...", "./bench/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
}

// TestPackageSizes checks that every package is small enough to keep in mind.
func TestPackageSizes(t *testing.T) {
	for _, p := range listPackages(t) {
		if !p.ours() || strings.HasSuffix(p.ImportPath, "/onnxpb") { // generated
			continue
		}
		lines := 0
		for _, f := range p.files() {
			b, err := os.ReadFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(b, []byte("\n"))
		}
		if len(p.files()) > mostFiles || lines > mostLines {
			t.Errorf("%s has %d files and %d lines: more than %d or %d", p.ImportPath, len(p.files()), lines, mostFiles, mostLines)
		}
	}
}

// TestNoKnots: the files of a package whose names begin with the same word are a group. The groups of a package must
// not use each other in a cycle, neither by names nor by fields and methods.
func TestNoKnots(t *testing.T) {
	all := listPackages(t)
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(all[path].Export) })
	for _, p := range all {
		if !p.ours() {
			continue
		}
		uses := groupUses(t, fset, imports, p)
		if circle := circleOf(uses); circle != nil {
			t.Errorf("%s: groups of files use each other in a cycle:", p.ImportPath)
			for i, from := range circle {
				to := circle[(i+1)%len(circle)]
				t.Errorf("\t%s uses %s: %s", from, to, some(uses[[2]string{from, to}]))
			}
		}
	}
}

// circleOf returns a cycle of groups in which each uses the next, nil if there is none.
func circleOf(uses map[[2]string][]string) []string {
	next := map[string][]string{}
	for pair := range uses {
		next[pair[0]] = append(next[pair[0]], pair[1])
	}
	var path []string
	done := map[string]bool{}
	var visit func(group string) []string
	visit = func(group string) []string {
		if i := slices.Index(path, group); i >= 0 {
			return slices.Clone(path[i:])
		}
		if done[group] {
			return nil
		}
		done[group] = true
		path = append(path, group)
		defer func() { path = path[:len(path)-1] }()
		for _, to := range slices.Sorted(slices.Values(next[group])) {
			if circle := visit(to); circle != nil {
				return circle
			}
		}
		return nil
	}
	for _, group := range slices.Sorted(maps.Keys(next)) {
		if circle := visit(group); circle != nil {
			return circle
		}
	}
	return nil
}

// TestCircleOf finds cycles of two and of three groups, and none in a diamond.
func TestCircleOf(t *testing.T) {
	for want, pairs := range map[string][]string{
		"":      {"ab", "ac", "bd", "cd"},
		"a b":   {"ab", "ba"},
		"b c d": {"ab", "bc", "cd", "db", "ae"},
	} {
		uses := map[[2]string][]string{}
		for _, p := range pairs {
			uses[[2]string{p[:1], p[1:]}] = nil
		}
		if got := strings.Join(circleOf(uses), " "); got != want {
			t.Errorf("%v: got circle %q, want %q", pairs, got, want)
		}
	}
}

// groupUses returns, by pair of groups, what the first one uses of the second.
func groupUses(t *testing.T, fset *token.FileSet, imports types.Importer, p *listed) map[[2]string][]string {
	t.Helper()
	var files []*ast.File
	for _, name := range p.files() {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	checked, err := (&types.Config{Importer: imports, FakeImportC: true}).Check(p.ImportPath, fset, files, info)
	if err != nil {
		t.Fatal(err)
	}
	uses := map[[2]string][]string{}
	for id, o := range info.Uses {
		if o.Pkg() != checked || !o.Pos().IsValid() || !shared(o, checked) {
			continue
		}
		from, to := groupOf(fset.Position(id.Pos()).Filename), groupOf(fset.Position(o.Pos()).Filename)
		if from != to {
			pair := [2]string{from, to}
			uses[pair] = append(uses[pair], fmt.Sprintf("%s in %s", o.Name(), filepath.Base(fset.Position(id.Pos()).Filename)))
		}
	}
	return uses
}

// shared reports whether an object can be used by other files: a name of the package, a field or a method.
func shared(o types.Object, in *types.Package) bool {
	if v, ok := o.(*types.Var); ok && v.IsField() {
		return true
	}
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		return true
	}
	return o.Parent() == in.Scope()
}

// groupOf is the first word of a file's name.
func groupOf(file string) string {
	word, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".go"), "_")
	return word
}

// some returns the first few of a list, without duplicates.
func some(list []string) string {
	sorted := slices.Sorted(maps.Keys(toSet(list)))
	if len(sorted) > 3 {
		sorted = append(sorted[:3], fmt.Sprintf("and %d more", len(sorted)-3))
	}
	return strings.Join(sorted, ", ")
}

func toSet(list []string) map[string]bool {
	set := map[string]bool{}
	for _, s := range list {
		set[s] = true
	}
	return set
}
