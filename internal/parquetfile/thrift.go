package parquetfile

import (
	"encoding/binary"
	"errors"
)

// thriftReader decodes Thrift's compact protocol, which Parquet uses for its footer and its page headers. The first
// error is kept, and everything read after it is zero. No number in the input can cause a large allocation: a list may
// claim at most one element per byte that is left.
type thriftReader struct {
	b     []byte // bytes that have not been read yet
	depth int
	err   error
}

// errShort means that the input ends within a value.
var errShort = errors.New("it ends early")

const maxThriftDepth = 32

// The types of the compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftInt16  = 4
	thriftInt32  = 5
	thriftInt64  = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
	thriftUUID   = 13
)

func (r *thriftReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *thriftReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail(errShort)
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *thriftReader) byte() byte {
	if b := r.take(1); r.err == nil {
		return b[0]
	}
	return 0
}

func (r *thriftReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	switch {
	case r.err != nil:
		return 0
	case n == 0:
		r.fail(errShort)
		return 0
	case n < 0:
		r.fail(errors.New("a number has more than 64 bits"))
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *thriftReader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// is fails unless the next value has the given type.
func (r *thriftReader) is(kind, want byte) bool {
	if kind != want {
		r.fail(errors.New("a field has another type than the format says"))
	}
	return r.err == nil
}

// structure reads a structure. It calls field for each field, which reads or skips the value.
func (r *thriftReader) structure(kind byte, field func(id int64, kind byte)) {
	if !r.is(kind, thriftStruct) {
		return
	}
	if r.depth++; r.depth > maxThriftDepth {
		r.fail(errors.New("structures are nested too deep"))
	}
	id := int64(0)
	for r.err == nil {
		head := r.byte()
		if head == 0 {
			break
		}
		if delta := int64(head >> 4); delta != 0 {
			id += delta
		} else {
			id = r.varint()
		}
		if r.err == nil {
			field(id, head&15)
		}
	}
	r.depth--
}

// list reads a list. It calls start, which may be nil, with the number of elements, and element for each of them.
func (r *thriftReader) list(kind byte, start func(n int), element func(kind byte)) {
	if !r.is(kind, thriftList) {
		return
	}
	head := r.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = r.uvarint()
	}
	if n > uint64(len(r.b)) {
		r.fail(errShort)
	}
	if r.err == nil && start != nil {
		start(int(n))
	}
	for ; n > 0 && r.err == nil; n-- {
		element(head & 15)
	}
}

func (r *thriftReader) integer(kind byte) int64 {
	switch kind {
	case thriftByte:
		return int64(int8(r.byte()))
	case thriftInt16, thriftInt32, thriftInt64:
		return r.varint()
	}
	r.is(kind, thriftInt64)
	return 0
}

func (r *thriftReader) boolean(kind byte) bool {
	return kind == thriftTrue || kind != thriftFalse && r.is(kind, thriftTrue)
}

func (r *thriftReader) text(kind byte) string {
	if !r.is(kind, thriftBinary) {
		return ""
	}
	return string(r.take(r.uvarint()))
}

// skip skips a value of any type.
func (r *thriftReader) skip(kind byte) {
	switch kind {
	case thriftTrue, thriftFalse:
	case thriftByte:
		r.take(1)
	case thriftInt16, thriftInt32, thriftInt64:
		r.uvarint()
	case thriftDouble:
		r.take(8)
	case thriftUUID:
		r.take(16)
	case thriftBinary:
		r.take(r.uvarint())
	case thriftStruct:
		r.structure(kind, func(_ int64, kind byte) { r.skip(kind) })
	case thriftList, thriftSet:
		r.nested(func() { r.list(thriftList, nil, r.skipElement) })
	case thriftMap:
		r.nested(r.skipMap)
	default:
		r.fail(errors.New("a field is of an unknown type"))
	}
}

func (r *thriftReader) nested(read func()) {
	if r.depth++; r.depth > maxThriftDepth {
		r.fail(errors.New("values are nested too deep"))
		return
	}
	read()
	r.depth--
}

func (r *thriftReader) skipMap() {
	n := r.uvarint()
	if n == 0 {
		return
	}
	kinds := r.byte()
	for ; n > 0 && r.err == nil; n-- {
		r.skipElement(kinds >> 4)
		r.skipElement(kinds & 15)
	}
}

// skipElement skips an element of a list, where a boolean takes a byte.
func (r *thriftReader) skipElement(kind byte) {
	if kind == thriftTrue || kind == thriftFalse {
		kind = thriftByte
	}
	r.skip(kind)
}
