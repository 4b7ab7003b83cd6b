package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func zipOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	for name, content := range files {
		err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o600, Typeflag: tar.TypeReg})
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// registry serves archives by pin name and counts.
type registry struct {
	archives map[string][]byte
	asked    []string
}

func (r *registry) download(_ context.Context, p pin, into string) (string, error) {
	r.asked = append(r.asked, p.name)
	content, ok := r.archives[p.name]
	if !ok {
		return "", errors.New(p.client + " is not installed")
	}
	ending := map[string]string{"pip": ".whl", "npm": ".tgz"}[p.client]
	path := filepath.Join(into, p.name+ending)
	return path, os.WriteFile(path, content, 0o600)
}

// setup serves one wheel and one npm package with the same library.
func setup(t *testing.T) (*fetcher, *registry, string) {
	t.Helper()
	wheel := zipOf(t, map[string]string{"a/capi/libx.so.1": "library", "a/capi/other.py": "no", "a/LICENSE": "text"})
	pack := tarOf(t, map[string]string{"package/bin/libx.so.1": "library from npm", "package/readme": "no"})
	reg := &registry{archives: map[string][]byte{"wheel": wheel, "pack": pack}}
	dir := t.TempDir()
	f := &fetcher{dir: dir, platform: "linux/amd64", log: io.Discard, download: reg.download, roads: []road{
		{{client: "pip", name: "wheel", ver: "1", sha256: sum(wheel), files: []string{"a/capi/libx*", "a/LICENSE"}}},
		{{client: "npm", name: "pack", ver: "1", sha256: sum(pack), files: []string{"package/bin/libx.so.1"}}},
	}}
	return f, reg, filepath.Join(dir, "onnxruntime")
}

func wantFile(t *testing.T, path, content string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || string(b) != content {
		t.Errorf("%s holds %q, %v", path, b, err)
	}
}

func wantEntries(t *testing.T, dir string, n int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != n {
		t.Errorf("%s has %v, %v; want %d entries", dir, entries, err, n)
	}
}

func TestFetchOnce(t *testing.T) {
	f, reg, target := setup(t)
	for range 2 {
		if err := f.fetch(context.Background(), "runtime"); err != nil {
			t.Fatal(err)
		}
		wantFile(t, filepath.Join(target, "lib", "libx.so.1"), "library")
		wantFile(t, filepath.Join(target, "LICENSE"), "text")
		wantEntries(t, filepath.Join(target, "lib"), 1)
		wantEntries(t, f.dir, 1)
	}
	if len(reg.asked) != 1 {
		t.Errorf("asked for %q", reg.asked)
	}
}

// TestFetchAfterKill: leftovers of a killed fetch are removed by the next one, and a fetch that waits for another
// process ends with its context.
func TestFetchAfterKill(t *testing.T) {
	f, _, target := setup(t)
	if err := os.MkdirAll(filepath.Join(f.dir, workPrefix+"123", "set", "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	unlock, err := lockFolder(context.Background(), f.dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := f.fetch(ctx, "runtime"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	wantEntries(t, f.dir, 1)
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := f.fetch(context.Background(), "runtime"); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(target, "lib", "libx.so.1"), "library")
	wantEntries(t, f.dir, 1)
}

func TestFetchRepairs(t *testing.T) {
	f, reg, target := setup(t)
	library := filepath.Join(target, "lib", "libx.so.1")
	damages := []func() error{
		func() error { return os.WriteFile(library, []byte("LIBRARY"), 0o600) },
		func() error { return os.Truncate(library, 3) },
		func() error { return os.Remove(library) },
		func() error { return os.WriteFile(filepath.Join(target, stampName), []byte("{"), 0o600) },
	}
	if err := f.fetch(context.Background(), "runtime"); err != nil {
		t.Fatal(err)
	}
	for _, damage := range damages {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if err := f.fetch(context.Background(), "runtime"); err != nil {
			t.Fatal(err)
		}
		wantFile(t, library, "library")
	}
	if len(reg.asked) != 1+len(damages) {
		t.Errorf("asked for %q", reg.asked)
	}
}

func TestFetchSecondRoad(t *testing.T) {
	f, reg, target := setup(t)
	delete(reg.archives, "wheel")
	if err := f.fetch(context.Background(), "runtime"); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(target, "lib", "libx.so.1"), "library from npm")
	delete(reg.archives, "pack")
	f.dir = t.TempDir()
	err := f.fetch(context.Background(), "runtime")
	if err == nil || !strings.Contains(err.Error(), "pip is not installed") || !strings.Contains(err.Error(), "npm is not installed") {
		t.Errorf("error is %v", err)
	}
	wantEntries(t, f.dir, 0)
}

