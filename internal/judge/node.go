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

// Node returns a command that runs a script by node with the folders of [NodeModules], one of which has the named module. With -short
// the test is skipped, as with Python.
func Node(t testing.TB, module, script string, args ...string) *exec.Cmd {
	t.Helper()
	NodeModules(t, module)
	c := exec.CommandContext(t.Context(), "node", append([]string{script}, args...)...)
	c.Env = append(os.Environ(), "NODE_PATH="+strings.Join(nodeFolders(t), string(os.PathListSeparator)))
	return c
}

// NodeModules is the folder of modules for node that has the named one: of $PIPE_NODE_MODULES, and of those that make test and make
// verify install below third_party. If node or the module is not there, the test is skipped, or fails under CI=true.
func NodeModules(t testing.TB, module string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs node")
	}
	folders := nodeFolders(t)
	_, err := exec.LookPath("node")
	if err == nil {
		n := slices.IndexFunc(folders, func(folder string) bool {
			_, err := os.Stat(filepath.Join(folder, module))
			return err == nil
		})
		if n >= 0 {
			return folders[n]
		}
		err = fmt.Errorf("it is in none of the folders %q", folders)
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("no node with %s: %v", module, err)
	}
	t.Skipf("no node with %s (PIPE_NODE_MODULES can name a folder node_modules): %v", module, err)
	return ""
}

func nodeFolders(t testing.TB) []string {
	folders := filepath.SplitList(os.Getenv("PIPE_NODE_MODULES"))
	for _, of := range []string{"clients", "verify"} { // the clients of services, the runtimes of policies
		folders = append(folders, filepath.Join(installed(t), of, "node_modules"))
	}
	return folders
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
