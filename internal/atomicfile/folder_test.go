package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"pipe/internal/filelock"
)

// disk records which names of a tree a crash would leave.
type disk struct {
	root  string
	names map[uint64]map[string]bool // in each folder, by inode, when that was last synced
}

// watch replaces the sync of folders by one that records. It must be called while no other test runs.
func watch(t *testing.T) *disk {
	t.Helper()
	d := &disk{root: t.TempDir(), names: map[uint64]map[string]bool{}}
	old := syncHandle
	t.Cleanup(func() { syncHandle = old })
	syncHandle = func(f *os.File) error {
		files, err := os.ReadDir(f.Name())
		if err != nil {
			return err
		}
		names := map[string]bool{}
		for _, file := range files {
			names[file.Name()] = true
		}
		d.names[inode(t, f.Name())] = names
		return nil
	}
	return d
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

// lost lists what exists, but would not after a crash.
func (d *disk) lost(t *testing.T) (lost []string) {
	t.Helper()
	err := filepath.WalkDir(d.root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != d.root && !d.names[inode(t, filepath.Dir(path))][filepath.Base(path)] {
			lost = append(lost, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lost
}

// Whatever creates an output leaves names that survive a crash: those of the file and of all folders that it made.
func TestNamesAreDurable(t *testing.T) {
	text := func(w io.Writer) error {
		_, err := io.WriteString(w, "x")
		return err
	}
	for name, create := range map[string]func(root string) error{
		"file":            func(root string) error { return WriteFile(filepath.Join(root, "a"), nil) },
		"file in folders": func(root string) error { return Write(filepath.Join(root, "a", "b", "c"), text) },
		"folders": func(root string) error {
			_, err := MkdirAll(filepath.Join(root, "a", "b", "c"))
			return err
		},
		"folders and slashes": func(root string) error {
			_, err := MkdirAll(root + "//a///b/./c/../d/")
			return err
		},
		"half of the folders": func(root string) error {
			_, first := MkdirAll(filepath.Join(root, "a"))
			_, second := MkdirAll(filepath.Join(root, "a", "b", "c"))
			return errors.Join(first, second)
		},
		"lock": func(root string) error {
			_, err := filelock.Folder(filepath.Join(root, "a", "b"), MkdirAll)
			return err
		},
		"rename": func(root string) error {
			return errors.Join(WriteFile(filepath.Join(root, "a"), nil), Rename(filepath.Join(root, "a"), filepath.Join(root, "b")))
		},
		"rename into a folder": func(root string) error {
			_, err := MkdirAll(filepath.Join(root, "to"))
			return errors.Join(err, Write(filepath.Join(root, "from", "a"), text), Rename(filepath.Join(root, "from", "a"), filepath.Join(root, "to", "a")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := watch(t)
			if err := create(d.root); err != nil {
				t.Fatal(err)
			}
			if lost := d.lost(t); len(lost) > 0 {
				t.Errorf("a crash loses the names %v", lost)
			}
		})
	}
}

// A renamed file is gone from its old folder after a crash, too.
func TestRenameSyncsBothFolders(t *testing.T) {
	d := watch(t)
	from, to := filepath.Join(d.root, "from"), filepath.Join(d.root, "to")
	for _, folder := range []string{from, to} {
		if _, err := MkdirAll(folder); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteFile(filepath.Join(from, "a"), nil); err != nil {
		t.Fatal(err)
	}
	if err := Rename(filepath.Join(from, "a"), filepath.Join(to, "b")); err != nil {
		t.Fatal(err)
	}
	if d.names[inode(t, from)]["a"] || !d.names[inode(t, to)]["b"] {
		t.Errorf("on disk there are %v", d.names)
	}
	if err := Rename(filepath.Join(from, "a"), filepath.Join(to, "c")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("renamed a file that is not there: %v", err)
	}
}

// A failed sync is an error, except on a file system that syncs no folders.
func TestFailedSync(t *testing.T) {
	old := syncHandle
	defer func() { syncHandle = old }()
	for fault, want := range map[syscall.Errno]error{syscall.EIO: syscall.EIO, syscall.EINVAL: nil, syscall.ENOTSUP: nil} {
		syncHandle = func(*os.File) error { return fault }
		folder := t.TempDir()
		a := filepath.Join(folder, "a")
		if _, err := MkdirAll(filepath.Join(folder, "new")); !errors.Is(err, want) {
			t.Errorf("folder: %v makes %v", fault, err)
		}
		if err := WriteFile(a, nil); !errors.Is(err, want) {
			t.Errorf("file: %v makes %v", fault, err)
		}
		if err := Rename(a, filepath.Join(folder, "b")); !errors.Is(err, want) {
			t.Errorf("rename: %v makes %v", fault, err)
		}
	}
}

// MkdirAll leaves the same folders and permissions as os.MkdirAll, refuses what that refuses, and knows what it made.
func TestMkdirAllIsThatOfOS(t *testing.T) {
	start := func() {
		t.Chdir(t.TempDir())
		write(t, "file", "x")
		for _, err := range []error{
			os.MkdirAll("there/below", 0o777), os.Symlink("there/below", "link"), os.Symlink("nowhere", "dangling"),
			os.Symlink("circle", "circle"),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	tree := func() (out []string) {
		err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
			info, _ := entry.Info()
			out = append(out, path+" "+info.Mode().String())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, path := range []string{
		"", ".", "/", "..", "a", "a/", "./a/b//c", "a/../b", "a/.", "there", "there/a/b", "link", "link/a", "link/../a/b", "dangling", "dangling/a",
		"circle/a", "file", "file/", "file/a", "file/a/b",
	} {
		start()
		_, before := os.Stat(path)
		want := os.MkdirAll(path, 0o777)
		wanted := tree()
		start()
		made, err := MkdirAll(path)
		if got := tree(); !slices.Equal(got, wanted) {
			t.Errorf("%q: there are %v, want %v", path, got, wanted)
		}
		if (err == nil) != (want == nil) || made && (before == nil || err != nil) {
			t.Errorf("%q: made %v, %v; os.MkdirAll: %v", path, made, err, want)
		}
		if err != nil && err.Error() != want.Error() {
			t.Errorf("%q: %v, want %v", path, err, want)
		}
		if _, gone := os.Stat(path); err == nil && gone != nil {
			t.Errorf("%q: %v", path, gone)
		}
	}
}

// Of many that create a folder at the same time exactly one made it, and all succeed.
func TestMkdirAllSideBySide(t *testing.T) {
	for range 50 {
		folder := filepath.Join(t.TempDir(), "a", "b", "c")
		var all sync.WaitGroup
		makers := make(chan bool, 8)
		for range cap(makers) {
			all.Go(func() {
				made, err := MkdirAll(folder)
				if err != nil {
					t.Error(err)
				}
				makers <- made
			})
		}
		all.Wait()
		close(makers)
		count := 0
		for made := range makers {
			if made {
				count++
			}
		}
		if count != 1 {
			t.Errorf("%d made the folder", count)
		}
	}
}

// Runs that create and remove a folder for its lock at the same time do not fail.
func TestFolderLocks(t *testing.T) {
	old := syncHandle
	defer func() { syncHandle = old }()
	syncHandle = func(*os.File) error { return nil }
	folder := filepath.Join(t.TempDir(), "a")
	var runs sync.WaitGroup
	for range 8 {
		runs.Go(func() {
			for range 1000 {
				l, err := filelock.Folder(folder, MkdirAll)
				var used *filelock.InUseError
				if errors.As(err, &used) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	runs.Wait()
}

// A folder that another process made is no error. One that it also removed can be made by another try.
func TestMadeByAnother(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "file"), "x")
	for name, want := range map[string]error{"": nil, "file": fs.ErrExist, "removed": fs.ErrNotExist} {
		if err := unlessThere(filepath.Join(folder, name), fs.ErrExist); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
	if err := unlessThere(filepath.Join(folder, "removed"), fs.ErrPermission); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a folder that cannot be made: %v", err)
	}
}
