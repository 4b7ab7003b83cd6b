// Package atomicfile makes files that appear under their names when they are complete and on disk, and not before. It is
// the one writer of outputs, with one promise: the bytes are synced, then the file gets its name, then the folder is
// synced. Who finds the name finds the whole file, also after a crash.
//
// Until then they are temporary files beside the target, .NAME and digits. A process that is killed leaves one; the next
// that makes the same file removes it. Those of running processes are locked, so that no other process takes them for
// leftovers. A process that ends early removes its own by Abandon.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"

	"pipe/internal/filelock"
)

// File is a file that has no name yet. The caller ends it with CloseAtomicallyReplace, or with Cleanup, which does
// nothing after the other succeeded.
type File struct {
	*renameio.PendingFile
	folder string   // of the target
	lock   *os.File // another handle on the file, which shows others that its maker lives; nil where locks are not to be had
}

// ErrNotRegular says that the name of an output belongs to something else than a regular file, such as a device or a
// named pipe, which the new file would replace.
var ErrNotRegular = errors.New("it exists and is not a regular file")

// Create starts the file at path, with permissions 0644, and removes what killed processes left of it. A link at path
// stays, and the file behind it is replaced, or made where there is none. What is not a regular file is ErrNotRegular.
func Create(path string) (*File, error) {
	path, err := target(path)
	if err != nil {
		return nil, err
	}
	sweep(path)
	for {
		f, alone, err := create(path)
		if err != nil {
			return nil, err
		}
		if alone {
			return f, nil
		}
		_ = f.Cleanup() // another process took it for a leftover before it was locked
	}
}

func create(path string) (f *File, alone bool, err error) {
	folder := filepath.Dir(path)
	f = &File{folder: folder}
	err = pending.make(f, func() (string, error) {
		f.PendingFile, err = renameio.NewPendingFile(path, renameio.WithTempDir(folder), renameio.WithStaticPermissions(0o644))
		if err != nil {
			return "", err
		}
		return f.Name(), nil
	})
	if err != nil {
		return nil, false, err
	}
	f.lock, alone = hold(f.Name())
	return f, alone, nil
}

// target returns the file behind path, through links.
func target(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return missing(path)
	}
	if !info.Mode().IsRegular() {
		return "", ErrNotRegular
	}
	return filepath.EvalSymlinks(path)
}

// missing follows links to a file that is not there.
func missing(path string) (string, error) {
	const links = 40 // as many as Linux follows
	for n := range links {
		to, err := os.Readlink(path)
		folder, name := filepath.Split(path)
		switch {
		case err == nil && filepath.IsAbs(to):
			path = to
		case err == nil:
			path = folder + to // not by Join: folder/.. is another place where folder is a link
		case n == 0 || folder == "":
			return path, nil // no link; the error comes again where the file is made
		default:
			if folder, err = filepath.EvalSymlinks(folder); err != nil {
				return "", err
			}
			return filepath.Join(folder, name), nil
		}
	}
	return "", &os.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
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

// CloseAtomicallyReplace gives the file its name, durably.
func (f *File) CloseAtomicallyReplace() error {
	if err := f.PendingFile.CloseAtomicallyReplace(); err != nil {
		return err
	}
	f.release()
	return SyncFolder(f.folder)
}

// Cleanup removes a file that did not get its name.
func (f *File) Cleanup() error {
	defer f.release()
	return f.PendingFile.Cleanup()
}

func (f *File) release() {
	pending.forget(f)
	if f.lock != nil {
		f.lock.Close()
		f.lock = nil
	}
}

// SyncFolder makes the names in a folder durable, such as that of a file after a rename. File systems that know no such
// thing are taken as they are.
func SyncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// hold locks a temporary file that was just made. It returns false if the file is another's by now, or gone; on a file
// system without locks it returns no lock, and nothing is ever swept there.
func hold(path string) (lock *os.File, alone bool) {
	f, err := os.Open(path)
	if err != nil {
		return nil, !errors.Is(err, os.ErrNotExist)
	}
	switch err := filelock.Try(f); {
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
		if filelock.Try(f) == nil {
			os.Remove(left)
		}
		f.Close()
	}
}
