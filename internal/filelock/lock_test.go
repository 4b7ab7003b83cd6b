package filelock

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	var used *InUseError
	if _, err := Take(path); !errors.As(err, &used) || used.Path != path {
		t.Errorf("a second lock: %v", err)
	}
	if runtime.GOOS == "linux" && used.Process != os.Getpid() {
		t.Errorf("the holder is %d, not %d", used.Process, os.Getpid())
	}
	told := 0
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Wait(ctx, path, func(*InUseError) { told++ }); !errors.Is(err, context.DeadlineExceeded) || told != 1 {
		t.Errorf("waited: %v, told %d times", err, told)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if l, err = Wait(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

// mkdirAll is the simplest one: it syncs nothing.
func mkdirAll(folder string) (made bool, err error) {
	if err := os.MkdirAll(filepath.Dir(folder), 0o777); err != nil {
		return false, err
	}
	if os.Mkdir(folder, 0o777) == nil {
		return true, nil
	}
	return false, os.MkdirAll(folder, 0o777)
}

// Locking a folder puts no file into it; a folder that was created for the lock is removed.
func TestFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	l, err := Folder(folder, mkdirAll)
	if err != nil {
		t.Fatal(err)
	}
	var used *InUseError
	if _, err := Folder(folder, mkdirAll); !errors.As(err, &used) {
		t.Errorf("a second lock: %v", err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
		t.Errorf("the folder holds %v, %v", files, err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder is left: %v", err)
	}
	if l, err = Folder(folder, mkdirAll); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "x"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); err != nil {
		t.Error(err)
	}
}

// holds is the environment variable with the folder that a helper process locks until it is killed.
const holds = "FILELOCK_HOLDS"

// The locks of a killed process are released.
func TestKilled(t *testing.T) {
	if folder := os.Getenv(holds); folder != "" {
		if _, err := Folder(folder, mkdirAll); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("held\n")
		time.Sleep(time.Hour)
	}
	folder := t.TempDir()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilled$")
	c.Env = append(os.Environ(), holds+"="+folder)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	var used *InUseError
	if _, err := Folder(folder, mkdirAll); !errors.As(err, &used) || runtime.GOOS == "linux" && used.Process != c.Process.Pid {
		t.Errorf("held by %d: %v", c.Process.Pid, err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	l, err := Folder(folder, mkdirAll)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

// Runs that create a folder, lock it and remove it at the same time never see another's folder removed, and only one
// holds it at once.
func TestFolderMadeAndRemoved(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a")
	var holders atomic.Int32
	var runs sync.WaitGroup
	for range 8 {
		runs.Go(func() {
			for range 2000 {
				l, err := Folder(folder, mkdirAll)
				var used *InUseError
				if errors.As(err, &used) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d have the lock", n)
				}
				if _, err := os.Stat(folder); err != nil {
					t.Errorf("a locked folder is gone: %v", err)
				}
				holders.Add(-1)
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	runs.Wait()
}
