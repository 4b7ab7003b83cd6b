package atomicfile

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"pipe/internal/storage"
)

// Write creates the file at path with what write produces, all or nothing. The bytes go to a temporary file in the same
// folder, which is synced and renamed only if everything succeeded. A reader never sees part of a file.
func Write(path string, write func(io.Writer) error) error {
	return WriteAt(context.Background(), storage.File(path), write)
}

// WriteAt is Write for a location.
func WriteAt(ctx context.Context, at storage.Location, write func(io.Writer) error) error {
	f, err := CreateBufferedAt(ctx, at)
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
	Path string // of the output, or its URL
}

// CreateBufferedAt starts the output and creates its folder if necessary. The caller ends with Commit or Abort. What Commit
// stores in an object store ends with ctx.
func CreateBufferedAt(ctx context.Context, at storage.Location) (*Buffered, error) {
	if err := MakeFolderAt(ctx, at); err != nil {
		return nil, err
	}
	file, err := CreateAt(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("write %q: %w", at, err)
	}
	return &Buffered{Writer: bufio.NewWriterSize(file, 1<<18), file: file, Path: at.String()}, nil
}

// MakeFolderAt creates the folder of a file.
func MakeFolderAt(ctx context.Context, at storage.Location) error {
	if _, err := MkdirAllAt(ctx, at.Dir()); err != nil {
		return fmt.Errorf("write %q: %w", at, err)
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
