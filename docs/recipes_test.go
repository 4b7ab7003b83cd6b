package docs_test

import (
	"net"
	"os/exec"
	"path/filepath"
	"testing"

	"pipe/internal/realdata"
	"pipe/onnx/ort/orttest"
)

// TestRecipes does what a reader of each recipe does, with a program that is built once.
func TestRecipes(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains and builds the program")
	}
	for _, name := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	root, bin := realdata.Root(t), program(t)
	for _, name := range []string{"models", "retrieval", "disclosure"} {
		t.Run(name, func(t *testing.T) {
			data := ""
			if name == "retrieval" {
				data = realdata.Folder(t, "outcomes", "mba-retrieval")
			}
			follow(t, filepath.Join("recipes", name+".md"), bin,
				"~/pipe", root, "$PIPE_DATA/outcomes/mba-retrieval", data, "127.0.0.1:8080", freeAddress(t))
		})
	}
}

// program builds pipe into a folder, which it returns. Programs that the test starts find the runtime library of the test.
func program(t *testing.T) string {
	t.Helper()
	t.Setenv("ONNXRUNTIME_LIB", filepath.Dir(orttest.Open(t, 1).Library()))
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-C", realdata.Root(t), "-o", folder, "./cmd/pipe")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return folder
}

// freeAddress returns an address of this machine on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
