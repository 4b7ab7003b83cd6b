package parquetfile

import "errors"

// footer is the metadata at the end of a Parquet file.
type footer struct {
	schema []element
	rows   int64
	groups []group
	meta   []KeyValue
}

// KeyValue is an entry of the metadata of a file.
type KeyValue struct{ Key, Value string }

// element is a node of the schema, which lists its nodes depth first.
type element struct {
	name       string
	kind       Kind
	leaf       bool // it has a physical type
	length     int64
	repetition int64
	children   int64
	meaning    Meaning
}

// group is a row group.
type group struct {
	rows   int64
	chunks []chunk
}

// chunk is the part of a column that is in one row group.
type chunk struct {
	elsewhere  bool // in another file
	encrypted  bool
	described  bool // it has metadata
	kind       Kind
	codec      Codec
	encodings  uint64 // of its pages, one bit for each encoding number
	values     int64  // nulls included
	size       int64  // bytes of its pages with their headers
	data       int64  // where in the file its first data page begins
	dictionary int64  // and its dictionary page; 0 if not stated
}

// footerReader reads a footer with a limit on its records: schema nodes, row groups, their columns and metadata
// entries.
type footerReader struct {
	thriftReader
	records int // that are still allowed
}

// maxRecords limits the number of records of a footer. A column takes at least 8 bytes in the schema and 24 in a row
// group, which are two records. A constant is added for short footers, where the length says little.
func maxRecords(footerBytes int) int { return footerBytes/16 + 1<<14 }

// records reads a list of records. It allocates their memory once, after checking the length.
func records[T any](r *footerReader, kind byte, read func(kind byte) T) (all []T) {
	r.list(kind, func(n int) {
		if r.records -= n; r.records < 0 {
			r.fail(errors.New("it claims more columns, row groups or metadata than its bytes can hold"))
			return
		}
		all = make([]T, 0, n)
	}, func(kind byte) { all = append(all, read(kind)) })
	return all
}

// parseFooter reads the FileMetaData structure.
func parseFooter(b []byte) (*footer, error) {
	f := &footer{}
	r := &footerReader{thriftReader{b: b}, maxRecords(len(b))}
	r.structure(thriftStruct, func(id int64, kind byte) {
		switch id {
		case 2:
			f.schema = records(r, kind, r.element)
		case 3:
			f.rows = r.integer(kind)
		case 4:
			f.groups = records(r, kind, r.group)
		case 5:
			f.meta = records(r, kind, r.keyValue)
		default:
			r.skip(kind)
		}
	})
	if r.err != nil {
		return nil, damaged("its footer: %v", r.err)
	}
	return f, nil
}

func (r *thriftReader) keyValue(kind byte) (kv KeyValue) {
	r.structure(kind, func(id int64, kind byte) {
		switch id {
		case 1:
			kv.Key = r.text(kind)
		case 2:
			kv.Value = r.text(kind)
		default:
			r.skip(kind)
		}
	})
	return kv
}

func (r *thriftReader) element(kind byte) (e element) {
	r.structure(kind, func(id int64, kind byte) {
		switch id {
		case 1:
			e.kind, e.leaf = Kind(r.integer(kind)), true
		case 2:
			e.length = r.integer(kind)
		case 3:
			e.repetition = r.integer(kind)
		case 4:
			e.name = r.text(kind)
		case 5:
			e.children = r.integer(kind)
		case 6:
			if m := convertedMeaning(r.integer(kind)); e.meaning == Nothing {
				e.meaning = m
			}
		case 10:
			if m := r.logicalMeaning(kind); m != Nothing {
				e.meaning = m
			}
		default:
			r.skip(kind)
		}
	})
	return e
}

// convertedMeaning reads the older annotation of types.
func convertedMeaning(converted int64) Meaning {
	switch converted {
	case 0, 4, 19: // UTF8, ENUM, JSON
		return Text
	case 5:
		return Decimal
	case 6:
		return Date
	case 7, 8, 9, 10: // TIME and TIMESTAMP
		return Time
	case 11, 12, 13, 14: // UINT
		return Unsigned
	}
	return Nothing
}

// logicalMeaning reads the newer annotation, a union.
func (r *thriftReader) logicalMeaning(kind byte) (m Meaning) {
	r.structure(kind, func(id int64, kind byte) {
		switch id {
		case 1, 4, 12: // STRING, ENUM, JSON
			m = Text
		case 5:
			m = Decimal
		case 6:
			m = Date
		case 7, 8: // TIME, TIMESTAMP
			m = Time
		case 10: // INTEGER
			r.structure(kind, func(id int64, kind byte) {
				if id == 2 && !r.boolean(kind) {
					m = Unsigned
				} else if id != 2 {
					r.skip(kind)
				}
			})
			return
		}
		r.skip(kind)
	})
	return m
}

func (r *footerReader) group(kind byte) (g group) {
	r.structure(kind, func(id int64, kind byte) {
		switch id {
		case 1:
			g.chunks = records(r, kind, r.chunk)
		case 3:
			g.rows = r.integer(kind)
		default:
			r.skip(kind)
		}
	})
	return g
}

func (r *thriftReader) chunk(kind byte) (c chunk) {
	r.structure(kind, func(id int64, kind byte) {
		switch id {
		case 1:
			c.elsewhere = r.text(kind) != ""
		case 3:
			c.described = true
			r.structure(kind, func(id int64, kind byte) { r.chunkField(&c, id, kind) })
		case 8:
			c.encrypted = true
			r.skip(kind)
		default:
			r.skip(kind)
		}
	})
	return c
}

func (r *thriftReader) chunkField(c *chunk, id int64, kind byte) {
	switch id {
	case 1:
		c.kind = Kind(r.integer(kind))
	case 2:
		r.list(kind, nil, func(kind byte) {
			if e := r.integer(kind); e >= 0 && e < 64 {
				c.encodings |= 1 << e
			}
		})
	case 4:
		c.codec = Codec(r.integer(kind))
	case 5:
		c.values = r.integer(kind)
	case 7:
		c.size = r.integer(kind)
	case 9:
		c.data = r.integer(kind)
	case 11:
		c.dictionary = r.integer(kind)
	default:
		r.skip(kind)
	}
}
