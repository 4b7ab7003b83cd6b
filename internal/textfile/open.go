package textfile

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"pipe/internal/storage"
)

const bufferSize = 1 << 18

// CheckRegular refuses a path that is neither a regular file nor a folder: a pipe or a device can be read only once,
// and may have no end.
func CheckRegular(path string) error {
	info, err := os.Stat(path)
	return checkRegular(path, info, err)
}

// CheckRegularAt is CheckRegular for a location.
func CheckRegularAt(ctx context.Context, at storage.Location) error {
	info, err := at.Stat(ctx)
	return checkRegular(at.String(), info, err)
}

func checkRegular(path string, info fs.FileInfo, err error) error {
	if err != nil || info.Mode().IsRegular() || info.IsDir() {
		return err
	}
	return &Error{File: path, Err: &Fault{
		Msg:    "is a pipe or a device, not a regular file; it would have to be read more than once",
		Advice: "save its content to a file first, and use that file",
	}}
}

// Open opens a regular file and returns its size in bytes. A folder, a pipe or a device is an *Error and is not opened:
// opening a pipe would wait for a writer.
func Open(path string) (*os.File, int64, error) {
	var bad *Error
	if err := CheckRegular(path); errors.As(err, &bad) {
		return nil, 0, err
	}
	f, err := os.Open(path) // has the best error if a file cannot be opened
	if err != nil {
		return nil, 0, err
	}
	size, err := sizeOf(path, f)
	return f, size, err
}

// OpenAt is Open for a location. The reads of an object end with ctx.
func OpenAt(ctx context.Context, at storage.Location) (storage.Opened, int64, error) {
	if !at.IsRemote() {
		return Open(at.Path())
	}
	f, err := at.Open(ctx)
	if err != nil {
		return nil, 0, err
	}
	size, err := sizeOf(at.String(), f)
	return f, size, err
}

// sizeOf is the size of an open file. It closes what is not a file.
func sizeOf(path string, f storage.Opened) (int64, error) {
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = &Error{File: path, Err: faultf("is a folder, not a regular file")}
	}
	if err != nil {
		return 0, errors.Join(err, f.Close())
	}
	return info.Size(), nil
}

// ReadFile reads a whole regular file, text or binary, of at most limit bytes.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, size, err := Open(path)
	if err != nil {
		return nil, err
	}
	return readAll(path, f, size, limit)
}

// ReadFileAt is ReadFile for a location.
func ReadFileAt(ctx context.Context, at storage.Location, limit int64) ([]byte, error) {
	f, size, err := OpenAt(ctx, at)
	if err != nil {
		return nil, err
	}
	return readAll(at.String(), f, size, limit)
}

// readAll reads the open file to its end and closes it.
func readAll(path string, f io.ReadCloser, size, limit int64) ([]byte, error) {
	defer f.Close()
	tooLarge := &Error{File: path, Err: faultf("is larger than %d MiB, the most that such a file may have", limit>>20)}
	if size > limit {
		return nil, tooLarge
	}
	var b bytes.Buffer
	b.Grow(int(size) + bytes.MinRead)
	switch n, err := b.ReadFrom(io.LimitReader(f, limit+1)); { // a file may grow, and files in /proc have no size
	case err != nil:
		return nil, err
	case n > limit:
		return nil, tooLarge
	}
	return b.Bytes(), nil
}

