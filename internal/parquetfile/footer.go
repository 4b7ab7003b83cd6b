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
	annotation
}

// annotation is what a file says about the logical type of a node.
type annotation struct {
	meaning Meaning
	unit    TimeUnit
	utc     bool
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
			if a := converted(r.integer(kind)); e.meaning == Nothing {
				e.annotation = a
			}
		case 10:
			if a := r.logical(kind); a.meaning != Nothing {
				e.annotation = a
			}
		default:
			r.skip(kind)
		}
	})
	return e
}

// converted reads the older annotation of types, in which every timestamp is in UTC.
func converted(number int64) annotation {
	switch number {
	case 0, 4, 19: // UTF8, ENUM, JSON
		return annotation{meaning: Text}
	case 5:
		return annotation{meaning: Decimal}
	case 6:
		return annotation{meaning: Date}
	case 7, 8:
		return annotation{meaning: Time}
	case 9:
		return annotation{meaning: Timestamp, unit: Millisecond, utc: true}
	case 10:
		return annotation{meaning: Timestamp, unit: Microsecond, utc: true}
	case 11, 12, 13, 14: // UINT
		return annotation{meaning: Unsigned}
	}
	return annotation{}
}

// logical reads the newer annotation, a union.
func (r *thriftReader) logical(kind byte) (a annotation) {
	r.structure(kind, func(id int64, kind byte) {
		switch id {
		case 1, 4, 12: // STRING, ENUM, JSON
			a.meaning = Text
		case 5:
			a.meaning = Decimal
		case 6:
			a.meaning = Date
		case 7:
			a.meaning = Time
		case 8:
			a = r.timestamp(kind)
			return
		case 10: // INTEGER
			r.structure(kind, func(id int64, kind byte) {
				if id == 2 && !r.boolean(kind) {
					a.meaning = Unsigned
				} else if id != 2 {
					r.skip(kind)
				}
			})
			return
		}
		r.skip(kind)
	})
	return a
}

// timestamp reads how a column counts points in time. The unit is a union of empty structures.
func (r *thriftReader) timestamp(kind byte) annotation {
	a := annotation{meaning: Timestamp}
	r.structure(kind, func(id int64, kind byte) {
		switch id {
		case 1:
			a.utc = r.boolean(kind)
		case 2:
			r.structure(kind, func(id int64, kind byte) {
				if id >= 1 && id <= 3 {
					a.unit = [...]TimeUnit{Millisecond, Microsecond, Nanosecond}[id-1]
				}
				r.skip(kind)
			})
		default:
			r.skip(kind)
		}
	})
	return a
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
