package parquetfile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Page is a run of values of one column within a row group.
type Page struct {
	Len int // values, nulls included
	// Rep and Def are the levels, Len values each; nil if the column cannot have any.
	Rep, Def []byte
	Values   // the values that are not null

	rep, def []byte // memory of the levels, reused for the next page
	index    []int32
}

// Pages reads the pages of one column in one row group, in order. It is not safe for concurrent use, and keeps nothing
// open.
type Pages struct {
	file   *File
	column *Column
	chunk  chunk
	at     int64 // of the next page in the file
	end    int64
	left   int64 // values to come
	began  bool
	dict   *Values
	stored []byte // of the page, as in the file; the fields below are reused as well
	plain  []byte
	page   Page
	into   *Page // that is being read
}

// Pages returns the pages of a leaf in a row group.
func (f *File) Pages(group int, c *Column) (*Pages, error) {
	g := f.groups[group]
	meta := g.chunks[c.index]
	switch {
	case meta.encrypted:
		return nil, encrypted("is encrypted, which is not read")
	case meta.elsewhere:
		return nil, unread(rewrite, "is in another file, which is not read")
	case !meta.described:
		return nil, damaged("row group %d has no metadata of the column", group)
	case meta.kind != c.Kind:
		return nil, damaged("row group %d has values of type %s, the schema says %s", group, meta.kind, c.Kind)
	case c.Kind == FixedLenByteArray:
		return nil, unread("", "is of type %s, which is not read", c.Kind)
	case meta.values < 0, c.MaxRep == 0 && meta.values != g.rows, meta.values > 1<<26+256*f.size:
		return nil, damaged("row group %d has %d values of %d rows", group, meta.values, g.rows)
	}
	if err := meta.codec.known(); err != nil {
		return nil, err
	}
	if g.rows == 0 && meta.values == 0 {
		return &Pages{file: f, column: c}, nil // writers may give a place of 0
	}
	start := meta.data
	if meta.dictionary > 0 && meta.dictionary < start {
		start = meta.dictionary
	}
	if start < 4 || meta.size < 0 || start > f.body || meta.size > f.body-start {
		return nil, damaged("row group %d is at bytes %d to %d of %d", group, start, start+meta.size, f.body)
	}
	return &Pages{file: f, column: c, chunk: meta, at: start, end: start + meta.size, left: meta.values}, nil
}

// Next returns the next page, which is valid until the next call, and io.EOF after as many values as the metadata says.
func (p *Pages) Next() (*Page, error) {
	if err := p.Read(&p.page); err != nil {
		return nil, err
	}
	return &p.page, nil
}

// Read reads the next page into one of the caller, whose memory it reuses: a caller with two can read the second while
// it uses the first. Its errors are those of Next.
func (p *Pages) Read(page *Page) error {
	p.into = page
	for p.left > 0 {
		at := p.at
		done, err := p.read()
		if err != nil {
			return atByte(at, err)
		}
		if done {
			return nil
		}
	}
	return io.EOF
}

// atByte adds the position of the page to an error.
func atByte(at int64, err error) error {
	var content *Error
	switch {
	case errors.As(err, &content):
		return err
	case errors.Is(err, errFile):
		return err
	}
	return damaged("page at byte %d: %v", at, err)
}

// errFile marks read errors that do not come from the content.
var errFile = errors.New("read file")

// read reads one page of any type; done reports whether it had data.
func (p *Pages) read() (done bool, err error) {
	if p.at >= p.end {
		return false, fmt.Errorf("%d values are missing", p.left)
	}
	h, err := p.next()
	if err != nil {
		return false, err
	}
	first := !p.began
	p.began = true
	switch h.kind {
	case dictionaryPage:
		if !first {
			return false, errors.New("a dictionary that is not the first page")
		}
		return false, p.dictionary(h)
	case dataPage:
		err = p.data(h)
	case dataPageV2:
		err = p.dataV2(h)
	default: // indexes, and page types of later versions of the format
		return false, nil
	}
	p.left -= h.values
	return true, err
}

// next reads the header and the bytes of the next page.
func (p *Pages) next() (h header, err error) {
	rest := p.end - p.at
	n := 0
	for window := int64(1 << 12); ; window *= 16 {
		window = min(window, rest, maxHeaderBytes)
		p.stored = sized(p.stored, window)
		if err := p.fill(p.stored, p.at); err != nil {
			return h, err
		}
		if h, n, err = parseHeader(p.stored); err == nil {
			break
		}
		if !errors.Is(err, errShort) || window == rest || window == maxHeaderBytes {
			return h, fmt.Errorf("its header: %w", err)
		}
	}
	body := p.at + int64(n)
	switch {
	case h.stored < 0 || h.stored > p.end-body:
		return h, fmt.Errorf("%d bytes where %d are left", h.stored, p.end-body)
	case h.size < 0:
		return h, fmt.Errorf("%d bytes", h.size)
	case h.size > maxPageBytes || h.stored > maxPageBytes:
		return h, unread("write smaller pages", "cannot be read: a page of %d bytes, at most %d are read", max(h.size, h.stored), maxPageBytes)
	case h.kind != indexPage && h.kind <= dataPageV2 && !h.described:
		return h, errors.New("its header has no description of the data")
	case h.values < 0 || h.kind != dictionaryPage && h.values > p.left:
		return h, fmt.Errorf("%d values where %d are left", h.values, p.left)
	case h.values > maxPageValues:
		return h, unread("write smaller pages", "cannot be read: a page of %d values, at most %d are read", h.values, maxPageValues)
	}
	p.at = body + h.stored
	if n+int(h.stored) <= len(p.stored) {
		p.stored = p.stored[n : n+int(h.stored)]
	} else {
		p.stored = sized(p.stored, h.stored)
		if err := p.fill(p.stored, body); err != nil {
			return h, err
		}
	}
	if h.checked && crc32.ChecksumIEEE(p.stored) != h.crc {
		return h, errors.New("its checksum is wrong")
	}
	return h, nil
}

