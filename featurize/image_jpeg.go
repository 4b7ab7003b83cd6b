package featurize

import "bytes"

// adobe is the marker that tells what four channels of a JPEG file are: inks,
// inverted, which is what all such files hold.
var adobe = []byte{0xff, 0xee, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 0}

// withColourModel adds the Adobe marker to a JPEG file of four channels that
// lacks it, which image/jpeg would refuse.
func withColourModel(b []byte) []byte {
	frame, known := jpegFrame(b)
	if !known || frame != 4 {
		return b
	}
	return append(append(bytes.Clone(b[:2]), adobe...), b[2:]...)
}

// jpegFrame walks the markers of a JPEG file up to its frame header and
// returns the number of channels; known is false for other files and where an
// Adobe marker comes first.
func jpegFrame(b []byte) (channels int, known bool) {
	if !bytes.HasPrefix(b, []byte{0xff, 0xd8}) {
		return 0, false
	}
	for b = b[2:]; len(b) >= 10 && b[0] == 0xff; {
		marker := b[1]
		switch {
		case marker == 0xff: // padding
			b = b[1:]
			continue
		case marker == 0xee && bytes.HasPrefix(b[4:], []byte("Adobe")):
			return 0, false
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			return int(b[9]), true
		}
		size := 2 + int(b[2])<<8 + int(b[3])
		if size > len(b) {
			return 0, false
		}
		b = b[size:]
	}
	return 0, false
}
