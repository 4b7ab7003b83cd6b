package oip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"pipe/internal/textfile"
	"pipe/onnx"
)

// Most of a request in JSON is one list of numbers. Read as JSON it is scanned twice: for its syntax, and for its numbers. So
// such lists are cut out first, the rest is read as JSON, and the scan for the numbers checks the syntax of the lists.

// cutList is a list that was cut out of a text.
type cutList struct {
	text []byte // from [ to ]
	at   int    // of the placeholder in what is left
}

// placeholder stands where a list was.
const placeholder = '0'

// cutLists cuts out the values of "data" that look like lists without lists in them. lists is nil if there are none. Whether
// they are lists of numbers is not checked: a text of another form may be cut wrongly, and then what is left, or a list, is
// no JSON.
func cutLists(text []byte) (left []byte, lists []cutList) {
	for {
		start, end := findList(text)
		if end == 0 {
			break
		}
		if left == nil {
			left = make([]byte, 0, 512)
		}
		left = append(left, text[:start]...)
		lists = append(lists, cutList{text[start:end], len(left)})
		left, text = append(left, placeholder), text[end:]
	}
	return append(left, text...), lists
}

// findList is where the first list that is a value of "data" starts and ends; end is 0 if there is none.
func findList(text []byte) (start, end int) {
	name := []byte(`"data"`)
	at := bytes.Index(text, name)
	if at < 0 || at > 0 && text[at-1] == '\\' { // a part of a text
		return 0, 0
	}
	start = afterSpace(text, at+len(name))
	if start == len(text) || text[start] != ':' {
		return 0, 0
	}
	start = afterSpace(text, start+1)
	if start == len(text) || text[start] != '[' {
		return 0, 0
	}
	length := bytes.IndexByte(text[start:], ']')
	if length < 0 {
		return 0, 0
	}
	return start, start + length + 1
}

// afterSpace is the position of the first byte from at on that is no white space of JSON.
func afterSpace(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t') {
		at++
	}
	return at
}

// errNotCut means that a request is read in one piece: its lists are not what was cut out.
var errNotCut = errors.New("the lists are no plain values of data")

// takeList is the list whose placeholder ends at end in what was read.
func (p *restReader) takeList(end int) (elements, error) {
	if len(p.lists) == 0 || p.lists[0].at != end-1 {
		return nil, errNotCut
	}
	list := p.lists[0].text
	p.lists = p.lists[1:]
	return cutElements(list), nil
}

// cutElements is a list that was cut out of a request, from [ to the first ]. It may be no JSON.
type cutElements []byte

func (l cutElements) read(t *onnx.Tensor, n int, m *memory) error {
	if t.DType == onnx.Float32 && n <= len(l)/2 { // each takes a digit and a comma or bracket
		if t.Raw = m.bytes(4 * n); l.float32s(t.Raw) {
			return nil
		}
	}
	if !jsontext.Value(l).IsValid() {
		return errors.New("data is no JSON")
	}
	return jsonElements(l).read(t, n, m)
}

// float32s reads numbers, as many as dst has room for. It is false where the list has other elements, or a number that
// QuickFloat32 does not read.
func (l cutElements) float32s(dst []byte) bool {
	at := afterSpace(l, 1)
	for ; len(dst) >= 4; dst = dst[4:] {
		v, n := textfile.QuickFloat32(l[at:])
		if n == 0 {
			return false
		}
		binary.LittleEndian.PutUint32(dst, math.Float32bits(v))
		at = afterSpace(l, at+n)
		if l[at] == ']' {
			return len(dst) == 4
		}
		if l[at] != ',' {
			return false
		}
		at = afterSpace(l, at+1)
	}
	return false
}
