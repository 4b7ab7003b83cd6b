package pixel

import (
	"errors"
	"fmt"
)

// Limits restrict the images that are decoded. Without them a few bytes of a
// crafted file could require gigabytes, and an image of one pixel is likely a
// mistake.
type Limits struct {
	MinSide   int `json:"min_side"`   // pixels of the shorter side
	MaxSide   int `json:"max_side"`   // pixels of the longer side
	MaxPixels int `json:"max_pixels"` // width x height
	MaxBytes  int `json:"max_bytes"`  // of the file
}

// DefaultLimits allow 8 to 16,384 pixels a side, 100 million pixels in all, and
// files of 64 MiB.
func DefaultLimits() Limits {
	return Limits{MinSide: 8, MaxSide: 16384, MaxPixels: maxPixels, MaxBytes: 64 << 20}
}

// Validate rejects limits that no image can satisfy, and limits above 100
// million pixels or 1 GiB.
func (l Limits) Validate() error {
	var errs []error
	add := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("limits of images: "+format, args...))
	}
	if l.MinSide < 1 {
		add("min_side is %d; it must be at least 1", l.MinSide)
	}
	if l.MaxSide < max(1, l.MinSide) {
		add("max_side is %d, less than min_side, %d", l.MaxSide, l.MinSide)
	}
	if l.MaxPixels < 1 || l.MaxPixels > maxPixels {
		add("max_pixels is %d; it must be from 1 to %d", l.MaxPixels, maxPixels)
	}
	if l.MaxBytes < 1 || l.MaxBytes > maxBytes {
		add("max_bytes is %d; it must be from 1 to %d", l.MaxBytes, maxBytes)
	}
	return errors.Join(errs...)
}

// Check reads only the header of a file. It returns an error if the file
// exceeds a limit or is not an image.
func (l Limits) Check(b []byte) error {
	if len(b) > l.MaxBytes {
		return fmt.Errorf("decode image: %w", l.tooLong(int64(len(b))))
	}
	w, h, err := Size(b)
	switch {
	case err != nil:
		return err
	case min(w, h) < l.MinSide:
		return fmt.Errorf("decode image: %d x %d pixels, the limit min_side is %d", w, h, l.MinSide)
	case max(w, h) > l.MaxSide:
		return fmt.Errorf("decode image: %d x %d pixels, the limit max_side is %d", w, h, l.MaxSide)
	case w > l.MaxPixels/h:
		return fmt.Errorf("decode image: %d x %d pixels, the limit max_pixels is %d", w, h, l.MaxPixels)
	}
	return nil
}
