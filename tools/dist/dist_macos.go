package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pipe/internal/atomicfile"
)

// imported is a line of Go's library for macOS: the name of a function and the library that has it.
var imported = regexp.MustCompile(`(?m)^//go:cgo_import_dynamic +\S+ +(\S+) +"(/[^"]+)"`)

// macLibraries are the functions that Go's library takes from each library of macOS.
func macLibraries(goroot string) (map[string][]string, error) {
	found := map[string]map[string]bool{}
	err := fs.WalkDir(os.DirFS(goroot), "src", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(goroot, name))
		for _, m := range imported.FindAllStringSubmatch(string(text), -1) {
			if found[m[2]] == nil {
				found[m[2]] = map[string]bool{}
			}
			found[m[2]]["_"+m[1]] = true
		}
		return err
	})
	libraries := map[string][]string{}
	for l, names := range found {
		libraries[l] = slices.Sorted(maps.Keys(names))
	}
	return libraries, err
}

// machHeader declares the only function of a header of macOS that Zig does not have and a library wants.
const machHeader = `#include <mach/vm_map.h>
#include <mach/vm_region.h>
kern_return_t mach_vm_region(mach_port_t, mach_vm_address_t *, mach_vm_size_t *, vm_region_flavor_t, vm_region_info_t, mach_msg_type_number_t *, mach_port_t *);
`

// macStubs writes a text for the linker in place of each library of macOS that Zig does not have: its path, and the functions that
// Go takes from it; and a header. It returns the flags of the compiler and of the linker.
func (d *dist) macStubs(ctx context.Context) (compiler, linker string, err error) {
	goroot, err := output(ctx, "go", "env", "GOROOT")
	if err != nil {
		return "", "", err
	}
	libraries, err := macLibraries(goroot)
	if err != nil {
		return "", "", err
	}
	folder := filepath.Join(d.work, "macos")
	if err := os.MkdirAll(filepath.Join(folder, "mach"), 0o755); err != nil {
		return "", "", err
	}
	if err := atomicfile.WriteFile(filepath.Join(folder, "mach", "mach_vm.h"), []byte(machHeader)); err != nil {
		return "", "", err
	}
	for l, functions := range libraries {
		name, _, _ := strings.Cut(path.Base(l), ".")
		at := filepath.Join(folder, name+".tbd")
		switch {
		case name == "libSystem": // Zig has it
			continue
		case strings.Contains(l, ".framework/"):
			at = filepath.Join(folder, name+".framework", name+".tbd")
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return "", "", err
		}
		err := create(at, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos ]\ninstall-name: '%s'\nexports:\n  - targets: [ arm64-macos ]\n    symbols: [ %s ]\n...\n",
				l, strings.Join(functions, ", "))
			return err
		})
		if err != nil {
			return "", "", err
		}
	}
	return " -I" + folder, "-F" + folder + " -L" + folder, nil
}
