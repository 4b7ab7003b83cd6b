package debian_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/tools/dist/debian"
	"pipe/tools/dist/tree"
)

// input writes small files in place of the program and the library.
func input(t *testing.T) debian.Input {
	t.Helper()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return debian.Input{
		Version: "1.2.3-rc.1", Arch: "arm64", Binary: file("program", "machine code"), Library: file("libonnxruntime.so.1", "library"),
		Texts: []string{file("LICENSE", "licence")}, Share: []tree.File{{Name: "man/man1/pipe.1", Mode: 0o644, Data: []byte("manual")}}, Time: time.Unix(1e9, 0),
	}
}

func TestWrite(t *testing.T) {
	in := input(t)
	var first, second bytes.Buffer
	if err := errors.Join(debian.Write(&first, in), debian.Write(&second, in)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same input gives other bytes")
	}
	in.Binary += "-missing"
	if debian.Write(&second, in) == nil {
		t.Error("a missing program is no error")
	}
	dpkg, err := exec.LookPath("dpkg-deb")
	if err != nil {
		t.Skip("no dpkg-deb, which reads the package")
	}
	path := filepath.Join(t.TempDir(), "pipe.deb")
	if err := os.WriteFile(path, first.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	dpkgDeb := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), dpkg, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("dpkg-deb %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if got := dpkgDeb("--showformat=${Package} ${Version} ${Architecture} ${Installed-Size}", "--show", path); got != "pipe-defer 1.2.3~rc.1 arm64 1" {
		t.Errorf("the package is %q", got)
	}
	root := t.TempDir()
	dpkgDeb("-R", path, root)
	for name, want := range map[string]string{
		"usr/bin/pipe": "machine code", "usr/lib/pipe/libonnxruntime.so.1": "library", "usr/share/doc/pipe-defer/copyright": "licence",
	} {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != want {
			t.Errorf("%s has %q instead of %q (%v)", name, got, want, err)
		}
	}
	check := exec.CommandContext(t.Context(), "md5sum", "--check", "--strict", "DEBIAN/md5sums")
	check.Dir = root
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") != 4 {
		t.Errorf("md5sums: %v\n%s", err, out)
	}
}
