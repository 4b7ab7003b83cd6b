package main

import (
	"os/exec"
	"slices"
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

// TestMacLibraries: what Go takes from the libraries of macOS is found in its source.
func TestMacLibraries(t *testing.T) {
	goroot, err := output(t.Context(), "go", "env", "GOROOT")
	if err != nil {
		t.Fatal(err)
	}
	libraries, err := macLibraries(goroot)
	if err != nil {
		t.Fatal(err)
	}
	for library, function := range map[string]string{
		"/System/Library/Frameworks/Security.framework/Versions/A/Security": "_SecTrustEvaluateWithError",
		"/usr/lib/libresolv.9.dylib":                                        "_res_9_ninit",
	} {
		if !slices.Contains(libraries[library], function) {
			t.Errorf("%s has %v and not %s", library, libraries[library], function)
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
