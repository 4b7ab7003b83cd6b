package judge

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/realdata"
)

// Node returns a command that runs a script by node with folders of modules, one of which has the named one: those of
// $PIPE_NODE_MODULES, and those that make test and make verify install below third_party. If node or the module is not there, the
// test is skipped, or fails under CI=true. With -short it is skipped, as with Python.
func Node(t testing.TB, module, script string, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("runs node")
	}
	modules := filepath.SplitList(os.Getenv("PIPE_NODE_MODULES"))
	for _, of := range []string{"clients", "verify"} { // the clients of services, the runtimes of policies
		modules = append(modules, filepath.Join(installed(t), of, "node_modules"))
	}
	_, err := exec.LookPath("node")
	if err == nil && !slices.ContainsFunc(modules, func(folder string) bool {
		_, err := os.Stat(filepath.Join(folder, module))
		return err == nil
	}) {
		err = fmt.Errorf("it is in none of the folders %q", modules)
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no node with %s: %v", module, err)
		}
		t.Skipf("no node with %s (PIPE_NODE_MODULES can name a folder node_modules): %v", module, err)
	}
	c := exec.CommandContext(t.Context(), "node", append([]string{script}, args...)...)
	c.Env = append(os.Environ(), "NODE_PATH="+strings.Join(modules, string(os.PathListSeparator)))
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
