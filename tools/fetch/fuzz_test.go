package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
)

// FuzzUnpack: for any file names in an archive, the result is new files in the folder or its lib, as allowed by the
// list of files, or an error; nothing else changes.
func FuzzUnpack(f *testing.F) {
	for _, name := range []string{"package/lib/libx.so.1", "../../x.h", "/", "..", "package/..", "LICENSE", "keep", "a\\..\\b", "lib"} {
		for _, wheel := range []bool{false, true} {
			f.Add([]byte(nil), name, []byte("content"), wheel)
		}
	}
	f.Add([]byte("\x1f\x8b\x08"), "", []byte{}, false)
	f.Add([]byte("PK\x05\x06"), "", []byte{}, true)
	above := f.TempDir()
	if err := os.WriteFile(filepath.Join(above, "keep"), []byte("k"), 0o644); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte, name string, content []byte, wheel bool) {
		folder := filepath.Join(above, "folder")
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(folder, "lib"), 0o755); err != nil {
			t.Fatal(err)
		}
		archive := filepath.Join(above, "archive.tgz")
		if wheel {
			archive = filepath.Join(above, "archive.whl")
		}
		if len(raw) == 0 {
			raw = packed(name, content, wheel)
		}
		if err := os.WriteFile(archive, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		files := map[string]file{}
		err := unpack(archive, []string{"*", "*/*", "*/*/*"}, folder, files)
		for base, want := range files {
			info, missing := os.Stat(filepath.Join(folder, base))
			if missing != nil || filepath.Dir(base) != "." && filepath.Dir(base) != "lib" || err == nil && info.Size() != want.Size {
				t.Fatalf("%q: %+v (%v)", base, want, missing)
			}
		}
		left, err := os.ReadDir(above)
		if err != nil || len(left) > 4 {
			t.Fatalf("%v, %v", left, err)
		}
		if kept, err := os.ReadFile(filepath.Join(above, "keep")); err != nil || string(kept) != "k" {
			t.Fatalf("%q, %v", kept, err)
		}
	})
}

// packed is an archive of one file; if the file cannot be packed, the archive is truncated.
func packed(name string, content []byte, wheel bool) []byte {
	var b bytes.Buffer
	if wheel {
		z := zip.NewWriter(&b)
		if w, err := z.Create(name); err == nil {
			_, _ = w.Write(content) // into memory
		}
		_ = z.Close()
		return b.Bytes()
	}
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644}) == nil {
		_, _ = w.Write(content)
	}
	_, _ = w.Close(), z.Close()
	return b.Bytes()
}
