package wheel

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// input is that of a wheel around the test itself, which is a program for this platform.
func input(t *testing.T) Input {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join("..", "..", "..")
	return Input{
		Version: "v1.2.3-rc.1", Binary: self, Source: filepath.Join(root, "clients", "python"), Licenses: []string{filepath.Join(root, "LICENSE")},
		Time: time.Unix(1_700_000_000, 0),
	}
}

func write(t *testing.T, in Input) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestWrite writes the same bytes twice, also in another time zone, and finds what a wheel must have.
func TestWrite(t *testing.T) {
	in := input(t)
	first := write(t, in)
	in.Time = in.Time.In(time.FixedZone("", 3600))
	if !bytes.Equal(first, write(t, in)) {
		t.Error("a second wheel has other bytes")
	}
	in.Time = time.Time{}
	write(t, in) // of no time that a zip file knows
	z, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
		if program := f.Name == "pipe_defer/bin/pipe"; program != (f.Mode().Perm()&0o111 != 0) {
			t.Errorf("%s has the mode %v", f.Name, f.Mode())
		}
	}
	for _, want := range []string{"pipe_defer/__init__.py", "pipe_defer/py.typed", "pipe_defer-1.2.3rc1.dist-info/METADATA", "pipe_defer-1.2.3rc1.dist-info/licenses/LICENSE"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no %s in %q", want, names)
		}
	}
	if last := names[len(names)-1]; last != "pipe_defer-1.2.3rc1.dist-info/RECORD" {
		t.Errorf("the last file is %s", last)
	}
}

func TestVersions(t *testing.T) {
	for semantic, want := range map[string]string{
		"1.2.3": "1.2.3", "v0.10.0": "0.10.0", "v1.2.3-rc.2": "1.2.3rc2", "1.2.3-alpha": "1.2.3a0", "1.2.3-beta4": "1.2.3b4",
		"0.0.0-dev+3f2a-dirty": "0.0.0.dev0+3f2a.dirty", "1.2": "", "": "", "1.2.3-next": "", "1.2.3 ": "", "1.2.3+": "",
	} {
		if got, err := pythonVersion(semantic); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", semantic, got, err, want)
		}
	}
}

// TestRefused gives what no wheel can be made of.
func TestRefused(t *testing.T) {
	empty := t.TempDir()
	for problem, of := range map[string]struct {
		change func(*Input)
		says   string
	}{
		"a text as program":  {func(in *Input) { in.Binary = in.Licenses[0] }, "neither Linux nor macOS"},
		"an empty program":   {func(in *Input) { in.Binary = os.DevNull }, "neither Linux nor macOS"},
		"no program":         {func(in *Input) { in.Binary = filepath.Join(empty, "pipe") }, "no such file"},
		"no package":         {func(in *Input) { in.Source = empty }, "METADATA"},
		"no licence":         {func(in *Input) { in.Licenses[0] = filepath.Join(empty, "LICENSE") }, "no such file"},
		"a version of words": {func(in *Input) { in.Version = "next" }, "1.2.3"},
	} {
		in := input(t)
		of.change(&in)
		if err := Write(new(bytes.Buffer), in); err == nil || !strings.Contains(err.Error(), of.says) {
			t.Errorf("%s: %v", problem, err)
		}
	}
}

// TestMacVersions: since macOS 11, pip looks for tags without a minor version.
func TestMacVersions(t *testing.T) {
	for v, want := range map[uint32]string{12 << 16: "macosx_12_0_", 13<<16 | 3<<8: "macosx_13_0_", 10<<16 | 15<<8: "macosx_10_15_"} {
		if got := macVersion(v); got != want {
			t.Errorf("%#x: %s, want %s", v, got, want)
		}
	}
}
