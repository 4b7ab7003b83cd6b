package pixel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// ReadFile reads the file of an image, but never more bytes than the limit. It
// does not check the other limits; Check does.
func (l Limits) ReadFile(ctx context.Context, path storage.Location) ([]byte, error) {
	f, size, err := textfile.OpenAt(ctx, path)
	var kind *textfile.Error
	switch {
	case errors.As(err, &kind):
		return nil, kind.Err
	case err != nil:
		return nil, err
	}
	defer f.Close()
	if size > int64(l.MaxBytes) {
		return nil, l.tooLong(size)
	}
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
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