func (p *Pages) fill(b []byte, off int64) error {
	err := p.file.readAt(b, off)
	var content *Error
	if err != nil && !errors.As(err, &content) {
		return fmt.Errorf("%w: %w", errFile, err)
	}
	return err
}

func (p *Pages) dictionary(h header) error {
	if h.encoding != plain && h.encoding != plainDictionary {
		return unread(rewrite, "has a dictionary in encoding %s, which is not read", h.encoding)
	}
	b, err := p.decompressed(p.stored, h.size)
	if err != nil {
		return err
	}
	p.dict = &Values{kind: p.column.Kind, unsigned: p.column.Meaning == Unsigned}
	return p.dict.decodePlain(b, int(h.values))
}

// decompressed returns size bytes, in a buffer that is reused for the next page.
func (p *Pages) decompressed(b []byte, size int64) ([]byte, error) {
	if p.chunk.codec == Uncompressed {
		if int64(len(b)) != size {
			return nil, fmt.Errorf("has %d bytes, its header says %d", len(b), size)
		}
		return b, nil
	}
	var err error
	p.plain, err = p.chunk.codec.decompress(p.plain, b, int(size))
	return p.plain, err
}

func (p *Pages) data(h header) error {
	b, err := p.decompressed(p.stored, h.size)
	if err != nil {
		return err
	}
	n, page := int(h.values), p.into
	page.Len, page.Rep, page.Def = n, nil, nil
	if bits := p.column.repBits(); bits > 0 {
		if page.rep, b, err = levelsV1(page.rep, b, n, bits, h.repEncoding); err != nil {
			return err
		}
		page.Rep = page.rep
	}
	if bits := p.column.defBits(); bits > 0 {
		if page.def, b, err = levelsV1(page.def, b, n, bits, h.defEncoding); err != nil {
			return err
		}
		page.Def = page.def
	}
	return p.values(b, h.encoding)
}

func (p *Pages) dataV2(h header) error {
	n, b, page := int(h.values), p.stored, p.into
	levels := h.repBytes + h.defBytes
	if h.repBytes < 0 || h.defBytes < 0 || levels > int64(len(b)) || levels > h.size {
		return fmt.Errorf("levels of %d and %d bytes in %d", h.repBytes, h.defBytes, len(b))
	}
	rep, def, b := b[:h.repBytes], b[h.repBytes:levels], b[levels:]
	page.Len, page.Rep, page.Def = n, nil, nil
	var err error
	if bits := p.column.repBits(); bits > 0 {
		page.rep = sized(page.rep, int64(n))
		if err = unpackRuns(page.rep, rep, bits); err != nil {
			return fmt.Errorf("its repetition levels: %w", err)
		}
		page.Rep = page.rep
	}
	if bits := p.column.defBits(); bits > 0 {
		page.def = sized(page.def, int64(n))
		if err = unpackRuns(page.def, def, bits); err != nil {
			return fmt.Errorf("its definition levels: %w", err)
		}
		page.Def = page.def
	}
	if size := h.size - levels; h.uncompressed {
		if int64(len(b)) != size {
			return fmt.Errorf("has %d bytes, its header says %d", len(b), size)
		}
	} else if b, err = p.decompressed(b, size); err != nil {
		return err
	}
	return p.values(b, h.encoding)
}

// has reports whether the footer lists the encoding. Dictionary indexes have two names.
func (c *chunk) has(e encoding) bool {
	const indexed = 1<<plainDictionary | 1<<rleDictionary
	if e == plainDictionary || e == rleDictionary {
		return c.encodings&indexed != 0
	}
	return e >= 0 && e < 64 && c.encodings&(1<<e) != 0
}

// values decodes the part of a page after the levels.
func (p *Pages) values(b []byte, e encoding) error {
	if !p.chunk.has(e) {
		return fmt.Errorf("is in encoding %s, which the footer does not name", e)
	}
	page := p.into
	n := page.Len
	for _, level := range page.Rep {
		if int(level) > p.column.MaxRep {
			return fmt.Errorf("repetition level %d of at most %d", level, p.column.MaxRep)
		}
	}
	for _, level := range page.Def {
		if int(level) > p.column.MaxDef {
			return fmt.Errorf("definition level %d of at most %d", level, p.column.MaxDef)
		}
		if int(level) < p.column.MaxDef {
			n--
		}
	}
	page.Values = Values{
		kind: p.column.Kind, unsigned: p.column.Meaning == Unsigned,
		Floats: page.Floats[:0], Doubles: page.Doubles[:0], Ints: page.Ints[:0],
		ends: page.ends[:0],
	}
	if e != plainDictionary && e != rleDictionary {
		return page.decode(b, n, e)
	}
	if p.dict == nil {
		return errors.New("indexes without a dictionary")
	}
	var err error
	if page.index, err = indexes(page.index, b, n, p.dict.Count()); err != nil {
		return err
	}
	page.look(p.dict, page.index)
	return nil
}
