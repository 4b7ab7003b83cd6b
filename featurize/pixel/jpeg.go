package pixel

import (
	"bytes"
	"fmt"
	"iter"
)

// maxScans equals libjpeg-turbo's limit. Each scan of a progressive file may go
// over the whole image again but needs only a few bytes.
const maxScans = 500

// Markers of JPEG files.
const (
	jpegHuffman      = 0xc4
	jpegEnd          = 0xd9
	jpegScan         = 0xda
	jpegQuantisation = 0xdb
	jpegAdobe        = 0xee
)

// adobe is the marker that declares the meaning of the four channels of a JPEG
// file: inverted CMYK, as in all such files.
var adobe = []byte{0xff, jpegAdobe, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 0}

// withColourModel adds the Adobe marker to a JPEG file of four channels without
// it, which image/jpeg would reject.
func withColourModel(b []byte) []byte {
	if jpegChannels(b) != 4 {
		return b
	}
	return append(append(bytes.Clone(b[:2]), adobe...), b[2:]...)
}

// jpegChannels is the number of channels in the frame header of a JPEG file; 0
// for other files and if an Adobe marker comes first.
func jpegChannels(b []byte) int {
	for marker, body := range jpegSegments(b) {
		switch {
		case marker == jpegAdobe && bytes.HasPrefix(body, []byte("Adobe")):
			return 0
		case isFrame(marker) && len(body) > 5:
			return int(body[5])
		}
	}
	return 0
}

func isFrame(marker byte) bool {
	return marker >= 0xc0 && marker <= 0xcf && marker != jpegHuffman && marker != 0xc8 && marker != 0xcc
}

// jpegScans counts the scans of a JPEG file; 0 for other files.
func jpegScans(b []byte) (n int) {
	for marker := range jpegSegments(b) {
		if marker == jpegScan {
			n++
		}
	}
	return n
}

// checkJPEGTables rejects files that image/jpeg decodes but should not: tables
// of Huffman codes with too many codes, and a channel whose quantisation table
// is not defined before its first scan, or changes afterwards in a progressive
// file.
func checkJPEGTables(b []byte) error {
	q := quantisation{tables: map[byte]byte{}}
	for marker, body := range jpegSegments(b) {
		var err error
		switch {
		case isFrame(marker) && len(body) > 5:
			q.frame(body, marker == 0xc2)
		case marker == jpegQuantisation:
			err = q.define(body)
		case marker == jpegHuffman:
			err = checkHuffman(body)
		case marker == jpegScan && len(body) > 0:
			err = q.scan(body)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// quantisation tracks the quantisation tables of a JPEG file.
type quantisation struct {
	progressive   bool
	tables        map[byte]byte // number of the table, by channel
	defined, used [4]bool       // by number
}

func (q *quantisation) frame(body []byte, progressive bool) {
	q.progressive = progressive
	for at := 6; at+3 <= len(body); at += 3 {
		q.tables[body[at]] = body[at+2] & 3
	}
}

func (q *quantisation) define(body []byte) error {
	for at := 0; at < len(body); at += 65 + 64*int(body[at]>>4&1) {
		n := body[at] & 3
		if q.defined[n] = true; q.progressive && q.used[n] {
			return fmt.Errorf("jpeg: quantisation table %d changes between scans", n)
		}
	}
	return nil
}

func (q *quantisation) scan(body []byte) error {
	for at := 1; at+1 < len(body) && at <= 2*int(body[0]); at += 2 {
		n, ok := q.tables[body[at]]
		if ok && !q.defined[n] {
			return fmt.Errorf("jpeg: quantisation table %d is not defined", n)
		}
		q.used[n] = q.used[n] || ok
	}
	return nil
}

// checkHuffman rejects a table with more codes of some length than exist. The
// code of ones only is not allowed.
func checkHuffman(body []byte) error {
	const head = 17 // class and number, then the counts of codes of 1 to 16 bits
	for len(body) >= head {
		left, codes := 1, 0
		for _, n := range body[1:head] {
			codes += int(n)
			if left = 2*left - int(n); left < 1 {
				return fmt.Errorf("jpeg: Huffman table %#.2x has too many codes", body[0])
			}
		}
		body = body[min(head+codes, len(body)):]
	}
	return nil
}

// jpegSegments yields the marker and the content of every segment of a JPEG
// file, up to its end or to a truncated segment. It skips the pixel data after
// scans, in which every 0xff is followed by 0.
func jpegSegments(b []byte) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		if !bytes.HasPrefix(b, []byte{0xff, 0xd8}) {
			return
		}
		rest := b[2:]
		for {
			at := bytes.IndexByte(rest, 0xff)
			if at < 0 || len(rest) < at+4 {
				return
			}
			rest = rest[at:]
			marker := rest[1]
			switch {
			case marker == 0xff: // padding
				rest = rest[1:]
				continue
			case marker == 0 || marker >= 0xd0 && marker <= 0xd7: // data, and restart markers
				rest = rest[2:]
				continue
			case marker == jpegEnd:
				return
			}
			size := 2 + int(rest[2])<<8 + int(rest[3])
			if size < 4 || size > len(rest) || !yield(marker, rest[4:size]) {
				return
			}
			rest = rest[size:]
		}
	}
}
