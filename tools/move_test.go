package tools_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMove moves the module of a copy: the program builds under the new path, every import of a test is found, no file
// has the old path, and moving back restores every file.
func TestMove(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the whole module")
	}
	root := copyOfModule(t)
	before := contents(t, root)
	module := strings.TrimSpace(command(t, root, "env", "GOWORK=off", "go", "list", "-m"))
	planned := regexp.MustCompile(`(?m)^MODULE := (\S+)$`).FindStringSubmatch(readText(t, filepath.Join(root, "Makefile")))
	if planned == nil {
		t.Fatal("the Makefile does not say where the module is to be published")
	}
	to := planned[1]
	command(t, root, "tools/move.sh", to)
	// Every package is compiled once, and quickly: what is built here is not run.
	t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" '-gcflags="+to+"/...=-N -l'")
	command(t, root, "go", "build", "-ldflags=-w", "-o", filepath.Join(t.TempDir(), "pipe"), "./cmd/pipe")
	command(t, root, "go", "list", "-deps", "-test", "./...", "./cloud/...", "./cmd/pipe/...", "./cmd/pipe-beam/...", "./serve/...", "./bench/...")
	old := regexp.MustCompile(`(?m)(^|[^\w/.~-])` + regexp.QuoteMeta(module) + `(/(bench|cloud|cmd|costs|experts|featurize|internal|models|onnx|pipeline|serve|tools)\b|@v\d).*`)
	for name, text := range contents(t, root) {
		if left := old.FindString(text); left != "" && name != "tools/move.sh" {
			t.Errorf("%s has the old path still: %s", name, left)
		}
	}
	if list := command(t, root, "go", "list", "-deps", "./cmd/pipe"); strings.Contains(list, "\n"+module+"/") || !strings.Contains(list, "\n"+to+"/onnx\n") {
		t.Errorf("the program is made of other packages than those of the module:\n%s", list)
	}
	command(t, root, "go", "test", "-count=1", "-vet=off", "-ldflags=-w", ".") // the import table
	command(t, root, "tools/move.sh", module)
	if back := contents(t, root); !maps.Equal(before, back) {
		for _, name := range slices.Sorted(maps.Keys(before)) {
			if before[name] != back[name] {
				t.Errorf("%s is not as it was", name)
			}
		}
	}
}

// TestMoveRefuses: paths that no module can have, or that another module could not import, change nothing.
func TestMoveRefuses(t *testing.T) {
	root := copyOfModule(t)
	before := contents(t, root)
	for module, why := range map[string]string{
		"":                       "not the path of a module",
		"-x":                     "not the path of a module",
		"a b":                    "not the path of a module",
		"example.org/":           "not the path of a module",
		"a#b":                    "not the path of a module",
		"fmt":                    "does not begin with the name of a host",
		"net/pipe":               "does not begin with the name of a host",
		"x//y":                   "does not begin with the name of a host",
		"example.org//pipe":      "the go command does not accept",
		"example.org/../pipe":    "the go command does not accept",
		"example.org/pipe/v1":    "the go command does not accept",
		"example.org/pipe/v2":    "the go command does not accept", // its versions begin with v2, those of the documents with v0
		"github.com/spf13/cobra": "this one needs",
	} {
		cmd := exec.Command(filepath.Join(root, "tools", "move.sh"), module)
		if out, err := cmd.CombinedOutput(); code(t, err) != 2 || !strings.Contains(string(out), why) {
			t.Errorf("%q: %v: %s", module, err, out)
		}
	}
	if !maps.Equal(before, contents(t, root)) {
		t.Error("a path that is refused changes files")
	}
}

// copyOfModule copies tracked files and untracked files that are not ignored to a folder of the test.
func copyOfModule(t *testing.T) string {
	t.Helper()
	from, to := filepath.Dir(working(t)), t.TempDir()
	list := command(t, from, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	for name := range strings.SplitSeq(strings.TrimRight(list, "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(from, name))
		if os.IsNotExist(err) {
			continue // deleted, and the deletion is not committed
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, info.Mode().Perm()|0o200); err != nil {
			t.Fatal(err)
		}
	}
	command(t, to, "git", "init", "--quiet")
	return to
}

// contents reads all files of a folder by their names.
func contents(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimRight(command(t, root, "git", "ls-files", "-z", "--others", "--exclude-standard"), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	return files
}

func working(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// command runs a program in a folder and returns what it printed on standard output.
func command(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PWD="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}