func TestFetchOneClient(t *testing.T) {
	f, reg, _ := setup(t)
	f.client = "npm"
	if err := f.fetch(context.Background(), "runtime"); err != nil || len(reg.asked) != 1 || reg.asked[0] != "pack" {
		t.Errorf("asked for %q, %v", reg.asked, err)
	}
	f.client = "conda"
	if err := f.fetch(context.Background(), "runtime"); err == nil {
		t.Error("an unknown client is accepted")
	}
}

// TestFetchChecksum: a wrong archive is an error, not a reason to try another road, and the old files stay.
func TestFetchChecksum(t *testing.T) {
	f, reg, target := setup(t)
	reg.archives["wheel"] = append(reg.archives["wheel"], 0)
	if err := f.fetch(context.Background(), "runtime"); !errors.Is(err, errChecksum) {
		t.Errorf("error is %v", err)
	}
	wantEntries(t, f.dir, 0)

	f.client = "npm"
	if err := f.fetch(context.Background(), "runtime"); err != nil {
		t.Fatal(err)
	}
	f.client = "pip"
	if err := f.fetch(context.Background(), "runtime"); !errors.Is(err, errChecksum) {
		t.Errorf("error is %v", err)
	}
	wantFile(t, filepath.Join(target, "lib", "libx.so.1"), "library from npm")
	wantEntries(t, f.dir, 1)
}

func TestFetchIncompleteArchive(t *testing.T) {
	f, _, _ := setup(t)
	f.roads[0][0].files = []string{"a/capi/liby*"}
	f.client = "pip"
	if err := f.fetch(context.Background(), "runtime"); err == nil || !strings.Contains(err.Error(), "does not contain a/capi/liby*") {
		t.Errorf("error is %v", err)
	}
	wantEntries(t, f.dir, 0)
}

func TestUnknown(t *testing.T) {
	f := &fetcher{dir: t.TempDir(), platform: "plan9/mips", log: io.Discard}
	for want, name := range map[string]string{"nothing is pinned for plan9/mips": "runtime", "is unknown": "weights"} {
		if err := f.fetch(context.Background(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if code := run(context.Background(), nil, io.Discard); code != 2 {
		t.Errorf("no set named: exit %d", code)
	}
}

// TestFetchPrograms: what an archive says is a program can be started.
func TestFetchPrograms(t *testing.T) {
	var wheel, pack bytes.Buffer
	z, gz := zip.NewWriter(&wheel), gzip.NewWriter(&pack)
	w := tar.NewWriter(gz)
	for name, mode := range map[string]os.FileMode{"a/program": 0o755, "a/text": 0o644} {
		h := &zip.FileHeader{Name: name}
		h.SetMode(mode)
		if _, err := z.CreateHeader(h); err != nil {
			t.Fatal(err)
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: int64(mode), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), w.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"a.whl": wheel.Bytes(), "a.tgz": pack.Bytes()} {
		folder := t.TempDir()
		archive := filepath.Join(folder, name)
		if err := os.WriteFile(archive, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unpack(archive, []string{"a/program", "a/text"}, folder, map[string]file{}); err != nil {
			t.Fatal(err)
		}
		for file, want := range map[string]bool{"program": true, "text": false} {
			if info, err := os.Stat(filepath.Join(folder, file)); err != nil || isProgram(info.Mode()) != want {
				t.Errorf("%s: %s: program is not %v (%v)", name, file, want, err)
			}
		}
	}
}

// TestPins checks the form of the table.
func TestPins(t *testing.T) {
	hash := regexp.MustCompile(`^[0-9a-f]{64}$`)
	for name, s := range sets {
		for platform, roads := range s.roads {
			for _, r := range roads {
				for _, p := range r {
					if !hash.MatchString(p.sha256) || len(p.files) == 0 || (p.client == "pip") != (p.tag != "" && p.abi != "") {
						t.Errorf("%s on %s: %+v", name, platform, p)
					}
				}
			}
		}
	}
}
