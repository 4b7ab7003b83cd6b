package oip

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"pipe/onnx"
)

// tensor is a tensor of a request before its elements are read. Its name, datatype and shape are checked first, so that no
// elements are read for a tensor that the policy does not accept.
type tensor struct {
	name     string
	datatype string
	shape    []int64
	elements elements
}

// elements are the elements of a tensor in the encoding of a protocol.
type elements interface {
	// read fills t.Raw or t.Text with the n elements of the shape of t. The memory is from m, or shared with the request.
	read(t *onnx.Tensor, n int, m *memory) error
}

// memory is reusable memory for the elements of the tensors of one request.
type memory struct {
	words []uint64
	used  int
}

// bytes returns n bytes that are aligned for every element type. Their content is undefined.
func (m *memory) bytes(n int) []byte {
	size := (n + 7) / 8
	if size == 0 {
		return nil
	}
	if m.used+size > len(m.words) { // earlier tensors keep the old words
		m.words, m.used = make([]uint64, max(2*len(m.words), size, 512)), 0
	}
	out := unsafe.Slice((*byte)(unsafe.Pointer(&m.words[m.used])), n)
	m.used += size
	return out
}

// maxPooled is the most memory that is kept for later requests.
const maxPooled = 4 << 20

func (m *memory) reset() {
	m.used = 0
	if len(m.words) > maxPooled/8 {
		m.words = nil
	}
}

// rawElements are binary elements: row-major, little endian, without gaps.
type rawElements []byte

func (e rawElements) read(t *onnx.Tensor, n int, m *memory) error {
	if t.DType == onnx.String {
		return e.readText(t, n)
	}
	size := t.DType.Size()
	if len(e)/size != n || len(e)%size != 0 {
		return fmt.Errorf("%d bytes of data, but %d elements of %d bytes are %d", len(e), n, size, n*size)
	}
	if t.DType == onnx.Bool {
		for i, b := range e {
			if b > 1 {
				return fmt.Errorf("element %d is the byte %d: a BOOL is 0 or 1", i, b)
			}
		}
	}
	t.Raw = e
	if n > 0 && uintptr(unsafe.Pointer(&e[0]))%uintptr(size) != 0 {
		t.Raw = m.bytes(len(e))
		copy(t.Raw, e)
	}
	return nil
}

// readText reads strings. Each is preceded by its length in four bytes.
func (e rawElements) readText(t *onnx.Tensor, n int) error {
	if n > len(e)/4 {
		return fmt.Errorf("%d bytes of data cannot hold %d elements: each has its length in 4 bytes in front", len(e), n)
	}
	t.Text = make([]string, n)
	for i := range t.Text {
		if len(e) < 4 {
			return fmt.Errorf("the data ends before element %d of %d", i, n)
		}
		size := binary.LittleEndian.Uint32(e)
		if e = e[4:]; uint64(size) > uint64(len(e)) {
			return fmt.Errorf("element %d has %d bytes by its length, but only %d are left", i, size, len(e))
		}
		text, err := checkText(string(e[:size]), i)
		if err != nil {
			return err
		}
		t.Text[i], e = text, e[size:]
	}
	if len(e) > 0 {
		return fmt.Errorf("%d bytes are left after the last of %d elements", len(e), n)
	}
	return nil
}
