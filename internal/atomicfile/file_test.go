package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
)

func names(t *testing.T, folder string) (out []string) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		out = append(out, f.Name())
	}
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A killed process leaves a temporary file; the next writer of the same file removes it, and nothing else.
func TestLeftoversGo(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{".a.json123", ".a.json4", ".b.json5", ".a.jsonx6", ".a.json", "a.json7"} {
		write(t, filepath.Join(folder, name), "left")
	}
	if err := os.Mkdir(filepath.Join(folder, ".a.json99"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(folder, "a.json"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	want := []string{".a.json", ".a.json99", ".a.jsonx6", ".b.json5", "a.json", "a.json7"}
	if got := names(t, folder); !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
}

// A file that another writer is working on stays, and gets its name.
func TestOthersStay(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.json")
	slow, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("quick")); err != nil {
		t.Fatal(err)
	}
	if _, err := slow.WriteString("slow"); err != nil {
		t.Fatal(err)
	}
	if err := slow.CloseAtomicallyReplace(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "slow" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if got := names(t, folder); len(got) != 1 {
		t.Errorf("there are %v", got)
	}
}

func TestCleanup(t *testing.T) {
	folder := t.TempDir()
	f, err := Create(filepath.Join(folder, "a"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Cleanup(); err != nil {
			t.Fatal(err)
		}
	}
	if got := names(t, folder); len(got) != 0 {
		t.Errorf("there are %v", got)
	}
}

// Concurrent writers of one file all succeed, and the file is whole.
func TestSideBySide(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 25 {
				if err := WriteFile(path, bytes.Repeat([]byte{byte('a' + i)}, 4096)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	text, err := os.ReadFile(path)
	if err != nil || len(text) != 4096 || bytes.Count(text, text[:1]) != 4096 {
		t.Errorf("the file is a mixture: %v", fmt.Sprint(len(text), err))
	}
	if got := names(t, folder); len(got) != 1 {
		t.Errorf("there are %v", got)
	}
}

// A file that is not regular stays as it is. A link stays, and its target is replaced.
func TestOnlyFilesAreReplaced(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, folder, os.DevNull} {
		if err := WriteFile(path, []byte("x")); !errors.Is(err, errNotRegular) {
			t.Errorf("%s: %v", path, err)
		}
	}
	file, link := filepath.Join(folder, "file"), filepath.Join(folder, "link")
	write(t, file, "old")
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "new" {
		t.Errorf("the file behind the link holds %q, %v", text, err)
	}
	if to, err := os.Readlink(link); err != nil || to != "file" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

// A link to a missing file stays, also through other links, and the file is created at its target. Circular links are
// an error.
func TestLinksToNothing(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"links", "deep", "deep/files"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"first": "links/second", "links/second": "../short/../file", "short": "deep/files", "circle": "circle", "away": "nowhere/file",
	} {
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteFile(filepath.Join(folder, "first"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "first")); err != nil || string(text) != "new" {
		t.Errorf("the link leads to %q, %v", text, err)
	}
	for _, link := range []string{"circle", "away"} {
		if err := WriteFile(filepath.Join(folder, link), nil); err == nil {
			t.Errorf("%s was written", link)
		}
	}
	for _, link := range []string{"first", "links/second", "circle", "away"} {
		if _, err := os.Readlink(filepath.Join(folder, link)); err != nil {
			t.Errorf("the link is gone: %v", err)
		}
	}
}

// abandons is set in the process in which TestAbandon calls Abandon.
const abandons = "ATOMICFILE_ABANDONS"

// A process that abandons its work removes its temporary files and can create no new ones.
func TestAbandon(t *testing.T) {
	folder := os.Getenv(abandons)
	if folder != "" {
		if _, err := Create(filepath.Join(folder, "a")); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(filepath.Join(folder, "b"), []byte("done")); err != nil {
			t.Fatal(err)
		}
		within, _, err := TempFolder(folder, "more-*")
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(within, "c"), "c")
		Abandon()
		if _, err := Create(filepath.Join(folder, "d")); err == nil {
			t.Error("a file was made after the end")
		}
		return
	}
	folder = t.TempDir()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAbandon$")
	c.Env = append(os.Environ(), abandons+"="+folder)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := names(t, folder); !slices.Equal(got, []string{"b"}) {
		t.Errorf("there are %v", got)
	}
}
