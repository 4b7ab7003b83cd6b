package judge

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pipe/internal/realdata"
)

// Node returns a command that runs a script by node with a folder of modules, which has the named one: that of
// $PIPE_NODE_MODULES, else the one that make test installs in third_party/clients. If node or the module is not there, the
// test is skipped, or fails under CI=true. With -short it is skipped, as with Python.
func Node(t testing.TB, module, script string, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("runs node")
	}
	modules := os.Getenv("PIPE_NODE_MODULES")
	if modules == "" {
		modules = filepath.Join(installed(t), "clients", "node_modules")
	}
	_, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(modules, module))
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no node with %s: %v", module, err)
		}
		t.Skipf("no node with %s (PIPE_NODE_MODULES can name a folder node_modules): %v", module, err)
	}
	c := exec.CommandContext(t.Context(), "node", append([]string{script}, args...)...)
	c.Env = append(os.Environ(), "NODE_PATH="+modules)
	return c
}

// installed is the folder third_party of the module, or of the checkout that the module is in.
func installed(t testing.TB) string {
	t.Helper()
	root := realdata.Root(t)
	for _, dir := range []string{filepath.Dir(root), filepath.Dir(filepath.Dir(root))} {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			root = dir
			break
		}
	}
	return filepath.Join(root, "third_party")
}
