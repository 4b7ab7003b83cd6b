package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// levelsV1 reads the levels of a data page of version 1: their length in four bytes, then runs.
func levelsV1(dst, b []byte, n, width int, e encoding) (levels, rest []byte, err error) {
	if e != rle {
		return nil, nil, unread(rewrite, "has levels in encoding %s, which is not read", e)
	}
	if len(b) < 4 {
		return nil, nil, errors.New("it has no levels")
	}
	size := int64(binary.LittleEndian.Uint32(b))
	b = b[4:]
	if size > int64(len(b)) {
		return nil, nil, fmt.Errorf("levels of %d bytes in %d", size, len(b))
	}
	levels = sized(dst, int64(n))
	if err := unpackRuns(levels, b[:size], width); err != nil {
		return nil, nil, fmt.Errorf("its levels: %w", err)
	}
	return levels, b[size:], nil
}

// indexes reads the dictionary indexes of a page.
func indexes(dst []int32, b []byte, n, dictionary int) ([]int32, error) {
	dst = sized(dst, int64(n))
	if n == 0 {
		return dst, nil
	}
	if len(b) == 0 || b[0] > 32 {
		return nil, errors.New("its indexes have no width")
	}
	if err := unpackRuns(dst, b[1:], int(b[0])); err != nil {
		return nil, fmt.Errorf("its indexes: %w", err)
	}
	for i, x := range dst {
		if uint64(uint32(x)) >= uint64(dictionary) {
			return nil, fmt.Errorf("value %d is number %d of a dictionary of %d", i, uint32(x), dictionary)
		}
	}
	return dst, nil
}

// unpackRuns fills dst with numbers of the given bit width, stored as runs of one repeated number and runs of packed
// numbers.
func unpackRuns[T byte | int32](dst []T, b []byte, width int) error {
	if width == 0 {
		clear(dst)
		return nil
	}
	for len(dst) > 0 {
		head, n := binary.Uvarint(b)
		if n <= 0 {
			return fmt.Errorf("%d numbers are missing", len(dst))
		}
		b = b[n:]
		if head&1 == 1 {
			count := min(uint64(len(dst)), 8*min(head>>1, uint64(len(dst))))
			if count*uint64(width) > 8*uint64(len(b)) {
				return fmt.Errorf("%d packed numbers in %d bytes", count, len(b))
			}
			for i := range dst[:count] {
				dst[i] = T(bitsAt(b, i*width, width))
			}
			dst = dst[count:]
			// The last run of a page may omit the bytes of numbers beyond the end.
			b = b[min(uint64(len(b)), head>>1*uint64(width)):]
			continue
		}
		size := (width + 7) / 8
		if len(b) < size {
			return errors.New("a run ends early")
		}
		value := T(bitsAt(b[:size], 0, width))
		b = b[size:]
		run := dst[:min(uint64(len(dst)), head>>1)]
		for i := range run {
			run[i] = value
		}
		dst = dst[len(run):]
	}
	return nil
}

// bitsAt returns the number of the given width, at most 64, that begins at a bit of b; bits beyond the end are 0.
func bitsAt(b []byte, bit, width int) uint64 {
	at, shift := bit>>3, bit&7
	var v, next uint64
	if at+8 <= len(b) {
		v = binary.LittleEndian.Uint64(b[at:])
		if at+8 < len(b) {
			next = uint64(b[at+8])
		}
	} else {
		for i, x := range b[at:] {
			v |= uint64(x) << (8 * i)
		}
	}
	v >>= shift
	if shift+width > 64 {
		v |= next << (64 - shift)
	}
	if width < 64 {
		v &= 1<<width - 1
	}
	return v
}
