package decisionlog

import (
	"bytes"
)

// repeats remembers the text of each field in the line before, by the index of the field. Fields with the tag same, such as the
// prices, rarely change. If such a text is the same again, it is not parsed, and the record keeps the value of the line before.
// Records that are read this way share their lists, which must not be changed.
type repeats [][]byte

// again skips a field that has the same text as in the line before. A comma must follow, because a longer value may begin with
// that text.
func (s *scan) again(index int) bool {
	text := s.last[index]
	end := len(text)
	if end == 0 || len(s.rest) <= end || s.rest[end] != ',' || !bytes.Equal(s.rest[:end], text) {
		return false
	}
	s.rest = s.rest[end:]
	return true
}

func (last repeats) keep(index int, text []byte) {
	last[index] = append(last[index][:0], text...)
}

// forget is called after an error: the record does not have all fields of the line.
func (last repeats) forget() {
	for i := range last {
		last[i] = last[i][:0]
	}
}
