package lightgbm

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pipe/internal/sharedlib"
	"pipe/internal/sharedlib/sharedlibtest"
)

// testLibrary is LightGBM for the tests of this package. If it is missing, the test is skipped, except under CI; if it
// does not load, the test fails.
func testLibrary(t testing.TB) *Library {
	t.Helper()
	l, err := Open("")
	var missing *MissingLibraryError
	switch {
	case errors.As(err, &missing) && os.Getenv("CI") != "true":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	return l
}

func TestLocateOrder(t *testing.T) {
	sharedlibtest.CheckOrder(t, EnvLibrary, "lightgbm", libraryName(), Locate)
}

func TestMissingLibrary(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent.so")
	t.Setenv(EnvLibrary, absent)
	_, err := Open("")
	var missing *MissingLibraryError
	if !errors.As(err, &missing) {
		t.Fatalf("error is %v", err)
	}
	if !strings.Contains(err.Error(), absent) || !strings.Contains(missing.Hint(), "make lightgbm") {
		t.Errorf("%v, hint %q", err, missing.Hint())
	}
}

// Each file that is not the library gives an error, and a valid library still loads in the same process.
func TestBadLibraries(t *testing.T) {
	dir := t.TempDir()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(compile(t, dir, "whole", "int f(void) { return 1; }"))
	if err != nil {
		t.Fatal(err)
	}
	bad := map[string]string{
		"not a shared library":        sharedlibtest.WriteFile(t, filepath.Join(dir, "text.so"), []byte("#!/bin/sh\n")),
		"truncated":                   sharedlibtest.WriteFile(t, filepath.Join(dir, "half.so"), content[:len(content)/2]),
		"no LGBM_GetLastError":        compile(t, dir, "other", "int something_else(void) { return 1; }"),
		"no LGBM_BoosterFree":         compile(t, dir, "part", exports(functions[:len(functions)-1])),
		"too old: need " + minVersion: compile(t, dir, "old", exports(functions)),
	}
	if runtime.GOOS == "linux" {
		bad["not a shared library: ELF type"] = binary
		bad["libgomp.so.none: cannot open"] = needing(t, dir)
	}
	for want, path := range bad {
		_, err := openIn(new(sharedlib.Once[Library]), path)
		var loadErr *LoadError
		if !errors.As(err, &loadErr) || !strings.Contains(err.Error(), want) || loadErr.Hint() == "" {
			t.Errorf("want %q, got %v", want, err)
			continue
		}
		if named := strings.Contains(loadErr.Hint(), "libgomp1"); named != strings.HasPrefix(want, "libgomp") {
			t.Errorf("%v: hint %q", err, loadErr.Hint())
		}
	}
}

// functions are the functions that a library of any version must have.
var functions = []string{
	"LGBM_GetLastError", "LGBM_RegisterLogCallback", "LGBM_DatasetCreateFromMat", "LGBM_DatasetSetField",
	"LGBM_DatasetFree", "LGBM_BoosterCreate", "LGBM_BoosterUpdateOneIter", "LGBM_BoosterSaveModelToString",
	"LGBM_BoosterLoadModelFromString", "LGBM_BoosterGetNumFeature", "LGBM_BoosterPredictForMat", "LGBM_BoosterFree",
}

func exports(names []string) string {
	source := ""
	for _, name := range names {
		source += "int " + name + "(void) { return 0; }\n"
	}
	return source
}

// compile builds a shared library; cgo needs a C compiler anyway.
func compile(t *testing.T, dir, name, source string, flags ...string) string {
	t.Helper()
	c := sharedlibtest.WriteFile(t, filepath.Join(dir, name+".c"), []byte(source))
	path := filepath.Join(dir, name+".so")
	args := append([]string{"-shared", "-fPIC", "-o", path, c}, flags...)
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// needing is a library that depends on another one, which has been removed.
func needing(t *testing.T, dir string) string {
	t.Helper()
	gone := filepath.Join(dir, "libgomp.so.none")
	source := compile(t, dir, "gomp", "int gomp(void) { return 1; }", "-Wl,-soname,libgomp.so.none")
	if err := os.Rename(source, gone); err != nil {
		t.Fatal(err)
	}
	path := compile(t, dir, "needs", "int gomp(void); int f(void) { return gomp(); }", gone)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSecondLibrary(t *testing.T) {
	l := testLibrary(t)
	again, err := Open(l.Path())
	if err != nil || again != l {
		t.Errorf("the same path gives another library, %v", err)
	}
	other := sharedlibtest.WriteFile(t, filepath.Join(t.TempDir(), "other.so"), nil)
	if _, err := Open(other); err == nil || !strings.Contains(err.Error(), "already uses") {
		t.Errorf("error is %v", err)
	}
}
