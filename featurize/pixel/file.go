package pixel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// ReadFile reads the file of an image, and never more than the limit of bytes.
// Check tells whether the content is within the others.
func (l Limits) ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // opening a pipe would wait for its writer
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("is a folder")
	case !info.Mode().IsRegular():
		return nil, errors.New("is no regular file")
	case info.Size() > int64(l.MaxBytes):
		return nil, l.tooLong(info.Size())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err = io.Copy(b, io.LimitReader(f, int64(l.MaxBytes)+1)); err != nil {
		return nil, err
	}
	if b.Len() > l.MaxBytes {
		return nil, l.tooLong(int64(b.Len()))
	}
	return b.Bytes(), nil
}

func (l Limits) tooLong(size int64) error {
	return fmt.Errorf("the file has %d bytes, the limit max_bytes is %d", size, l.MaxBytes)
}
