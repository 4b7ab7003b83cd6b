package textfile

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
)

const bufferSize = 1 << 18

// CheckRegular refuses a path that is no regular file and no folder: a pipe or a device can be read only once, and may
// have no end.
func CheckRegular(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().IsRegular() || info.IsDir() {
		return err
	}
	return &Error{File: path, Err: &Fault{
		Msg:    "is a pipe or a device, no regular file; it would have to be read more than once",
		Advice: "save its content to a file first, and name that",
	}}
}

// Open opens a regular file and says how many bytes it has. A folder, a pipe or a device is an *Error, and is not opened:
// opening a pipe would wait for its writer.
func Open(path string) (*os.File, int64, error) {
	var bad *Error
	if err := CheckRegular(path); errors.As(err, &bad) {
		return nil, 0, err
	}
	f, err := os.Open(path) // says best why a file cannot be opened
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = &Error{File: path, Err: faultf("is a folder, no regular file")}
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// ReadFile reads a whole regular file, of text or not, of at most limit bytes.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, size, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	tooLarge := &Error{File: path, Err: faultf("is larger than %d MiB, the most that such a file may have", limit>>20)}
	if size > limit {
		return nil, tooLarge
	}
	var b bytes.Buffer
	b.Grow(int(size) + bytes.MinRead)
	switch n, err := b.ReadFrom(io.LimitReader(f, limit+1)); { // a file may grow, and one of /proc has no size
	case err != nil:
		return nil, err
	case n > limit:
		return nil, tooLarge
	}
	return b.Bytes(), nil
}

// Decode returns the text of in, which errors call file: unpacked where it is gzipped, and without a byte order mark.
// It looks at the first bytes and refuses what is not UTF-8 text by what it is. Parquet is passed on where a caller can
// read that, too.
func Decode(file string, in io.Reader, parquet bool) (*bufio.Reader, error) {
	r := bufio.NewReaderSize(in, bufferSize)
	if head, _ := r.Peek(2); string(head) == gzipMark {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, &Error{File: file, Err: faultf("is no gzip file: %v", err)}
		}
		r = bufio.NewReaderSize(z, bufferSize)
	} else if strings.HasSuffix(strings.ToLower(file), ".gz") {
		return nil, &Error{File: file, Err: faultf("is no gzip file, though its name ends in .gz")}
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
		_, _ = r.Discard(len(byteOrderMark)) // it was just seen
	}
	return r, nil
}

// beginning returns the first bytes, as many as are there without waiting for more than a mark needs.
func beginning(r *bufio.Reader) ([]byte, error) {
	const longestMark = 4
	if _, err := r.Peek(longestMark); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return r.Peek(min(r.Buffered(), headSize))
}

// readError makes an *Error of what a reader of gzipped text says about damaged data. Errors of the medium stay what
// they are.
func readError(file string, line int, err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &corrupt) {
		return &Error{File: file, Line: line, Err: faultf("the gzip data are damaged: %v", err)}
	}
	return err
}

// headSize is how many of the first bytes are looked at.
const headSize = 4096

const (
	gzipMark      = "\x1f\x8b"
	parquetMark   = "PAR1"
	byteOrderMark = "\xef\xbb\xbf"
)

// encodingAdvice helps with a file of the wrong encoding.
func encodingAdvice(name string) string {
	return "write it again as UTF-8, for example by: iconv -f " + name + " -t UTF-8 OLD > NEW"
}

// NotText returns an error for the first bytes of what is no UTF-8 text, nil for those of text.
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
		{parquetMark, "is a Parquet file; text is needed", "give it the ending .parquet where Parquet is read"},
	} {
		if bytes.HasPrefix(head, []byte(k.mark)) {
			return &Fault{k.what, k.advice}
		}
	}
	return zeros(head)
}

// zeros judges the zero bytes of the beginning: text of two bytes a character has one in every second place, text of one
// byte a character has none.
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
	return faultf("has zero bytes near its beginning: it is no text file")
}
