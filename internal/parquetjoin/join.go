// Package parquetjoin puts the row groups of several Parquet files into one, byte for byte as the writer would have
// written them into one file. No value is decoded: it takes as long as copying.
package parquetjoin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Part is one of the files: its bytes, and how many there are.
type Part struct {
	io.ReaderAt
	Size int64
}

const magic = "PAR1"

// Join writes the row groups of the parts into one file: New, Add for each part, Close.
func Join(out io.Writer, parts []Part) error {
	j, err := New(out)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := j.Add(p); err != nil {
			return err
		}
	}
	return j.Close()
}

// Joiner writes the row groups of parts into one file, in their order. All parts must be by the same writer of this module
// with the same columns and metadata; one without rows is fine. The bytes are those of that writer if every part but the
// last one with rows ends where a row group would have ended.
//
// A Joiner keeps the indexes of all pages in memory, as a writer does.
type Joiner struct {
	out     *counted
	parts   int
	meta    *format.FileMetaData // of the first part, with the row groups of all so far
	columns [][]byte             // encoded column indexes, one per column of every row group
	offsets []format.OffsetIndex // and their offset indexes
}

// New begins a file.
func New(out io.Writer) (*Joiner, error) {
	j := &Joiner{out: &counted{w: out}}
	_, err := j.out.Write([]byte(magic))
	return j, err
}

// Add appends a part. One that differs in anything but its rows, or that is damaged, is an error.
func (j *Joiner) Add(p Part) error {
	if err := j.add(p); err != nil {
		return fmt.Errorf("join Parquet files: part %d: %w", j.parts, err)
	}
	j.parts++
	return nil
}

// AddFile appends the part in a local file, as Add does.
func (j *Joiner) AddFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return j.Add(Part{ReaderAt: f, Size: info.Size()})
}

// Close ends the file. Without any part it is an error.
func (j *Joiner) Close() error {
	if j.parts == 0 {
		return errors.New("join Parquet files: there are none")
	}
	return j.end()
}

// add copies the pages of a part and takes over its row groups.
func (j *Joiner) add(p Part) error {
	meta, pages, err := readMeta(p)
	if err != nil {
		return err
	}
	if j.meta == nil {
		j.meta = meta
		j.meta.NumRows = 0
	} else if err := j.same(meta); err != nil {
		return err
	}
	groups := meta.RowGroups
	if j.meta == meta {
		j.meta.RowGroups = nil
	}
	shift := j.out.n - int64(len(magic))
	if _, err := io.Copy(j.out, io.NewSectionReader(p, int64(len(magic)), pages-int64(len(magic)))); err != nil {
		return err
	}
	for _, g := range groups {
		if err := j.group(p, g, shift); err != nil {
			return err
		}
	}
	return nil
}

// same returns an error if a part is not of the table of the first one.
func (j *Joiner) same(meta *format.FileMetaData) error {
	a, b := *j.meta, *meta
	for _, m := range []*format.FileMetaData{&a, &b} {
		m.RowGroups, m.NumRows = nil, 0
	}
	first, err := encode(&a)
	if err != nil {
		return err
	}
	here, err := encode(&b)
	if err != nil {
		return err
	}
	if !bytes.Equal(first, here) {
		return errors.New("its columns or its metadata differ from those of the first part")
	}
	return nil
}

// group takes over a row group, whose pages are now shift bytes further on.
func (j *Joiner) group(p Part, g format.RowGroup, shift int64) error {
	g.FileOffset += shift
	g.Ordinal = int16(len(j.meta.RowGroups))
	for i := range g.Columns {
		c := &g.Columns[i]
		c.MetaData.DataPageOffset += shift
		if c.MetaData.DictionaryPageOffset != 0 {
			c.MetaData.DictionaryPageOffset += shift
		}
		index, err := readAt(p, c.ColumnIndexOffset, int64(c.ColumnIndexLength))
		if err != nil {
			return err
		}
		text, err := readAt(p, c.OffsetIndexOffset, int64(c.OffsetIndexLength))
		if err != nil {
			return err
		}
		var offsets format.OffsetIndex
		if err := thrift.Unmarshal(new(thrift.CompactProtocol), text, &offsets); err != nil {
			return fmt.Errorf("its index of pages: %w", err)
		}
		for k := range offsets.PageLocations {
			offsets.PageLocations[k].Offset += shift
		}
		j.columns, j.offsets = append(j.columns, index), append(j.offsets, offsets)
	}
	j.meta.RowGroups = append(j.meta.RowGroups, g)
	j.meta.NumRows += g.NumRows
	return nil
}

// end writes the indexes of all pages and the footer.
func (j *Joiner) end() error {
	next := 0
	for g := range j.meta.RowGroups {
		for i := range j.meta.RowGroups[g].Columns {
			c := &j.meta.RowGroups[g].Columns[i]
			c.ColumnIndexOffset = j.out.n
			if _, err := j.out.Write(j.columns[next]); err != nil {
				return err
			}
			next++
		}
	}
	next = 0
	for g := range j.meta.RowGroups {
		for i := range j.meta.RowGroups[g].Columns {
			c := &j.meta.RowGroups[g].Columns[i]
			text, err := encode(&j.offsets[next])
			if err != nil {
				return err
			}
			c.OffsetIndexOffset, c.OffsetIndexLength = j.out.n, int32(len(text))
			if _, err := j.out.Write(text); err != nil {
				return err
			}
			next++
		}
	}
	footer, err := encode(j.meta)
	if err != nil {
		return err
	}
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	_, err = j.out.Write(append(footer, magic...))
	return err
}

// readMeta returns the footer of a part, and where its pages end.
func readMeta(p Part) (meta *format.FileMetaData, pages int64, err error) {
	const tail = 4 + int64(len(magic))
	if p.Size < tail+int64(len(magic)) {
		return nil, 0, errors.New("it is too short for a Parquet file")
	}
	end, err := readAt(p, p.Size-tail, tail)
	if err != nil {
		return nil, 0, err
	}
	length := int64(binary.LittleEndian.Uint32(end))
	start := p.Size - tail - length
	if string(end[4:]) != magic || start < int64(len(magic)) {
		return nil, 0, errors.New("it is damaged: there is no footer at its end")
	}
	text, err := readAt(p, start, length)
	if err != nil {
		return nil, 0, err
	}
	meta = &format.FileMetaData{}
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), text, meta); err != nil {
		return nil, 0, fmt.Errorf("its footer: %w", err)
	}
	return meta, pagesEnd(meta, start), nil
}

// pagesEnd is where the pages end and the indexes of the pages begin.
func pagesEnd(meta *format.FileMetaData, end int64) int64 {
	for _, g := range meta.RowGroups {
		for i := range g.Columns {
			if at := g.Columns[i].ColumnIndexOffset; at > 0 {
				end = min(end, at)
			}
		}
	}
	return end
}

// readAt reads n bytes of a part.
func readAt(p Part, at, n int64) ([]byte, error) {
	if at < 0 || n < 0 || at > p.Size-n {
		return nil, errors.New("it is damaged: it refers to bytes beyond its end")
	}
	b := make([]byte, n)
	if _, err := p.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b, nil
}

func encode(v any) ([]byte, error) {
	b, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	return slices.Clip(b), err
}

// counted counts the bytes that are written.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
