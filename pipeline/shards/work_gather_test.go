package shards

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/storage/storagetest"
)

// Every damage of a work folder is one error that names the file, with a hint; what a killed worker leaves is none.
func TestDamage(t *testing.T) {
	read := func(t *testing.T, work, name string) []byte {
		b, err := os.ReadFile(filepath.Join(work, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, c := range map[string]struct {
		harm func(t *testing.T, work, part string)
		want string
	}{
		"nothing": {func(*testing.T, string, string) {}, ""},
		"left by a kill": {func(t *testing.T, work, part string) {
			write(t, work, "parts/000001-0123456789abcdef0123456789abcdef.txt", []byte("half"))
			write(t, work, "claims/000001.3", nil)
		}, ""},
		"truncated": {func(t *testing.T, work, part string) { write(t, work, part, read(t, work, part)[:3]) }, "it has 3 bytes, but had"},
		"other bytes": {func(t *testing.T, work, part string) {
			write(t, work, part, bytes.ToUpper(append(read(t, work, part)[:1], "!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!"...))[:len(read(t, work, part))])
		}, "its content has changed"},
		"part is gone": {func(t *testing.T, work, part string) { os.Remove(filepath.Join(work, part)) }, "it is missing"},
		"missing":      {func(t *testing.T, work, part string) { os.Remove(filepath.Join(work, "done/000002.json")) }, "1 of 4 shards are missing: 2"},
		"doubled": {func(t *testing.T, work, part string) {
			write(t, work, "done/000002.json", read(t, work, "done/000001.json"))
		}, "it is shard 1: it was copied"},
		"half a record": {func(t *testing.T, work, part string) {
			write(t, work, "done/000002.json", read(t, work, "done/000002.json")[:40])
		}, "is damaged"},
		"of other work": {func(t *testing.T, work, part string) {
			b := read(t, work, "done/000002.json")
			write(t, work, "done/000002.json", bytes.Replace(b, []byte("sha256:"), []byte("sha257:"), 1))
		}, "it is of other work"},
		"too many": {func(t *testing.T, work, part string) {
			write(t, work, "done/000004.json", read(t, work, "done/000001.json"))
		}, "its shard is not one of this work"},
		"stranger":     {func(t *testing.T, work, part string) { write(t, work, "parts/notes.txt", nil) }, "no shard of this work has such a file"},
		"bad manifest": {func(t *testing.T, work, part string) { write(t, work, "manifest.json", []byte("{}")) }, "another version"},
	} {
		t.Run(name, func(t *testing.T) {
			work := t.TempDir()
			s := newLines(4, 40)
			w := openLines(t, s, Default(storagetest.At(t, work)))
			if _, err := w.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			d, err := readDone(t.Context(), w.folder, w.of, 1)
			if err != nil {
				t.Fatal(err)
			}
			c.harm(t, work, d.Files[0].Part)
			_, err = Gather(t.Context(), s, Default(storagetest.At(t, work)))
			var hint interface{ Hint() string }
			switch {
			case c.want == "":
				if err != nil || s.got.String() != s.local() {
					t.Error(err)
				}
			case err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &hint) || hint.Hint() == "":
				t.Errorf("%v, want %q and a hint", err, c.want)
			}
		})
	}
}

// A folder that is not one of work loses nothing, whatever the names in it.
func TestDropElsewhere(t *testing.T) {
	for _, manifest := range []string{"", `{"name": "a web application"}`} {
		folder := t.TempDir()
		code := filepath.Join(folder, "shared", "code.go")
		if err := os.Mkdir(filepath.Dir(code), 0o777); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{code: "package shared"}
		if manifest != "" {
			files[filepath.Join(folder, manifestName)] = manifest
		}
		for name, text := range files {
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := Drop(t.Context(), quick(t, folder)); err == nil {
			t.Error("no error")
		}
		for name := range files {
			if _, err := os.Stat(name); err != nil {
				t.Error(err)
			}
		}
	}
}

// A shard that is finished while the folder is listed is done or missing, and never one whose parts are gone.
func TestFinishedWhileGathering(t *testing.T) {
	for at := 1; at <= 2; at++ {
		m, memory := storagetest.New(t)
		s, o := newLines(2, 100), quick(t, memory+"/work")
		w := openLines(t, s, o)
		if _, _, err := w.Run(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		lists := 0
		m.Fault = func(op, _ string) error {
			if op != "list" {
				return nil
			}
			if lists++; lists == at {
				lists = 10 // the worker lists, too
				if _, _, err := w.Run(t.Context(), 1); err != nil {
					t.Error(err)
				}
			}
			return nil
		}
		var missing *MissingError
		if _, err := Gather(t.Context(), newLines(2, 100), o); err != nil && !errors.As(err, &missing) {
			t.Errorf("finished before listing %d: %v", at, err)
		}
		if lists < at {
			t.Errorf("only %d listings", lists)
		}
	}
}
