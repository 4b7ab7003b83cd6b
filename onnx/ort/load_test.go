package ort

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pipe/internal/sharedlib/sharedlibtest"
)

// libraryName is a file name that the search accepts on this system.
func libraryName() string {
	if runtime.GOOS == "darwin" {
		return "libonnxruntime.1.dylib"
	}
	return "libonnxruntime.so.1"
}

func TestLocateOrder(t *testing.T) {
	sharedlibtest.CheckOrder(t, EnvLibrary, "onnxruntime", libraryName(), Locate)
}

func TestLocateNewest(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("names carry versions this way on Linux")
	}
	dir := t.TempDir()
	for _, name := range []string{"libonnxruntime.so.1.9.0", "libonnxruntime.so.1.31.1", "libonnxruntime_providers_shared.so", "libonnxruntime.so.1.4.2"} {
		sharedlibtest.WriteFile(t, filepath.Join(dir, name), nil)
	}
	if got := libraryAt(dir); filepath.Base(got) != "libonnxruntime.so.1.31.1" {
		t.Errorf("chose %q", got)
	}
}

func TestMissingLibrary(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent.so")
	t.Setenv(EnvLibrary, absent)
	cfg := DefaultConfig()
	_, err := Open(cfg)
	var missing *MissingLibraryError
	if !errors.As(err, &missing) {
		t.Fatalf("error is %v", err)
	}
	if !strings.Contains(err.Error(), absent) || !strings.Contains(missing.Hint(), "make runtime") {
		t.Errorf("%v, hint %q", err, missing.Hint())
	}
	cfg.Device = CUDA
	if _, err = Open(cfg); !errors.As(err, &missing) || !strings.Contains(missing.Hint(), "make cuda") {
		t.Errorf("for cuda: %v, hint %q", err, missing.Hint())
	}
}

func TestBadLibraries(t *testing.T) {
	good, _, err := Locate("")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for want, path := range map[string]string{
		"not a shared library": sharedlibtest.WriteFile(t, filepath.Join(dir, "text.so"), []byte("#!/bin/sh\n")),
		"truncated":            sharedlibtest.WriteFile(t, filepath.Join(dir, "half.so"), content[:len(content)/2]),
		"is a directory":       dir,
		"no such file":         filepath.Join(dir, "absent.so"),
		"no OrtGetApiBase":     compile(t, dir, "int something_else(void) { return 1; }"),
	} {
		_, err := probe(path)
		var load *LoadError
		if !errors.As(err, &load) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestOldLibrary(t *testing.T) {
	path := compile(t, t.TempDir(), `
static const void *api(unsigned v) { return 0; }
static const char *version(void) { return "1.17.3"; }
static struct { const void *(*a)(unsigned); const char *(*v)(void); } base = {api, version};
void *OrtGetApiBase(void) { return &base; }`)
	_, err := probe(path)
	var old *VersionError
	if !errors.As(err, &old) || old.Found != "1.17.3" || !strings.Contains(old.Hint(), "make runtime") {
		t.Errorf("error is %v", err)
	}
}

// compile builds a shared library; cgo needs a C compiler anyway.
func compile(t *testing.T, dir, source string) string {
	t.Helper()
	c := sharedlibtest.WriteFile(t, filepath.Join(dir, "lib.c"), []byte(source))
	path := filepath.Join(dir, "compiled.so")
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", path, c).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func TestSecondLibrary(t *testing.T) {
	r := openTest(t)
	_, err := load(r.Library()+".other", false)
	if err == nil || !strings.Contains(err.Error(), "already uses") {
		t.Errorf("error is %v", err)
	}
}

// TestNoCUDA runs if the library or the machine has no GPU support: the request gives an error with a hint, and never
// falls back to the CPU.
func TestNoCUDA(t *testing.T) {
	cpu := openTest(t)
	if len(cpu.Providers()) == 2 {
		t.Skip("this machine has CUDA")
	}
	cfg := DefaultConfig()
	cfg.Library, cfg.Device = cpu.Library(), CUDA
	_, openErr := Open(cfg)
	o := cpu.SessionOptions()
	o.Device = CUDA
	_, sessionErr := cpu.Session(sumModel(t), o)
	for _, err := range []error{openErr, sessionErr} {
		var device *DeviceError
		if !errors.As(err, &device) || device.Hint() == "" {
			t.Errorf("error is %v", err)
		}
	}
}

func TestCompareVersions(t *testing.T) {
	ordered := []string{"1.9", "1.24.2", "1.24.3", "1.24.10", "1.31.1", "2.0.0-dev"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := compareVersions(a, b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s against %s gives %d", a, b, got)
			}
		}
	}
}
