package pixel

import (
	"bytes"
	"image"
	"image/jpeg"
	"slices"
	"strings"
	"testing"
)

// scans is a JPEG file that goes over its image n times.
func scans(t testing.TB, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 16, 16)), nil); err != nil {
		t.Fatal(err)
	}
	at, end := bytes.Index(b.Bytes(), []byte{0xff, jpegScan}), b.Len()-2
	return slices.Concat(b.Bytes()[:at], bytes.Repeat(b.Bytes()[at:end], n), b.Bytes()[end:])
}

// TestScansAreLimited: a file that takes hours is refused before it does.
func TestScansAreLimited(t *testing.T) {
	if _, err := Decode(scans(t, maxScans)); err != nil {
		t.Error(err)
	}
	if _, err := Decode(scans(t, maxScans+1)); err == nil || !strings.Contains(err.Error(), "501 scans; at most 500 are supported") {
		t.Error(err)
	}
}

// sampled returns a grey JPEG file of 32 x 16 pixels. factors are the sampling
// factors of the two axes, four bits each; blocks are those of brightness.
func sampled(t testing.TB, factors byte, blocks int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewNRGBA(image.Rect(0, 0, 32, 16)), nil); err != nil {
		t.Fatal(err)
	}
	file := b.Bytes()
	file[bytes.Index(file, []byte{0xff, 0xc0})+11] = factors
	header := file[:bytes.Index(file, []byte{0xff, jpegScan})+14]
	// In the usual code, a block that is no other than the one before takes six
	// bits of brightness, 001010, or four of colour, 0000.
	bits := strings.Repeat("001010", blocks) + "00000000"
	return slices.Concat(header, packed(strings.Repeat(bits, 8/blocks)), []byte{0xff, 0xd9})
}

func packed(bits string) []byte {
	var out []byte
	for i, c := range bits {
		if i%8 == 0 {
			out = append(out, 0)
		}
		out[i/8] = out[i/8]<<1 | byte(c-'0')
	}
	return out
}

// TestSharedColours: both decoders know all the ways of sharing colours that the
// check of the header lets through.
func TestSharedColours(t *testing.T) {
	for factors, blocks := range map[byte]int{0x11: 1, 0x21: 2, 0x12: 2, 0x22: 4, 0x41: 4, 0x42: 8} {
		file := sampled(t, factors, blocks)
		if err := DefaultLimits().Check(file); err != nil {
			t.Errorf("%x: %v", factors, err)
		}
		for _, d := range bothDecoders() {
			m, err := d.Decode(file)
			if err != nil {
				t.Errorf("%x by %s: %v", factors, d.Name(), err)
				continue
			}
			if want := slices.Repeat([]uint8{128}, 3*32*16); !bytes.Equal(m.Pix, want) {
				t.Errorf("%x by %s: %s", factors, d.Name(), differences(m.Pix, want))
			}
		}
	}
}
