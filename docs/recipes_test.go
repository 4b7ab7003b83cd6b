package docs_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pipe/internal/realdata"
)

// TestRecipes does what a reader of each recipe does, with a program that is built once.
func TestRecipes(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains and builds the program")
	}
	for _, program := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	root, bin := realdata.Root(t), t.TempDir()
	if os.Getenv("ONNXRUNTIME_LIB") == "" {
		t.Setenv("ONNXRUNTIME_LIB", filepath.Join(root, "third_party/onnxruntime/lib"))
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-C", root, "-o", bin, "./cmd/pipe")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
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
