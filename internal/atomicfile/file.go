// Package atomicfile makes files that appear under their names when they are complete and on disk, and not before.
//
// Until then they are temporary files beside the target, .NAME and digits. A process that is killed leaves one; the next
// that makes the same file removes it. Those of running processes are locked, so that nobody else's work is lost.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"
)

// File is a file in the making. The caller ends it with CloseAtomicallyReplace, or with Cleanup, which does nothing after
// the other succeeded.
type File struct {
	*renameio.PendingFile
	lock *os.File // another handle on the file, which tells others that its maker lives; nil where locks are not to be had
}

// Create starts the file at path, with permissions 0644, and removes what killed processes left of it.
func Create(path string) (*File, error) {
	sweep(path)
	for {
		p, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(0o644))
		if err != nil {
			return nil, err
		}
		lock, alone := hold(p.Name())
		if alone {
			return &File{PendingFile: p, lock: lock}, nil
		}
		_ = p.Cleanup() // another process took it for a leftover before it was locked
	}
}

// WriteFile makes a file of data.
func WriteFile(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// CloseAtomicallyReplace gives the file its name.
func (f *File) CloseAtomicallyReplace() error {
	err := f.PendingFile.CloseAtomicallyReplace()
	if err == nil {
		f.unlock()
	}
	return err
}

// Cleanup removes a file that did not get its name.
func (f *File) Cleanup() error {
	defer f.unlock()
	return f.PendingFile.Cleanup()
}

func (f *File) unlock() {
	if f.lock != nil {
		f.lock.Close()
		f.lock = nil
	}
}

// hold locks a temporary file that was just made. It returns false if the file is another's by now, or gone; on a file
// system without locks it returns no lock, and nothing is ever swept there.
func hold(path string) (lock *os.File, alone bool) {
	f, err := os.Open(path)
	if err != nil {
		return nil, !errors.Is(err, os.ErrNotExist)
	}
	switch err := flock(f); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		f.Close()
		return nil, false
	case err != nil:
		f.Close()
		return nil, true
	}
	if _, err := os.Stat(path); err != nil {
		f.Close()
		return nil, false
	}
	return f, true
}

// sweep removes temporary files of the target that nobody holds. What cannot be removed stays: it is in nobody's way.
func sweep(path string) {
	folder, name := filepath.Split(filepath.Clean(path))
	if folder == "" {
		folder = "."
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, file := range files {
		digits, ok := strings.CutPrefix(file.Name(), "."+name)
		if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" || !file.Type().IsRegular() {
			continue
		}
		left := filepath.Join(folder, file.Name())
		f, err := os.Open(left)
		if err != nil {
			continue
		}
		if flock(f) == nil {
			os.Remove(left)
		}
		f.Close()
	}
}

func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
