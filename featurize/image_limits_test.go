package featurize

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"strings"
	"testing"
)

// withSize is a PNG file whose header, with the right checksum, claims a size.
func withSize(t testing.TB, width, height uint32) []byte {
	b := encodePNG(t, image.NewGray(image.Rect(0, 0, 4, 4)))
	binary.BigEndian.PutUint32(b[16:], width)
	binary.BigEndian.PutUint32(b[20:], height)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return b
}

func TestLimits(t *testing.T) {
	l := DefaultLimits()
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	fine := encodePNG(t, image.NewGray(image.Rect(0, 0, 8, 16)))
	if err := l.Check(fine); err != nil {
		t.Error(err)
	}
	if err := l.Check(withSize(t, 10000, 10000)); err != nil {
		t.Errorf("as large as the limits allow: %v", err)
	}
	for want, b := range map[string][]byte{
		"min_side is 8":             encodePNG(t, image.NewGray(image.Rect(0, 0, 1, 1))),
		"200 x 7 pixels":            withSize(t, 200, 7),
		"max_side is 16384":         withSize(t, 20000, 10),
		"max_pixels is 100000000":   withSize(t, 10001, 10000),
		"65536 x 65536 pixels":      withSize(t, 65536, 65536),
		"max_bytes is 67108864":     make([]byte, 64<<20+1),
		"the file is empty":         nil,
		"neither JPEG, PNG":         []byte("<html><body>404</body></html>"),
		"the file is truncated (un": fine[:20],
	} {
		if err := l.Check(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := (Limits{MinSide: 9, MaxSide: 8, MaxPixels: maxPixels + 1}).Validate(); err == nil {
		t.Error("limits that contradict each other were accepted")
	}
}

// TestBombsAreNotDecoded: both decoders refuse by the header.
func TestBombsAreNotDecoded(t *testing.T) {
	bomb := withSize(t, 60000, 60000)
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, image.NewGray(image.Rect(0, 0, 16, 16)), nil); err != nil {
		t.Fatal(err)
	}
	frame := bytes.Index(photo.Bytes(), []byte{0xff, 0xc0})
	copy(photo.Bytes()[frame+5:], []byte{0xea, 0x60, 0xea, 0x60})
	decoders := []Decoder{StandardDecoder()}
	if d, err := OpenDecoder("auto"); err == nil && d != decoders[0] {
		decoders = append(decoders, d)
	}
	for _, d := range decoders {
		for _, b := range [][]byte{bomb, photo.Bytes()} {
			if _, err := d.Decode(b); err == nil || !strings.Contains(err.Error(), "60000 x 60000 pixels") {
				t.Errorf("%s: %v", d.Name(), err)
			}
		}
	}
}

// FuzzDecoders: whatever the bytes, the header check and the decoders return,
// and what passes the check and decodes has the size that the header told.
func FuzzDecoders(f *testing.F) {
	decoders := []Decoder{StandardDecoder()}
	if d, err := OpenDecoder("auto"); err == nil && d != decoders[0] {
		decoders = append(decoders, d)
	}
	limits := Limits{MinSide: 1, MaxSide: 2000, MaxPixels: 1 << 20, MaxBytes: 1 << 20}
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, image.NewNRGBA(image.Rect(0, 0, 20, 12)), nil); err != nil {
		f.Fatal(err)
	}
	f.Add(photo.Bytes())
	f.Add(append(append([]byte{0xff, 0xd8}, adobe...), photo.Bytes()[2:]...))
	f.Add(encodePNG(f, image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.Black, color.White})))
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8 "))
	f.Add([]byte("BM"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if limits.Check(b) != nil {
			return
		}
		for _, d := range decoders {
			m, err := d.Decode(b)
			if err != nil {
				continue
			}
			if len(m.Pix) != 3*m.Width*m.Height || m.Width < 1 || m.Height < 1 {
				t.Errorf("%s: %d x %d pixels in %d values", d.Name(), m.Width, m.Height, len(m.Pix))
			}
			if _, err := CLIPPreprocess(32).Prepare(m, []View{Centre()}); err != nil {
				t.Error(err)
			}
		}
	})
}
