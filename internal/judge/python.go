// Package judge finds programs that others wrote: Python packages that tests compare our files with, clients that call our
// servers, and a browser that looks at our pages.
package judge

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// find fails if a module is not installed. It imports none, which would take seconds.
const find = `
import importlib.util, sys
sys.exit(", ".join(m for m in sys.argv[1:] if importlib.util.find_spec(m) is None) or 0)
`

// Python returns an interpreter that has the modules: $PIPE_PYTHON, else the one that make test installs in
// third_party/python. If there is none, the test is skipped, or fails under CI=true. With -short it is skipped, too: that
// form is for the race detector, which finds nothing in another process.
func Python(t testing.TB, modules ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("compares with Python")
	}
	interpreter := os.Getenv("PIPE_PYTHON")
	if interpreter == "" {
		interpreter = filepath.Join(installed(t), "python", "bin", "python")
	}
	out, err := exec.Command(interpreter, append([]string{"-c", find}, modules...)...).CombinedOutput()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no Python with %v: %v %s", modules, err, out)
		}
		t.Skipf("no Python with %v (PIPE_PYTHON can name one): %v %s", modules, err, out)
	}
	return interpreter
}

// Run runs a script in a folder ("": the test's own) and returns what it
// printed. A script that fails fails the test.
func Run(t testing.TB, interpreter, dir, script string, args ...string) string {
	t.Helper()
	cmd := exec.Command(interpreter, append([]string{"-c", script}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
