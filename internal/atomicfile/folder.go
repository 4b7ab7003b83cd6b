package atomicfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"pipe/internal/storage"
)

var errURL = errors.New("it is a URL, not a path of this machine")

// MkdirAll creates a folder and its missing parents like os.MkdirAll, with permissions 0777 before the umask. It syncs
// the parent of each folder that it creates: a synced file is lost in a crash if the name of its folder is. made reports
// whether this call created the folder itself.
func MkdirAll(folder string) (made bool, err error) {
	if storage.IsURL(folder) {
		return false, errURL
	}
	return mkdirAll(folder)
}

// MkdirAllAt is MkdirAll for a location. An object store has no folders of its own, so there nothing is created.
func MkdirAllAt(_ context.Context, folder storage.Location) (made bool, err error) {
	if folder.IsRemote() {
		return false, nil
	}
	return MkdirAll(folder.Path())
}

func mkdirAll(folder string) (made bool, err error) {
	if info, err := os.Stat(folder); err == nil {
		if info.IsDir() {
			return false, nil
		}
		return false, &fs.PathError{Op: "mkdir", Path: folder, Err: syscall.ENOTDIR}
	}
	parent := parentOf(folder)
	if _, err := mkdirAll(parent); err != nil {
		return false, err
	}
	if err := os.Mkdir(folder, 0o777); err != nil {
		return false, unlessThere(folder, err)
	}
	return true, SyncFolder(parent)
}

// parentOf cuts the last name off. It resolves no "..", which leads elsewhere after a link.
func parentOf(path string) string {
	path = strings.TrimRight(path, "/")
	last := strings.LastIndexByte(path, '/')
	if last < 0 {
		return "."
	}
	if parent := strings.TrimRight(path[:last], "/"); parent != "" {
		return parent
	}
	return "/"
}

// unlessThere returns the error of a mkdir, nil if another process made the folder first. If that has also removed it,
// the error is fs.ErrNotExist.
func unlessThere(folder string, err error) error {
	info, gone := os.Lstat(folder)
	switch {
	case gone == nil && info.IsDir():
		return nil
	case errors.Is(err, fs.ErrExist) && errors.Is(gone, fs.ErrNotExist):
		return gone
	}
	return err
}

// Rename gives a complete file or folder another name, which may be in another folder, and makes that durable.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	into, outOf := filepath.Dir(to), filepath.Dir(from)
	if err := SyncFolder(into); err != nil || into == outOf {
		return err
	}
	return SyncFolder(outOf)
}

// SyncFolder makes changes to the names in a folder durable, such as a rename. File systems that cannot sync folders
// are accepted.
func SyncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	err = syncHandle(d)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// syncHandle is another function in tests.
var syncHandle = (*os.File).Sync
