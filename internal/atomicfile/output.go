package atomicfile

import (
	"bufio"
	"fmt"
	"io"

	"pipe/internal/storage"
)

// Write creates the file at path with what write produces, all or nothing. The bytes go to a temporary file in the same
// folder, which is synced and renamed only if everything succeeded. A reader never sees part of a file.
func Write(path string, write func(io.Writer) error) error {
	f, err := CreateBuffered(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Abort()
		return err
	}
	return f.Commit()
}

// Buffered is an output that does not exist under its own name until Commit.
type Buffered struct {
	*bufio.Writer
	file *File
	Path string // of the output
}

// CreateBuffered starts the output at path and creates its folder if necessary. The caller ends with Commit or Abort.
func CreateBuffered(path string) (*Buffered, error) {
	if err := MakeFolder(path); err != nil {
		return nil, err
	}
	file, err := Create(path)
	if err != nil {
		return nil, fmt.Errorf("write %q: %w", path, err)
	}
	return &Buffered{Writer: bufio.NewWriterSize(file, 1<<18), file: file, Path: path}, nil
}

// MakeFolder creates the folder of the file at path.
func MakeFolder(path string) error {
	if _, err := MkdirAll(storage.Dir(path)); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	return nil
}

// Commit makes the file appear under its name, complete and on disk.
func (f *Buffered) Commit() error {
	defer f.Abort()
	err := f.Flush()
	if err == nil {
		err = f.file.CloseAtomicallyReplace()
	}
	if err != nil {
		return fmt.Errorf("write %q: %w", f.Path, err)
	}
	return nil
}

// Abort removes what was written. After a successful Commit it does nothing.
func (f *Buffered) Abort() { _ = f.file.Cleanup() }
