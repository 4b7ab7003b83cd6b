package pipe_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var (
	usedModule      = regexp.MustCompile(`(?m)^\t(\.\S*)$`)                         // of go.work
	requiredVersion = regexp.MustCompile(`(?m)^(?:require |\t)(\S+\.\S+) (v\d\S*)`) // of go.mod
)

// TestModulesAgree: every module of go.work requires the same version of what several of them require. The go command builds
// with the newest of all, so another version that a single module asks for is missing where nothing else downloaded it.
func TestModulesAgree(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	modules := usedModule.FindAllStringSubmatch(read("go.work"), -1)
	if len(modules) != 6 {
		t.Fatalf("go.work lists %d modules, not 6", len(modules))
	}
	type requirement struct{ module, version string }
	first := map[string]requirement{}
	for _, m := range modules {
		module, requires := m[1], requiredVersion.FindAllStringSubmatch(read(filepath.Join(m[1], "go.mod")), -1)
		if len(requires) < 5 {
			t.Errorf("%s: only %d requirements were read", module, len(requires))
		}
		for _, r := range requires {
			path, version := r[1], r[2]
			if other, seen := first[path]; !seen {
				first[path] = requirement{module, version}
			} else if other.version != version {
				t.Errorf("%s requires %s %s, %s requires %s: run go work sync, then go mod tidy in each module",
					module, path, version, other.module, other.version)
			}
		}
	}
}
