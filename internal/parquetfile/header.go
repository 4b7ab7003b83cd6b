package parquetfile

// The types of pages.
const (
	dataPage       = 0
	indexPage      = 1
	dictionaryPage = 2
	dataPageV2     = 3
)

// header is the header of a page.
type header struct {
	kind         int64
	size         int64 // bytes once decompressed
	stored       int64 // bytes in the file
	crc          uint32
	checked      bool // it has a checksum
	described    bool // it has the part for its type
	values       int64
	encoding     encoding
	repEncoding  encoding
	defEncoding  encoding
	repBytes     int64 // version 2 only, like the next two
	defBytes     int64
	uncompressed bool
}

// maxHeaderBytes leaves room for statistics of long strings.
const maxHeaderBytes = 1 << 24

// parseHeader reads the PageHeader structure and returns its length in bytes.
func parseHeader(b []byte) (h header, n int, err error) {
	r := &thriftReader{b: b}
	r.structure(thriftStruct, func(id int64, kind byte) {
		switch id {
		case 1:
			h.kind = r.integer(kind)
		case 2:
			h.size = r.integer(kind)
		case 3:
			h.stored = r.integer(kind)
		case 4:
			h.crc, h.checked = uint32(r.integer(kind)), true
		case 5:
			r.structure(kind, func(id int64, kind byte) { r.dataField(&h, id, kind) })
			h.described = h.described || h.kind == dataPage
		case 7:
			r.structure(kind, func(id int64, kind byte) { r.dictionaryField(&h, id, kind) })
			h.described = h.described || h.kind == dictionaryPage
		case 8:
			r.structure(kind, func(id int64, kind byte) { r.dataFieldV2(&h, id, kind) })
			h.described = h.described || h.kind == dataPageV2
		default:
			r.skip(kind)
		}
	})
	return h, len(b) - len(r.b), r.err
}

func (r *thriftReader) dataField(h *header, id int64, kind byte) {
	switch id {
	case 1:
		h.values = r.integer(kind)
	case 2:
		h.encoding = encoding(r.integer(kind))
	case 3:
		h.defEncoding = encoding(r.integer(kind))
	case 4:
		h.repEncoding = encoding(r.integer(kind))
	default:
		r.skip(kind)
	}
}

func (r *thriftReader) dictionaryField(h *header, id int64, kind byte) {
	switch id {
	case 1:
		h.values = r.integer(kind)
	case 2:
		h.encoding = encoding(r.integer(kind))
	default:
		r.skip(kind)
	}
}

func (r *thriftReader) dataFieldV2(h *header, id int64, kind byte) {
	switch id {
	case 1:
		h.values = r.integer(kind)
	case 4:
		h.encoding = encoding(r.integer(kind))
	case 5:
		h.defBytes = r.integer(kind)
	case 6:
		h.repBytes = r.integer(kind)
	case 7:
		h.uncompressed = !r.boolean(kind)
	default:
		r.skip(kind)
	}
}