// Decode returns the text of in, which errors call file: decompressed if it is gzipped, and without a byte order mark.
// It looks at the first bytes and refuses input that is not UTF-8 text. The error names the likely format. Parquet is
// passed on if the caller can read it too.
func Decode(file string, in io.Reader, parquet bool) (*bufio.Reader, error) {
	r := bufio.NewReaderSize(in, bufferSize)
	if head, _ := r.Peek(2); string(head) == gzipMark {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, &Error{File: file, Err: faultf("is not a gzip file: %v", err)}
		}
		r = bufio.NewReaderSize(z, bufferSize)
	} else if strings.HasSuffix(strings.ToLower(file), ".gz") {
		return nil, &Error{File: file, Err: faultf("is not a gzip file, although its name ends in .gz")}
	}
	head, err := beginning(r)
	if err != nil {
		return nil, readError(file, 0, err)
	}
	if parquet && bytes.HasPrefix(head, []byte(parquetMark)) {
		return r, nil
	}
	if fault := notText(head); fault != nil {
		return nil, &Error{File: file, Err: fault}
	}
	if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		_, _ = r.Discard(len(byteOrderMark)) // it was just peeked
	}
	return r, nil
}

// beginning returns the first bytes. It does not wait for more bytes than a byte order mark needs.
func beginning(r *bufio.Reader) ([]byte, error) {
	const longestMark = 4
	if _, err := r.Peek(longestMark); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return r.Peek(min(r.Buffered(), headSize))
}

// readError turns an error about damaged gzip data into an *Error and returns other read errors unchanged.
func readError(file string, line int, err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &corrupt) {
		return &Error{File: file, Line: line, Err: faultf("the gzip data are damaged: %v", err)}
	}
	return err
}

// headSize is how many bytes at the beginning are examined.
const headSize = 4096

const (
	gzipMark      = "\x1f\x8b"
	parquetMark   = "PAR1"
	byteOrderMark = "\xef\xbb\xbf"
)

// encodingAdvice is the hint for a file with the wrong encoding.
func encodingAdvice(name string) string {
	return "write it again as UTF-8, for example by: iconv -f " + name + " -t UTF-8 OLD > NEW"
}

// NotText returns an error if the first bytes are not UTF-8 text, else nil.
func NotText(file string, head []byte) error {
	if fault := notText(head); fault != nil {
		return &Error{File: file, Err: fault}
	}
	return nil
}

func notText(head []byte) *Fault {
	for _, k := range []struct{ mark, what, advice string }{
		{"\xff\xfe\x00\x00", "is UTF-32; UTF-8 is needed", encodingAdvice("UTF-32")},
		{"\xff\xfe", "is UTF-16; UTF-8 is needed", encodingAdvice("UTF-16")},
		{"\xfe\xff", "is UTF-16; UTF-8 is needed", encodingAdvice("UTF-16")},
		{gzipMark, "is compressed by gzip; unpack it first", ""},
		{"PK\x03\x04", "is a ZIP archive or a spreadsheet; text is needed", "unpack it, or save the sheet as CSV in UTF-8"},
		{"\xd0\xcf\x11\xe0", "is an old spreadsheet; text is needed", "save the sheet as CSV in UTF-8"},
		{"\x28\xb5\x2f\xfd", "is compressed by zstd; text or gzip is needed", "unpack it first"},
		{"\xfd7zXZ", "is compressed by xz; text or gzip is needed", "unpack it first"},
		{parquetMark, "is a Parquet file; text is needed", "if Parquet is supported here, rename the file to end in .parquet"},
	} {
		if bytes.HasPrefix(head, []byte(k.mark)) {
			return &Fault{k.what, k.advice}
		}
	}
	return zeros(head)
}

// zeros judges the zero bytes at the beginning: text with two bytes per character has one in every second place, text
// with one byte per character has none.
func zeros(head []byte) *Fault {
	var at [2]int
	for i, c := range head {
		if c == 0 {
			at[i%2]++
		}
	}
	half := len(head) / 2
	switch {
	case at[0]+at[1] == 0:
		return nil
	case at[1] > half/2 && at[0] <= half/10:
		return &Fault{"looks like UTF-16; UTF-8 is needed", encodingAdvice("UTF-16LE")}
	case at[0] > half/2 && at[1] <= half/10:
		return &Fault{"looks like UTF-16; UTF-8 is needed", encodingAdvice("UTF-16BE")}
	}
	return faultf("has zero bytes near its beginning: it is not a text file")
}
