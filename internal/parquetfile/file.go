// Package parquetfile reads untrusted Parquet files page by page, in pure Go. Everything that a file claims is checked
// before it is used, so a page is either correct or an error. Its checksum is verified if it has one. The decompressed
// data has the length in the header, there are as many levels and values as claimed, and dictionary indexes are within
// the dictionary.
//
// The package exists because the available Go libraries read such files incorrectly or without limits. Version 0.32 of
// parquet-go returns wrong values from pages of LZ4, and it allocates whatever a file claims. Version 18.8 of arrow-go
// does not verify the checksums of pages: it reads a page with a flipped bit without an error.
//
// # Memory
//
// The claims of a file cannot allocate more than this. For a page: twice maxPageBytes, and maxPageValues values with
// their levels. For the footer, which has at most maxFooterBytes: 4 MiB and 16 times its length. For row groups: what
// CheckValues allows for a file of that size.
package parquetfile

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// Limits on what is read. A file that exceeds one is refused with an error that names the limit.
const (
	maxPageBytes  = 1 << 28 // of a page, decompressed
	maxPageValues = 1 << 26 // of a page, nulls included
	// maxFooterBytes is enough for 100,000 columns in 20 row groups.
	maxFooterBytes = 1 << 28
)

// File is an open Parquet file. It is safe for concurrent use.
type File struct {
	Root   *Column // the schema; its children are the columns
	Meta   []KeyValue
	r      io.ReaderAt
	size   int64
	body   int64 // where pages end and the footer begins
	leaves []*Column
	groups []group
	closer io.Closer
}

// OpenFile is Open for a path of this machine.
func OpenFile(path string) (*File, error) { return Open(context.Background(), storage.File(path)) }

// Open opens a file. The caller closes it. Errors about the content are *Error.
func Open(ctx context.Context, path storage.Location) (*File, error) {
	file, size, err := textfile.OpenAt(ctx, path)
	var kind *textfile.Error
	switch {
	case errors.As(err, &kind):
		return nil, &Error{msg: kind.Err.Error()}
	case err != nil:
		return nil, err
	}
	f, err := New(file, size)
	if err != nil {
		file.Close()
		return nil, err
	}
	f.closer = file
	return f, nil
}

// Close closes a file that Open opened. Pages read so far stay valid.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// New reads the footer of a file of size bytes. Errors about the content are *Error.
func New(r io.ReaderAt, size int64) (*File, error) {
	if size == 0 {
		return nil, &Error{msg: "is empty"}
	}
	f := &File{r: r, size: size}
	text, err := f.footerText()
	if err != nil {
		return nil, err
	}
	foot, err := parseFooter(text)
	if err != nil {
		return nil, err
	}
	f.Meta, f.groups = foot.meta, foot.groups
	schema := newSchemaBuilder(foot.schema)
	if f.Root, err = schema.build(nil, 0); err != nil {
		return nil, err
	}
	if len(schema.rest) != 0 || f.Root.Leaf() {
		return nil, damaged("its schema is not a tree")
	}
	f.leaves = schema.leaves
	return f, f.checkGroups(foot.rows)
}

// footerText reads the footer. The last eight bytes of the file are its length and a magic number.
func (f *File) footerText() ([]byte, error) {
	var head [4]byte
	var tail [8]byte
	if f.size < int64(len(head)+len(tail)) {
		return nil, truncated()
	}
	if err := f.readAt(head[:], 0); err != nil {
		return nil, err
	}
	if err := f.readAt(tail[:], f.size-int64(len(tail))); err != nil {
		return nil, err
	}
	switch string(tail[4:]) {
	case "PAR1":
	case "PARE":
		return nil, encrypted("is an encrypted Parquet file, which is not read")
	default:
		return nil, truncated()
	}
	f.body = f.size - int64(len(tail)) - int64(binary.LittleEndian.Uint32(tail[:]))
	if string(head[:]) != "PAR1" || f.body < int64(len(head)) {
		return nil, truncated()
	}
	length := f.size - int64(len(tail)) - f.body
	if length > maxFooterBytes {
		return nil, unread("write it again with fewer row groups", "has a footer of %d bytes; at most %d are read", length, maxFooterBytes)
	}
	text := make([]byte, length)
	return text, f.readAt(text, f.body)
}

func encrypted(msg string) error {
	return unread("decrypt it first, for example with pyarrow and its key", "%s", msg)
}

// readAt fills b. The offsets were checked, so an early end means that the file has changed.
func (f *File) readAt(b []byte, off int64) error {
	if n, err := f.r.ReadAt(b, off); n < len(b) {
		if errors.Is(err, io.EOF) {
			return damaged("it ends at byte %d", off+int64(n))
		}
		return err
	}
	return nil
}

func (f *File) checkGroups(rows int64) error {
	total := int64(0)
	for i, g := range f.groups {
		if err := f.checkRows(g.rows); err != nil {
			return err
		}
		total += g.rows
		if err := f.checkRows(total); err != nil {
			return err
		}
		if len(g.chunks) != len(f.leaves) {
			return damaged("row group %d has %d columns, the schema %d", i, len(g.chunks), len(f.leaves))
		}
	}
	if total != rows {
		return damaged("its row groups have %d rows, its footer says %d", total, rows)
	}
	return nil
}

// checkRows refuses a number of rows that is implausible for a file of this size.
func (f *File) checkRows(rows int64) error {
	if rows < 0 || rows > 1<<20+64*f.size {
		return damaged("%d rows in %d bytes", rows, f.size)
	}
	return nil
}

// CheckValues refuses rows of width float32 values that take more memory than is plausible for a file of this size: 256
// MiB and 1,024 times its size.
func (f *File) CheckValues(rows, width int) error {
	if limit := 1<<26 + 256*f.size; int64(width) > limit || int64(rows)*int64(width) > limit {
		return &Error{msg: "cannot be read, " + claim(rows, width, f.size)}
	}
	return nil
}

// Groups returns the number of row groups.
func (f *File) Groups() int { return len(f.groups) }

// GroupRows returns the number of rows of a row group, according to its metadata.
func (f *File) GroupRows(g int) int { return int(f.groups[g].rows) }

// Lookup returns the value of a key of the metadata.
func (f *File) Lookup(key string) (value string, ok bool) {
	for _, kv := range f.Meta {
		if kv.Key == key {
			return kv.Value, true
		}
	}
	return "", false
}
