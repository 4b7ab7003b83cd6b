package bm25

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"pipe/internal/digest"
)

const (
	magic     = "PIPEBM25"
	format    = 1
	headerLen = 4096
	jsonAt    = 20 // after magic, format, length and checksum
	// dictionaryEntry is the size of an entry: start of the word's postings (8
	// bytes), pages (4), bound on tf/(tf+norm) (4), start of the word (8).
	dictionaryEntry = 24
)

// Magic is the start of every index file.
const Magic = magic

// Header describes an index.
type Header struct {
	Settings  Settings  `json:"settings"`
	Analyzer  int       `json:"analyzer"`  // version of the rules by which texts are cut into words
	Pages     int       `json:"pages"`     // number of indexed pages
	Skipped   int       `json:"skipped"`   // number of pages without text
	Words     int64     `json:"words"`     // of all pages together
	Distinct  int       `json:"distinct"`  // different words
	Postings  int64     `json:"postings"`  // pairs of a word and a page with it
	Source    string    `json:"source"`    // digest of the names and bytes of the files of pages
	Checksums string    `json:"checksums"` // digest of the section of checksums
	Sections  []section `json:"sections"`
}

// analyzerVersion changes whenever the analyzer finds other words in a text.
const analyzerVersion = 1

// encode returns the first headerLen bytes of the file.
func (h *Header) encode() ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(text) > headerLen-jsonAt {
		return nil, fmt.Errorf("the header has %d bytes", len(text))
	}
	b := make([]byte, headerLen)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[8:], format)
	binary.LittleEndian.PutUint32(b[12:], uint32(len(text)))
	copy(b[jsonAt:], text)
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(b[jsonAt:], castagnoli))
	return b, nil
}

// readHeader reads and checks the header of a file of the given size.
func readHeader(in io.ReaderAt, size int64) (*Header, string, error) {
	b := make([]byte, headerLen)
	if _, err := in.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	if !bytes.HasPrefix(b, []byte(magic)) {
		return nil, "", errors.New("is not an index of pages")
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != format {
		return nil, "", fmt.Errorf("has format %d, this program reads format %d", v, format)
	}
	n := binary.LittleEndian.Uint32(b[12:])
	if n > headerLen-jsonAt || crc32.Checksum(b[jsonAt:], castagnoli) != binary.LittleEndian.Uint32(b[16:]) {
		return nil, "", errors.New("the header is damaged")
	}
	h := &Header{}
	if err := json.Unmarshal(b[jsonAt:jsonAt+n], h); err != nil {
		return nil, "", fmt.Errorf("the header is damaged: %w", err)
	}
	return h, digest.Of(b[:jsonAt+n]), h.check(size)
}

// check checks the consistency of the header with itself and with the size of the file.
func (h *Header) check(size int64) error {
	if err := h.Settings.Validate(); err != nil {
		return err
	}
	if h.Analyzer != analyzerVersion {
		return fmt.Errorf("it was made with version %d of the analyzer, this program has version %d", h.Analyzer, analyzerVersion)
	}
	if err := checkSections(h.Sections, size); err != nil {
		return err
	}
	chunks := 0
	for _, s := range h.Sections[:checksumsSection] {
		chunks += s.chunks()
	}
	pages, words := int64(h.Pages), int64(h.Distinct)
	fits := h.Pages > 0 && h.Pages <= maxPages && words >= 0 && h.Words >= 0 &&
		h.Sections[startsSection].Size == 8*(pages+1) &&
		h.Sections[textsSection].Size == 4*pages &&
		h.Sections[lengthsSection].Size == 4*pages &&
		h.Sections[postingsSection].Size >= slack &&
		h.Sections[dictionarySection].Size/dictionaryEntry == words+1 &&
		h.Sections[dictionarySection].Size%dictionaryEntry == 0 &&
		h.Sections[checksumsSection].Size == 4*int64(chunks)
	if !fits {
		return errors.New("the sizes in the header are inconsistent")
	}
	return nil
}

// maxPages is the largest number of pages of an index. Page numbers have 32
// bits; the largest number means none.
const maxPages = math.MaxUint32 - 1

// norms is the part of the score that depends on the length of a page.
type norms struct {
	fixed, factor float64
	short         []float64 // of lengths up to len(short)
}

// shortPage is the length up to which norms are precomputed.
const shortPage = 4096

func (h *Header) norms() *norms {
	average := float64(h.Words) / float64(h.Pages)
	if average == 0 {
		average = 1 // no page has a word
	}
	n := &norms{fixed: h.Settings.K1 * (1 - h.Settings.B), factor: h.Settings.K1 * h.Settings.B / average}
	n.short = make([]float64, shortPage)
	for length := range n.short {
		n.short[length] = n.compute(uint32(length))
	}
	return n
}

func (n *norms) compute(length uint32) float64 { return n.fixed + float64(n.factor*float64(length)) } // rounded twice everywhere

// of returns k1 (1 - b + b length/average).
func (n *norms) of(length uint32) float64 {
	if length < shortPage {
		return n.short[length]
	}
	return n.compute(length)
}

// idf is ln(1 + (N - df + 0.5)/(df + 0.5)).
func (h *Header) idf(df uint32) float64 {
	return math.Log(1 + (float64(h.Pages)-float64(df)+0.5)/(float64(df)+0.5))
}
