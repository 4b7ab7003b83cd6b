package parquetfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// Codec is how pages are compressed.
type Codec int

// The codecs, by their numbers in the format.
const (
	Uncompressed Codec = iota
	Snappy
	Gzip
	LZO
	Brotli
	LZ4
	Zstd
	LZ4Raw
)

func (c Codec) known() error {
	switch c {
	case Uncompressed, Snappy, Gzip, Brotli, LZ4, Zstd, LZ4Raw:
		return nil
	case LZO:
		return unread(rewrite, "is compressed with LZO, which is not read")
	}
	return unread(rewrite, "is compressed with codec number %d, which is not read", int(c))
}

// decompress returns exactly size bytes, in dst if it is large enough. Otherwise it allocates no more than the
// compressed bytes can fill. Zstandard blocks can repeat one byte without a useful limit, so for Zstandard it may
// allocate size bytes.
func (c Codec) decompress(dst, src []byte, size int) ([]byte, error) {
	if size == 0 && len(src) == 0 {
		return dst[:0], nil
	}
	switch c {
	case Snappy:
		return unsnap(dst, src, size)
	case Gzip:
		return inflate(&gzipReaders, dst, src, size)
	case Brotli:
		return inflate(&brotliReaders, dst, src, size)
	case Zstd:
		return unzstd(dst, src, size)
	case LZ4:
		return lz4Framed(dst, src, size)
	case LZ4Raw:
		return lz4Sized(dst, src, size)
	}
	return nil, c.known()
}

func unsnap(dst, src []byte, size int) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil || n != size || size > 64*len(src) {
		return nil, errLength(size)
	}
	out, err := snappy.Decode(sized(dst, int64(size)), src)
	if err != nil {
		return nil, fmt.Errorf("decompress snappy: %w", err)
	}
	if len(out) != size {
		return nil, errLength(size)
	}
	return out, nil
}

// resetReader is a decompressor that is reused, because it takes much memory.
type resetReader interface {
	io.Reader
	Reset(io.Reader) error
}

var (
	gzipReaders   = sync.Pool{New: func() any { return new(gzip.Reader) }}
	brotliReaders = sync.Pool{New: func() any { return new(brotli.Reader) }}
)

func inflate(readers *sync.Pool, dst, src []byte, size int) ([]byte, error) {
	r := readers.Get().(resetReader)
	if err := r.Reset(bytes.NewReader(src)); err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	out, err := readExactly(dst, r, len(src), size)
	if err == nil { // after damaged data it must not be reused
		readers.Put(r)
	}
	return out, err
}

// readExactly reads size bytes, after which r must end. The buffer grows with the data received.
func readExactly(dst []byte, r io.Reader, compressed, size int) ([]byte, error) {
	for done := 0; ; {
		step := min(size, max(len(dst[:cap(dst)]), 1<<16+64*compressed, 2*done))
		if cap(dst) < step {
			dst = append(make([]byte, 0, step), dst[:done]...)
		}
		n, err := io.ReadFull(r, dst[done:step])
		done += n
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errLength(size)
		}
		if err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
		if done == size {
			break
		}
	}
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return nil, errLength(size)
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return dst[:size], nil
}

// zstdReaders are decoders that stop at the capacity of the destination.
var zstdReaders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
}}

func unzstd(dst, src []byte, size int) ([]byte, error) {
	var head zstd.Header
	if err := head.Decode(src); err == nil && head.HasFCS && head.FrameContentSize > uint64(size) {
		return nil, errLength(size)
	}
	d := zstdReaders.Get().(*zstd.Decoder)
	defer zstdReaders.Put(d)
	dst = sized(dst, int64(size))
	out, err := d.DecodeAll(src, dst[:0:size])
	if err != nil {
		return nil, fmt.Errorf("decompress zstd: %w", err)
	}
	if len(out) != size {
		return nil, errLength(size)
	}
	return out, nil
}
