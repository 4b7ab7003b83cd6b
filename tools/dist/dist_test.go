package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestPlainProgramHasNoStores: only the program with the tag cloud links the drivers of object stores.
func TestPlainProgramHasNoStores(t *testing.T) {
	if testing.Short() {
		t.Skip("lists all packages, in which the race detector finds nothing")
	}
	for tags, want := range map[string]bool{"": false, "cloud": true} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", tags, "./cmd/pipe")
		list.Dir = "../.."
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, heavy := range []string{"gocloud.dev/blob", "cloud.google.com/go/storage", "google.golang.org/grpc/xds"} {
			if got := strings.Contains("\n"+string(out), "\n"+heavy+"\n"); got != want {
				t.Errorf("with the tags %q the program links %s: %v, not %v", tags, heavy, got, want)
			}
		}
	}
}

func TestVersionOfTheLibrary(t *testing.T) {
	for _, name := range []string{"a/lib/libonnxruntime.so.1.31.1", "libonnxruntime.1.31.1.dylib"} {
		if got := versionOf(name); got != "1.31.1" {
			t.Errorf("%s has the version %s", name, got)
		}
	}
}
