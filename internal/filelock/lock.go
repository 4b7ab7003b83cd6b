// Package filelock keeps two processes from working on the same files. A lock is advisory (flock), on a file or on a
// folder itself. The system gives it back when the process ends, however it ends, so none is ever left over.
package filelock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Lock is held until Release.
type Lock struct {
	File *os.File // the file, which its holder may read and write, or the folder
	made string   // a folder that was made for the lock
}

// InUseError says that another run holds a lock.
type InUseError struct {
	Path    string // what is locked
	Process int    // its holder; 0: not known
}

func (e *InUseError) Error() string {
	if e.Process == 0 {
		return fmt.Sprintf("%q is in use by another run", e.Path)
	}
	return fmt.Sprintf("%q is in use by another run, process %d", e.Path, e.Process)
}

// Hint names the way out.
func (e *InUseError) Hint() string {
	return "wait until the other run has ended, or name another --out"
}

// Take locks the file at path, which is made if need be. Where another run has it, the error is an *InUseError.
func Take(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := hold(f); err != nil {
		f.Close()
		return nil, err
	}
	return &Lock{File: f}, nil
}

// Wait takes a lock as soon as no other run has it. waits, which may be nil, is told once if that is not now.
func Wait(ctx context.Context, path string, waits func(*InUseError)) (*Lock, error) {
	for {
		l, err := Take(path)
		var used *InUseError
		if !errors.As(err, &used) {
			return l, err
		}
		if waits != nil {
			waits(used)
			waits = nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Folder locks a folder, which is made if need be, and leaves no file in it. Where another run has it, the error is an
// *InUseError. File systems that cannot lock a folder let everyone in.
func Folder(path string) (l *Lock, err error) {
	path = filepath.Clean(path)
	const tries = 100
	for range tries {
		if l, err = folder(path); !errors.Is(err, os.ErrNotExist) {
			return l, err
		}
	}
	return nil, err
}

// folder locks a folder. os.ErrNotExist says that another run made the folder and removed it in the meantime.
func folder(path string) (*Lock, error) {
	made, err := makeFolder(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	var used *InUseError
	if err = hold(f); !errors.As(err, &used) {
		err = standsAt(f, path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	l := &Lock{File: f}
	if made {
		l.made = path
	}
	return l, nil
}

// makeFolder makes a folder, and those above it; made is false where it is there.
func makeFolder(path string) (made bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return false, err
	}
	if os.Mkdir(path, 0o777) == nil {
		return true, nil
	}
	return false, os.MkdirAll(path, 0o777)
}

// standsAt is nil where the open folder f is what has the path: a lock on a folder that is gone keeps no run out.
func standsAt(f *os.File, path string) error {
	held, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(path)
	if err == nil && !os.SameFile(held, there) {
		err = os.ErrNotExist
	}
	return err
}

// Release gives the lock back. A folder that was made for it goes if it is empty.
func (l *Lock) Release() error {
	if l.made != "" {
		_ = os.Remove(l.made)
	}
	return l.File.Close()
}

func hold(f *os.File) error {
	switch err := Try(f); {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return &InUseError{f.Name(), holder(f)}
	default:
		return fmt.Errorf("lock %q: %w", f.Name(), err)
	}
}

// Try locks an open file until it is closed. The error is syscall.EWOULDBLOCK where it is locked already.
func Try(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// holder is the process that has the lock on a file, as Linux lists it; 0 where that is not known.
func holder(f *os.File) int {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer locks.Close()
	inode := fmt.Sprintf(":%d", stat.Ino)
	for lines := bufio.NewScanner(locks); lines.Scan(); {
		// 1: FLOCK  ADVISORY  WRITE 781 fe:00:10398544 0 EOF
		fields := strings.Fields(lines.Text())
		process := 0
		if len(fields) > 5 && fields[1] == "FLOCK" && strings.HasSuffix(fields[5], inode) {
			if _, err := fmt.Sscan(fields[4], &process); err == nil && process > 0 {
				return process
			}
		}
	}
	return 0
}
