package featurize

import (
	"bytes"
	"iter"
)

// maxScans is what libjpeg-turbo's limit is: a progressive file may go over its
// image again and again, and a few bytes are enough for each time.
const maxScans = 500

// Markers of JPEG files.
const (
	jpegEnd   = 0xd9
	jpegScan  = 0xda
	jpegAdobe = 0xee
)

// adobe is the marker that tells what four channels of a JPEG file are: inks,
// inverted, which is what all such files hold.
var adobe = []byte{0xff, jpegAdobe, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 0}

// withColourModel adds the Adobe marker to a JPEG file of four channels that
// lacks it, which image/jpeg would refuse.
func withColourModel(b []byte) []byte {
	if jpegChannels(b) != 4 {
		return b
	}
	return append(append(bytes.Clone(b[:2]), adobe...), b[2:]...)
}

// jpegChannels is the number of channels that the frame header of a JPEG file
// tells; 0 for other files and where an Adobe marker comes first.
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
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
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

// jpegSegments yields the marker and the content of every segment of a JPEG
// file, up to its end or to a segment that is cut off. The pixels' data behind
// scans, in which 0 follows each 0xff, are passed over.
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
			case marker == 0 || marker >= 0xd0 && marker <= 0xd7: // data, and their restarts
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
