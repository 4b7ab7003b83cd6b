package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// deltas reads n integers of DELTA_BINARY_PACKED and returns the bytes after them. Sums wrap around at the given number
// of bits.
func deltas(dst []int64, b []byte, n, bits int) (numbers []int64, rest []byte, err error) {
	r := &thriftReader{b: b} // Thrift has the same varints
	block, minis, count, first := r.uvarint(), r.uvarint(), r.uvarint(), r.varint()
	switch {
	case r.err != nil:
		return nil, nil, fmt.Errorf("its deltas: %w", r.err)
	case count != uint64(n):
		return nil, nil, fmt.Errorf("%d deltas for %d values", count, n)
	case block == 0 || block > 1<<20 || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0:
		return nil, nil, fmt.Errorf("its deltas are in blocks of %d by %d", block, minis)
	}
	dst = sized(dst, int64(n))
	if n == 0 {
		return dst, r.b, nil
	}
	wrap := func(v int64) int64 {
		if bits == 32 {
			return int64(int32(v))
		}
		return v
	}
	v := wrap(first)
	dst[0] = v
	for left := dst[1:]; len(left) > 0; {
		least := r.varint()
		widths := r.take(minis)
		for _, width := range widths {
			if len(left) == 0 {
				break
			}
			if int(width) > bits {
				r.fail(fmt.Errorf("a delta of %d bits", width))
			}
			packed := r.take(block / minis / 8 * uint64(width))
			if r.err != nil {
				break
			}
			m := min(int(block/minis), len(left))
			for i := range left[:m] {
				v = wrap(v + least + int64(bitsAt(packed, i*int(width), int(width))))
				left[i] = v
			}
			left = left[m:]
		}
		if r.err != nil {
			return nil, nil, fmt.Errorf("its deltas: %w", r.err)
		}
	}
	return dst, r.b, nil
}

// deltaLengths reads n strings of DELTA_LENGTH_BYTE_ARRAY: all lengths, then
// all bytes.
func (v *Values) deltaLengths(b []byte, n int) error {
	lengths, rest, err := deltas(nil, b, n, 32)
	if err != nil {
		return err
	}
	v.ends = sized(v.ends, int64(n))
	end := 0
	for i, l := range lengths {
		if l < 0 || l > int64(len(rest)-end) {
			return fmt.Errorf("a string of %d bytes in %d", l, len(rest)-end)
		}
		end += int(l)
		v.ends[i] = end
	}
	if end != len(rest) {
		return fmt.Errorf("its strings end %d bytes early", len(rest)-end)
	}
	v.all = string(rest)
	return nil
}

// deltaStrings reads n strings of DELTA_BYTE_ARRAY: for each one, the length of the prefix that it shares with the
// previous string, then the rest.
func (v *Values) deltaStrings(b []byte, n int) error {
	shared, rest, err := deltas(nil, b, n, 32)
	if err != nil {
		return err
	}
	suffixes := Values{kind: ByteArray}
	if err := suffixes.deltaLengths(rest, n); err != nil {
		return err
	}
	total, before := len(suffixes.all), int64(0)
	for i, l := range shared {
		if l < 0 || l > before {
			return fmt.Errorf("string %d shares %d bytes of %d", i, l, before)
		}
		before = l + int64(len(suffixes.Text(i)))
		if total += int(l); total > maxPageBytes {
			return errors.New("its strings are too long in total")
		}
	}
	all := make([]byte, 0, total)
	v.ends = sized(v.ends, int64(n))
	last := 0
	for i, l := range shared {
		start := len(all)
		all = append(all, all[last:last+int(l)]...)
		all = append(all, suffixes.Text(i)...)
		last, v.ends[i] = start, len(all)
	}
	v.all = string(all)
	return nil
}

// lengthPrefixed reads n strings of PLAIN, each after its length in four bytes.
func (v *Values) lengthPrefixed(b []byte, n int) error {
	if len(b) < 4*n {
		return fmt.Errorf("%d strings in %d bytes", n, len(b))
	}
	var all strings.Builder
	all.Grow(len(b) - 4*n)
	v.ends = sized(v.ends, int64(n))
	for i := range n {
		if len(b) < 4 {
			return fmt.Errorf("string %d is missing", i)
		}
		l := int64(binary.LittleEndian.Uint32(b))
		if b = b[4:]; l > int64(len(b)) {
			return fmt.Errorf("string %d has %d bytes where %d are left", i, l, len(b))
		}
		all.Write(b[:l])
		b = b[l:]
		v.ends[i] = all.Len()
	}
	if len(b) > 0 {
		return fmt.Errorf("%d bytes after its last string", len(b))
	}
	v.all = all.String()
	return nil
}
