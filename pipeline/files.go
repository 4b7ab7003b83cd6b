package pipeline

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	temp *os.File
	path string
}

// createFile starts the output at path, making its folder if need be. The caller ends with Commit or Abort.
func createFile(path string) (*pendingFile, error) {
	if err := makeFolder(path); err != nil {
		return nil, err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, fmt.Errorf("write %q: %w", path, err)
	}
	return &pendingFile{Writer: bufio.NewWriterSize(temp, 1<<18), temp: temp, path: path}, nil
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
	err := errors.Join(f.Flush(), f.temp.Chmod(0o644), f.temp.Sync(), f.temp.Close())
	if err == nil {
		err = os.Rename(f.temp.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(f.temp.Name())
		return fmt.Errorf("write %q: %w", f.path, err)
	}
	return nil
}

// Abort removes what was written.
func (f *pendingFile) Abort() {
	_ = f.temp.Close()
	_ = os.Remove(f.temp.Name())
}

func isFolder(path string) bool {
	s, err := os.Stat(path)
	return err == nil && s.IsDir()
}
