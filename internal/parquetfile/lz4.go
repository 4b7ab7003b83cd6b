package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var errLZ4 = errors.New("decompress LZ4: invalid data")

// lz4Sized decodes one LZ4 block of size bytes.
func lz4Sized(dst, src []byte, size int) ([]byte, error) {
	if size > 256*len(src) { // more than the format can express
		return nil, errLength(size)
	}
	dst = sized(dst, int64(size))
	n, err := lz4Block(dst, src)
	if err == nil && n != size {
		err = errLength(size)
	}
	return dst, err
}

// lz4Framed decodes the older of Parquet's two forms of LZ4, which Hadoop writes: blocks, each after its two lengths.
// Early versions of Arrow used the same name for a block without lengths.
func lz4Framed(dst, src []byte, size int) ([]byte, error) {
	if size > 256*len(src) {
		return nil, errLength(size)
	}
	dst = sized(dst, int64(size))
	done := 0
	for rest := src; len(rest) > 0; {
		if len(rest) < 8 {
			return lz4Sized(dst, src, size)
		}
		whole, stored := binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:])
		rest = rest[8:]
		if int64(stored) > int64(len(rest)) || int64(whole) > int64(size-done) {
			return lz4Sized(dst, src, size)
		}
		n, err := lz4Block(dst[done:done+int(whole)], rest[:stored])
		if err != nil || n != int(whole) {
			return lz4Sized(dst, src, size)
		}
		rest = rest[stored:]
		done += n
	}
	if done != size {
		return nil, fmt.Errorf("decompress LZ4: %w", errLength(size))
	}
	return dst, nil
}

// lz4Block decodes a block and returns how many bytes of dst it filled. A block is a sequence of literal bytes, each
// followed by a copy of earlier bytes.
func lz4Block(dst, src []byte) (int, error) {
	done := 0
	for len(src) > 0 {
		token := src[0]
		literals, rest, ok := lz4Length(src[1:], int(token>>4))
		if !ok || literals > len(rest) || literals > len(dst)-done {
			return 0, errLZ4
		}
		done += copy(dst[done:], rest[:literals])
		if src = rest[literals:]; len(src) == 0 {
			return done, nil // the last run has no copy
		}
		if len(src) < 2 {
			return 0, errLZ4
		}
		back := int(binary.LittleEndian.Uint16(src))
		length, rest, ok := lz4Length(src[2:], int(token&15))
		length += 4
		if !ok || back == 0 || back > done || length > len(dst)-done {
			return 0, errLZ4
		}
		src = rest
		for end := done + length; done < end; { // source and destination may overlap
			done += copy(dst[done:end], dst[done-back:done])
		}
	}
	return 0, errLZ4
}

// lz4Length reads the bytes that follow a length of 15.
func lz4Length(src []byte, n int) (length int, rest []byte, ok bool) {
	if n < 15 {
		return n, src, true
	}
	for i, b := range src {
		n += int(b)
		if b != 255 {
			return n, src[i+1:], true
		}
	}
	return 0, nil, false
}
