package tree_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pipe/tools/dist/tree"
)

func TestWrite(t *testing.T) {
	from := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(from, []byte("machine code"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := []tree.File{
		{Name: "usr/bin/pipe", Mode: 0o755, From: from},
		{Name: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		{Name: "usr/bin/other", Link: "pipe"},
		{Name: "etc/passwd", Mode: 0o644, Data: []byte("root")},
	}
	at := time.Unix(1e9, 5)
	written := func() []byte {
		var b bytes.Buffer
		if err := tree.Write(&b, files, at); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	first := written()
	slices.Reverse(files)
	if err := os.Chtimes(from, at, at); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, written()) {
		t.Error("another order of the same files gives other bytes")
	}
	var got []string
	for r := tar.NewReader(bytes.NewReader(first)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.ModTime.Unix() != 1e9 || h.Uid != 0 {
			t.Errorf("%s has the time %v and belongs to %d", h.Name, h.ModTime, h.Uid)
		}
		got = append(got, strings.Join([]string{h.FileInfo().Mode().String(), h.Name, h.Linkname, string(text)}, " "))
	}
	want := []string{
		"drwxr-xr-x ./etc/  ", "-rw-r--r-- ./etc/passwd  root", "dtrwxrwxrwx ./tmp/  ", "drwxr-xr-x ./usr/  ",
		"drwxr-xr-x ./usr/bin/  ", "L--------- ./usr/bin/other pipe ", "-rwxr-xr-x ./usr/bin/pipe  machine code",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if err := tree.Write(io.Discard, []tree.File{{Name: "a", From: from + "-missing"}}, at); err == nil {
		t.Error("a missing file is no error")
	}
}
