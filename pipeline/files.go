package pipeline

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"pipe/internal/atomicfile"
	"pipe/internal/filelock"
)

// WriteFile creates path from what write produces, all or nothing: the bytes go to a temporary file in the same
// folder, which is synced and renamed only when everything succeeded. A reader therefore never finds a part of it.
func WriteFile(path string, write func(io.Writer) error) error {
	f, err := createFile(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Abort()
		return err
	}
	return f.Commit()
}

// pendingFile is an output that does not exist under its own name until Commit.
type pendingFile struct {
	*bufio.Writer
	file *atomicfile.File
	path string
}

// createFile starts the output at path, making its folder if need be. The caller ends with Commit or Abort.
func createFile(path string) (*pendingFile, error) {
	if err := makeFolder(path); err != nil {
		return nil, err
	}
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, fmt.Errorf("write %q: %w", path, err)
	}
	return &pendingFile{Writer: bufio.NewWriterSize(file, 1<<18), file: file, path: path}, nil
}

// makeFolder creates the folder that the file at path is to be in.
func makeFolder(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	return nil
}

// Commit makes the file appear under its name, complete and on disk.
func (f *pendingFile) Commit() error {
	defer f.Abort()
	err := f.Flush()
	if err == nil {
		err = f.file.CloseAtomicallyReplace()
	}
	if err != nil {
		return fmt.Errorf("write %q: %w", f.path, err)
	}
	return nil
}

// Abort removes what was written; after a Commit that succeeded it does nothing.
func (f *pendingFile) Abort() { _ = f.file.Cleanup() }

// alone does work that leaves files in a folder, while no other run does: a second one is a *filelock.InUseError. The
// folder is made; without a name there is none.
func alone[T any](folder string, work func() (T, error)) (result T, err error) {
	if folder == "" {
		return work()
	}
	lock, err := filelock.Folder(folder)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	return work()
}

func isFolder(path string) bool {
	s, err := os.Stat(path)
	return err == nil && s.IsDir()
}

// isFileName tells whether files can be named after a setting: letters, digits and _.
func isFileName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
}
