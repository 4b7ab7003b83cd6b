// Package filelock keeps two processes from working on the same files. A lock is advisory (flock) and is on a file or
// on a folder. The system releases it when the process ends, however it ends, so there are no stale locks.
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

// Lock is a lock that is held until Release.
type Lock struct {
	File *os.File // the locked file, open for reading and writing, or the locked folder
	made string   // the folder, if it was created for the lock
}

// InUseError reports that another run holds a lock.
type InUseError struct {
	Path    string // what is locked
	Process int    // the holder; 0: unknown
}

func (e *InUseError) Error() string {
	if e.Process == 0 {
		return fmt.Sprintf("%q is in use by another run", e.Path)
	}
	return fmt.Sprintf("%q is in use by another run, process %d", e.Path, e.Process)
}

// Hint says what the user can do.
func (e *InUseError) Hint() string {
	return "wait until the other run has ended, or choose another --out"
}

// Take locks the file at path and creates it if necessary. If another run holds the lock, the error is an *InUseError.
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

// Wait takes the lock of a file as [Take] does, as soon as no other run holds it. If it has to wait, it calls waits once; waits may be nil.
func Wait(ctx context.Context, path string, waits func(*InUseError)) (*Lock, error) {
	return wait(ctx, func() (*Lock, error) { return Take(path) }, waits)
}

// WaitFolder locks a folder as [Folder] does, as soon as no other run holds it.
func WaitFolder(ctx context.Context, path string, mkdirAll func(string) (made bool, err error)) (*Lock, error) {
	return wait(ctx, func() (*Lock, error) { return Folder(path, mkdirAll) }, nil)
}

func wait(ctx context.Context, take func() (*Lock, error), waits func(*InUseError)) (*Lock, error) {
	for {
		l, err := take()
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

// Folder locks a folder and puts no file into it. mkdirAll creates the folder and its parents if necessary and reports
// whether it created the folder. If another run holds the lock, the error is an *InUseError. On a file system that
// cannot lock folders it always succeeds.
func Folder(path string, mkdirAll func(string) (made bool, err error)) (l *Lock, err error) {
	path = filepath.Clean(path)
	const tries = 100
	for range tries {
		if l, err = folder(path, mkdirAll); !errors.Is(err, os.ErrNotExist) {
			return l, err
		}
	}
	return nil, err
}

// folder locks a folder. The error is os.ErrNotExist if another run removed the folder in the meantime.
func folder(path string, mkdirAll func(string) (bool, error)) (*Lock, error) {
	made, err := mkdirAll(path)
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

// standsAt checks that path still names the open folder f. A lock on a removed folder would keep no other run out.
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

// Release releases the lock. It removes a folder that was created for the lock, if it is empty.
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

// Try locks an open file until it is closed. If the file is already locked, the error is syscall.EWOULDBLOCK.
func Try(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// holder is the process that holds the lock on a file, as Linux lists it; 0 if unknown.
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
