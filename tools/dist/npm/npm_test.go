package npm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pipe/internal/realdata"
)

// input is the package of this repository.
func input(t testing.TB) Input {
	root := realdata.Root(t)
	return Input{Version: "1.2.3", Folder: filepath.Join(root, "clients", "node"), License: filepath.Join(root, "LICENSE"), Time: time.Unix(1_700_000_000, 5)}
}

func written(t testing.TB, in Input) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unpacked are the files of a package, which must be sorted, with the time and the mode of all.
func unpacked(t testing.TB, file []byte) map[string]string {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	files, last, archive := map[string]string{}, "", tar.NewReader(zip)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		name, ours := strings.CutPrefix(h.Name, "package/")
		if !ours || h.Name <= last || h.Mode != 0o644 || h.ModTime.Unix() != 1_700_000_000 {
			t.Errorf("%s after %q has the mode %o and the time %v", h.Name, last, h.Mode, h.ModTime)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[name], last = string(content), h.Name
	}
}

func TestWrite(t *testing.T) {
	in := input(t)
	first := written(t, in)
	in.Time = in.Time.Add(time.Nanosecond).In(time.FixedZone("east", 3600))
	if !bytes.Equal(first, written(t, in)) {
		t.Error("the same files, version and second give other bytes")
	}
	files := unpacked(t, first)
	var manifest struct{ Name, Version, License string }
	if err := json.Unmarshal([]byte(files["package.json"]), &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Version != "1.2.3" || manifest.Name == "" || manifest.License != "Apache-2.0" {
		t.Errorf("package.json has %+v", manifest)
	}
	sources, err := filepath.Glob(filepath.Join(in.Folder, "*.js"))
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	for _, name := range append(sources, "LICENSE", "README.md", "index.d.ts") {
		if files[filepath.Base(name)] == "" {
			t.Errorf("%s is not in the package", name)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	for _, version := range []string{"", "v1.2.3", "1.2", "01.2.3", "1.2.3-", "1.2.3+x", "1.2.3\n", `1.2.3", "x": "`} {
		in := input(t)
		in.Version = version
		if err := Write(io.Discard, in); err == nil || !strings.Contains(err.Error(), "is not one as 1.2.0") {
			t.Errorf("version %q: %v", version, err)
		}
	}
	folder := t.TempDir()
	for text, want := range map[string]string{
		`{`:                  "package.json: ",
		`{"version": "1.0"}`: "0 times",
		`{"version": "0.0.0", "files": ["*.js"], "old": {"version": "0.0.0"}}`: "2 times",
		`{"version": "0.0.0", "files": ["*.js"]}`:                              "there is no *.js",
	} {
		in := input(t)
		in.Folder = folder
		save(t, filepath.Join(folder, "package.json"), text)
		if err := Write(io.Discard, in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("package.json %q: %v, not %q", text, err, want)
		}
	}
}

// TestInstallsAlike: the package's own page installs it as the page of the repository does, and not from npm's registry, where it is not.
func TestInstallsAlike(t *testing.T) {
	root := realdata.Root(t)
	commands := func(page string) (list []string) {
		b, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "npm install ") {
				list = append(list, line)
			}
		}
		return list
	}
	own, other := commands("clients/node/README.md"), commands("docs/javascript.md")
	if len(own) == 0 {
		t.Error("the README does not say how to install the package")
	}
	for _, line := range own {
		if !slices.Contains(other, line) || strings.HasPrefix(line, "npm install pipe-defer") {
			t.Errorf("the README has %q, docs/javascript.md %q", line, other)
		}
	}
}

// TestNpmPacksTheSame: npm would make a package of the same files.
func TestNpmPacksTheSame(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("no npm")
	}
	folder, files := t.TempDir(), unpacked(t, written(t, input(t)))
	for name, content := range files {
		save(t, filepath.Join(folder, name), content)
	}
	var packed []struct {
		Version string
		Files   []struct {
			Path string
			Size int
		}
	}
	if err := json.Unmarshal(npm(t, folder, "pack", "--dry-run", "--json"), &packed); err != nil || len(packed) != 1 {
		t.Fatal(packed, err)
	}
	sizes := map[string]int{}
	for _, f := range packed[0].Files {
		sizes[f.Path] = f.Size
	}
	if packed[0].Version != "1.2.3" || !slices.Equal(slices.Sorted(maps.Keys(sizes)), slices.Sorted(maps.Keys(files))) {
		t.Errorf("npm packs %v as version %s", sizes, packed[0].Version)
	}
	for name, size := range sizes {
		if size != len(files[name]) {
			t.Errorf("npm packs %d bytes of %s, not %d", size, name, len(files[name]))
		}
	}
}

func save(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}
