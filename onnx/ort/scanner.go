package ort

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

var errMalformed = errors.New("not an ONNX model: malformed protobuf")

// scanner walks the fields of a protobuf stream and skips fields that are not needed, so that gigabytes of weights cost
// nothing.
type scanner struct {
	r    *bufio.Reader
	seek io.Seeker // nil if the source cannot seek
	pos  int64
}

// ReadByte counts the bytes that binary.ReadUvarint reads.
func (s *scanner) ReadByte() (byte, error) {
	b, err := s.r.ReadByte()
	if err == nil {
		s.pos++
	}
	return b, err
}

// fields walks a message of size bytes. f is called for length-delimited
// fields only, with their length, and must consume exactly that much.
func (s *scanner) fields(size int64, f func(num protowire.Number, n int64) error) error {
	end := s.pos + size
	for s.pos < end {
		tag, err := binary.ReadUvarint(s)
		if err != nil {
			return errMalformed
		}
		num, typ := protowire.DecodeTag(tag)
		if num < protowire.MinValidNumber {
			return errMalformed
		}
		if err := s.field(num, typ, end, f); err != nil {
			return err
		}
	}
	if s.pos != end {
		return errMalformed
	}
	return nil
}

func (s *scanner) field(num protowire.Number, typ protowire.Type, end int64, f func(num protowire.Number, n int64) error) error {
	switch typ {
	case protowire.VarintType:
		if _, err := binary.ReadUvarint(s); err != nil {
			return errMalformed
		}
		return nil
	case protowire.Fixed32Type:
		return s.skip(4)
	case protowire.Fixed64Type:
		return s.skip(8)
	case protowire.BytesType:
		n, err := binary.ReadUvarint(s)
		if err != nil || n > uint64(max(end-s.pos, 0)) {
			return errMalformed
		}
		return f(num, int64(n))
	}
	return errMalformed
}

// bytes reads n bytes; n is bounded by the size of the source.
func (s *scanner) bytes(n int64) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(s.r, b); err != nil {
		return nil, errMalformed
	}
	s.pos += n
	return b, nil
}

func (s *scanner) skip(n int64) error {
	s.pos += n
	buffered := int64(s.r.Buffered())
	if s.seek == nil || n <= buffered {
		if _, err := io.CopyN(io.Discard, s.r, n); err != nil {
			return errMalformed
		}
		return nil
	}
	if _, err := s.seek.Seek(n-buffered, io.SeekCurrent); err != nil {
		return err
	}
	s.r.Reset(s.seek.(io.Reader))
	return nil
}
