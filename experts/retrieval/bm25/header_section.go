package bm25

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// chunkLen is how many bytes of a section share a checksum.
const chunkLen = 1 << 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sectionWriter writes one section of a file, with a checksum per chunk.
type sectionWriter struct {
	file   io.WriterAt
	offset int64 // of the section in the file
	size   int64 // bytes that are in the file
	chunk  []byte
	sums   []byte // 4 bytes per chunk
}

func newSectionWriter(file io.WriterAt, offset int64) *sectionWriter {
	return &sectionWriter{file: file, offset: offset, chunk: make([]byte, 0, chunkLen)}
}

// Write appends to the section.
func (w *sectionWriter) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		take := min(len(b), chunkLen-len(w.chunk))
		w.chunk = append(w.chunk, b[:take]...)
		b = b[take:]
		if len(w.chunk) == chunkLen {
			if err := w.flush(); err != nil {
				return n - len(b), err
			}
		}
	}
	return n, nil
}

// flush writes the current chunk; only the last one of a section may be
// shorter than chunkLen.
func (w *sectionWriter) flush() error {
	if len(w.chunk) == 0 {
		return nil
	}
	if _, err := w.file.WriteAt(w.chunk, w.offset+w.size); err != nil {
		return err
	}
	w.sums = binary.LittleEndian.AppendUint32(w.sums, crc32.Checksum(w.chunk, castagnoli))
	w.size += int64(len(w.chunk))
	w.chunk = w.chunk[:0]
	return nil
}

// len is the length of what was written.
func (w *sectionWriter) len() int64 { return w.size + int64(len(w.chunk)) }

// section is a part of an index file.
type section struct {
	Name   string `json:"name"`
	Offset int64  `json:"offset"`
	Size   int64  `json:"size"`
}

// The sections of a file, in their order there.
const (
	pagesSection      = iota // of every page, by number: its id and its text
	startsSection            // 8 bytes per page and 8 more: where it starts in pages
	textsSection             // 4 bytes per page: length of its id, after which the text starts
	lengthsSection           // 4 bytes per page: how many words it has
	postingsSection          // of every word: its pages
	wordsSection             // the words, sorted bytewise
	dictionarySection        // dictionaryEntry bytes per word and as many more
	checksumsSection         // 4 bytes per chunk of the sections before
	sectionCount
)

var sectionNames = [sectionCount]string{"pages", "starts", "texts", "lengths", "postings", "words", "dictionary", "checksums"}

// sectionAlign is the alignment of the offset of a section.
const sectionAlign = 4096

func align(offset int64) int64 { return (offset + sectionAlign - 1) &^ (sectionAlign - 1) }

// chunks is the number of checksums of a section.
func (s section) chunks() int { return int((s.Size + chunkLen - 1) / chunkLen) }

// checkSections checks the table of sections against the size of the file.
func checkSections(list []section, size int64) error {
	if len(list) != sectionCount {
		return fmt.Errorf("it has %d sections, not %d", len(list), sectionCount)
	}
	end := int64(headerLen)
	for i, s := range list {
		if s.Name != sectionNames[i] || s.Offset != align(end) || s.Size < 0 {
			return fmt.Errorf("section %d is %+v, which is invalid", i, s)
		}
		if s.Size > size {
			return fmt.Errorf("it has %d bytes, but section %s alone has %d: the file is incomplete", size, s.Name, s.Size)
		}
		end = s.Offset + s.Size
	}
	if size != end {
		return fmt.Errorf("it has %d bytes, not %d: the file is incomplete or has extra data", size, end)
	}
	return nil
}
