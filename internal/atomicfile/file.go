// Package atomicfile creates files that appear under their names only when they are complete and on disk. All outputs
// are written by it, in the same order: sync the bytes, rename the file, sync the folder. A file that exists under its
// name is therefore complete, also after a crash. Folders of outputs are made by it, too, and their parents synced.
//
// Until then it is a temporary file beside the target, .NAME and digits. A process that is killed leaves it behind; the
// next process that writes the same file removes it. Temporary files of running processes are locked, so that no other
// process removes them. A process that exits early removes its own with Abandon.
package atomicfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"

	"pipe/internal/filelock"
	"pipe/internal/storage"
)

// File is a file that has no name yet. The caller ends it with CloseAtomicallyReplace or Cleanup. Cleanup does nothing
// after a successful CloseAtomicallyReplace.
type File struct {
	*renameio.PendingFile
	folder string                  // of the target
	store  func(file string) error // stores the finished file in an object store; nil if the target is local
	lock   *os.File                // a second handle, whose lock shows that the writer is running; nil if the file system has no locks
}

// errNotRegular means that the output path names something other than a regular file, such as a device or a named pipe,
// which the new file would replace.
var errNotRegular = errors.New("it exists and is not a regular file")

// Create starts the file at path, with permissions 0644, and removes temporary files that killed processes left. If
// path is a link, the link stays and its target is replaced or created. If path exists and is not a regular file, the
// error is errNotRegular.
func Create(path string) (*File, error) {
	if storage.IsURL(path) {
		return nil, errURL // it must never become a local folder
	}
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
		_ = f.Cleanup() // another process removed it as a leftover before it was locked
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

// CreateAt is Create for a location. The bytes for an object store go to a temporary file on this machine. They are stored,
// as a whole, when the file gets its name, unless ctx has ended.
func CreateAt(ctx context.Context, at storage.Location) (*File, error) {
	if !at.IsRemote() {
		return Create(at.Path())
	}
	f := &File{store: func(file string) error { return at.Put(ctx, file) }}
	err := pending.make(f, func() (string, error) {
		var err error
		target := filepath.Join(os.TempDir(), "pipe-"+at.Base()) // never a name: the file is removed
		f.PendingFile, err = renameio.NewPendingFile(target, renameio.WithTempDir(os.TempDir()), renameio.WithStaticPermissions(0o600))
		if err != nil {
			return "", err
		}
		return f.Name(), nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// target resolves the links of path.
func target(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return missing(path)
	}
	if !info.Mode().IsRegular() {
		return "", errNotRegular
	}
	return filepath.EvalSymlinks(path)
}

// missing resolves links to a file that does not exist.
func missing(path string) (string, error) {
	const links = 40 // the limit of Linux
	for n := range links {
		to, err := os.Readlink(path)
		folder, name := filepath.Split(path)
		switch {
		case err == nil && filepath.IsAbs(to):
			path = to
		case err == nil:
			path = folder + to // not Join: folder/.. is another place if folder is a link
		case n == 0 || folder == "":
			return path, nil // not a link; creating the file reports the error
		default:
			if folder, err = filepath.EvalSymlinks(folder); err != nil {
				return "", err
			}
			return filepath.Join(folder, name), nil
		}
	}
	return "", &os.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
}

// WriteFile creates a file with data.
func WriteFile(path string, data []byte) error {
	return WriteFileAt(context.Background(), storage.File(path), data)
}

// WriteFileAt is WriteFile for a location.
func WriteFileAt(ctx context.Context, at storage.Location, data []byte) error {
	f, err := CreateAt(ctx, at)
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// CloseAtomicallyReplace gives the file its name and makes that durable.
func (f *File) CloseAtomicallyReplace() error {
	if f.store != nil {
		if err := f.store(f.Name()); err != nil {
			return err
		}
		return f.Cleanup()
	}
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

// hold locks a temporary file that was just created. alone is false if another process has locked or removed it. lock
// is nil on a file system without locks, where sweep removes nothing.
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

// sweep removes temporary files of the target that no process has locked. It ignores files that cannot be removed,
// because they do no harm.
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
