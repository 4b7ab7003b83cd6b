package stage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"pipe/internal/dataerror"
	"pipe/internal/digest"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// The samples of a file: its beginning, its end, and blocks in between.
const (
	sketchEnds   = 256 << 10
	sketchBlocks = 16
	sketchBlock  = 64 << 10
)

// Sketch identifies files by their names, sizes and samples of their bytes: 1.5 MB of each at most, so that every worker
// on a large file can afford it. A change that keeps the size and misses the samples is not seen. Bad paths are a
// *costs.DataError.
func Sketch(ctx context.Context, paths ...storage.Location) (string, error) {
	h := digest.New()
	for _, path := range paths {
		if err := sketch(ctx, h, path); err != nil {
			return "", err
		}
	}
	return digest.Sum(h), nil
}

func sketch(ctx context.Context, h io.Writer, path storage.Location) error {
	f, size, err := textfile.OpenAt(ctx, path)
	if err != nil {
		return dataerror.FromText(err)
	}
	defer f.Close()
	fmt.Fprintf(h, "%d %s\n", size, path.Base()) // writing to a hash never fails
	sample := func(at, n int64) error {
		b := make([]byte, min(n, size-at))
		if _, err := f.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %q: %w", path, err)
		}
		_, err := h.Write(b)
		return err
	}
	if size <= 2*sketchEnds+sketchBlocks*sketchBlock {
		return sample(0, size)
	}
	if err := errors.Join(sample(0, sketchEnds), sample(size-sketchEnds, sketchEnds)); err != nil {
		return err
	}
	for i := range int64(sketchBlocks) {
		if err := sample(size*(2*i+1)/(2*sketchBlocks), sketchBlock); err != nil {
			return err
		}
	}
	return nil
}
