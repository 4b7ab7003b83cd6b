package decisionlog

import (
	"bytes"
)

// repeats remembers the texts of fields in the lines that were read before, by the index of the field. Most lines state the same
// in those that are tagged same, such as the prices, and then the text is compared and not parsed, and the record keeps what it
// has of the line before. The lists of records that are read with it are shared and must not be changed.
type repeats [][]byte

// again skips a field if it has the text that it had before. A longer value may begin with the same text.
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
