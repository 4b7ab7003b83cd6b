package oip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"pipe/internal/strictjson"
	"pipe/internal/textfile"
	"pipe/onnx"
)

// Most of a JSON request is one list of numbers. A JSON decoder would scan that list twice: for its syntax, and for its
// numbers. So such lists are cut out first and the rest is read as JSON; reading the numbers checks the syntax of the lists.

// cutList is a list that was cut out of a text.
type cutList struct {
	text []byte // from [ to ]
	at   int    // of the placeholder in the remaining text
}

// placeholder replaces a list that was cut out.
const placeholder = '0'

// cutLists cuts out the values of "data" that look like lists without nested lists. lists is nil if there are none. It does
// not check that they are lists of numbers. A text of another form may be cut wrongly; then the remaining text, or a list, is
// not valid JSON.
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

// findList returns the start and the end of the first list that is a value of "data". end is 0 if there is none.
func findList(text []byte) (start, end int) {
	name := []byte(`"data"`)
	at := bytes.Index(text, name)
	if at < 0 || at > 0 && text[at-1] == '\\' { // a part of a string
		return 0, 0
	}
	start = strictjson.SkipSpace(text, at+len(name))
	if start == len(text) || text[start] != ':' {
		return 0, 0
	}
	start = strictjson.SkipSpace(text, start+1)
	if start == len(text) || text[start] != '[' {
		return 0, 0
	}
	length := bytes.IndexByte(text[start:], ']')
	if length < 0 {
		return 0, 0
	}
	return start, start + length + 1
}

// errNotCut means that the lists were cut out wrongly, so the request must be read as a whole.
var errNotCut = errors.New("the lists are no plain values of data")

// takeList returns the list whose placeholder ends at end.
func (p *restReader) takeList(end int) (elements, error) {
	if len(p.lists) == 0 || p.lists[0].at != end-1 {
		return nil, errNotCut
	}
	list := p.lists[0].text
	p.lists = p.lists[1:]
	return cutElements(list), nil
}

// cutElements is a list that was cut out of a request, from [ to the first ]. It may be invalid JSON.
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

// float32s reads as many numbers as dst has room for. It returns false if the list has other elements, another number of
// elements, or a number that QuickFloat32 does not read.
func (l cutElements) float32s(dst []byte) bool {
	at := strictjson.SkipSpace(l, 1)
	for ; len(dst) >= 4; dst = dst[4:] {
		v, n := textfile.QuickFloat32(l[at:])
		if n == 0 {
			return false
		}
		binary.LittleEndian.PutUint32(dst, math.Float32bits(v))
		at = strictjson.SkipSpace(l, at+n)
		if l[at] == ']' {
			return len(dst) == 4
		}
		if l[at] != ',' {
			return false
		}
		at = strictjson.SkipSpace(l, at+1)
	}
	return false
}
