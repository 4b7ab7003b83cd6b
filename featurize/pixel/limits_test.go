package pixel

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"slices"
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
		"16384 x 16384 pixels":      canvasWebP(16384),
		"max_bytes is 67108864":     make([]byte, 64<<20+1),
		"the file is empty":         nil,
		"neither JPEG, PNG":         []byte("<html><body>404</body></html>"),
		"the file is truncated (un": fine[:20],
	} {
		if err := l.Check(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestBadLimits: every limit that cannot be is named, and no other.
func TestBadLimits(t *testing.T) {
	for want, change := range map[string]func(l *Limits){
		"limits of images: min_side is 0; it must be at least 1":                    func(l *Limits) { l.MinSide = 0 },
		"limits of images: max_side is 7, less than min_side, 8":                    func(l *Limits) { l.MaxSide = 7 },
		"limits of images: max_pixels is 100000001; it must be from 1 to 100000000": func(l *Limits) { l.MaxPixels++ },
		"limits of images: max_bytes is 0; it must be from 1 to 1073741824":         func(l *Limits) { l.MaxBytes = 0 },
		"limits of images: min_side is -1; it must be at least 1\nlimits of images: max_bytes is -1; it must be from 1 to 1073741824": func(l *Limits) {
			l.MinSide, l.MaxBytes = -1, -1
		},
	} {
		l := DefaultLimits()
		if change(&l); l.Validate() == nil || l.Validate().Error() != want {
			t.Errorf("got %v, want %q", l.Validate(), want)
		}
	}
}

// canvasWebP is the start of a WebP file whose canvas has 16 x 16 pixels and
// whose frame has another size.
func canvasWebP(side uint32) []byte {
	canvas := []byte("VP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x0f\x00\x00\x0f\x00\x00")
	frame := binary.LittleEndian.AppendUint32([]byte("VP8L\x05\x00\x00\x00\x2f"), side-1|(side-1)<<14)
	body := slices.Concat([]byte("WEBP"), canvas, frame, []byte{0})
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

// bothDecoders are the standard one and libjpeg-turbo's where it is there.
func bothDecoders() []Decoder {
	decoders := []Decoder{StandardDecoder()}
	if d, err := OpenDecoder("auto"); err == nil && d != decoders[0] {
		decoders = append(decoders, d)
	}
	return decoders
}

// TestBombsAreNotDecoded: both decoders refuse by the header.
func TestBombsAreNotDecoded(t *testing.T) {
	photo := scans(t, 1)
	frame := bytes.Index(photo, []byte{0xff, 0xc0})
	copy(photo[frame+5:], []byte{0xea, 0x60, 0xea, 0x60})
	for _, d := range bothDecoders() {
		for _, c := range []struct {
			file []byte
			want string
		}{
			{withSize(t, 60000, 60000), "60000 x 60000 pixels"},
			{photo, "60000 x 60000 pixels"},
			{canvasWebP(16384), "16384 x 16384 pixels"},
		} {
			if _, err := d.Decode(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", d.Name(), err, c.want)
			}
		}
	}
}

// FuzzDecoders: whatever the bytes, the header check and the decoders return,
// and what passes the check and decodes has the size that the header told.
func FuzzDecoders(f *testing.F) {
	decoders := bothDecoders()
	limits := Limits{MinSide: 1, MaxSide: 2000, MaxPixels: 1 << 20, MaxBytes: 1 << 20}
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, image.NewNRGBA(image.Rect(0, 0, 20, 12)), nil); err != nil {
		f.Fatal(err)
	}
	f.Add(photo.Bytes())
	f.Add(append(append([]byte{0xff, 0xd8}, adobe...), photo.Bytes()[2:]...))
	f.Add(encodePNG(f, image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.Black, color.White})))
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8 "))
	f.Add(canvasWebP(16))
	f.Add([]byte("BM"))
	f.Add(paletteBMP(f, 3))
	f.Add(palettePNG(f, 3, 255, 0))
	f.Add(paletteGIF(f, fourColours().Pix, false, 9))
	f.Fuzz(func(t *testing.T, b []byte) {
		if limits.Check(b) != nil {
			return
		}
		width, height, err := Size(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range decoders {
			m, err := d.Decode(b)
			if err != nil {
				continue
			}
			if m.Width != width || m.Height != height || len(m.Pix) != 3*width*height {
				t.Errorf("%s: %d x %d pixels in %d values, the header has %d x %d", d.Name(), m.Width, m.Height, len(m.Pix), width, height)
			}
			if _, err := CLIPPreprocess(32).Prepare(m, []View{Centre()}); err != nil {
				t.Error(err)
			}
		}
	})
}
