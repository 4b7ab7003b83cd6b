package pixel

import (
	"bytes"
	"compress/lzw"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
)

// fourColours is a picture of 4 x 3 pixels whose columns have colours 0 to 3.
func fourColours() *image.Paletted {
	m := image.NewPaletted(image.Rect(0, 0, 4, 3), color.Palette{
		color.RGBA{R: 1, G: 2, B: 3, A: 255}, color.RGBA{R: 40, G: 50, B: 60, A: 255}, color.RGBA{R: 200, G: 0, B: 0, A: 255}, color.RGBA{R: 0, G: 250, B: 0, A: 255},
	})
	for i := range m.Pix {
		m.Pix[i] = uint8(i % 4)
	}
	return m
}

// paletteBMP is the picture with the first entries of its palette.
func paletteBMP(t testing.TB, entries int) []byte {
	const head, list = 54, 4 * 256
	var b bytes.Buffer
	if err := bmp.Encode(&b, fourColours()); err != nil {
		t.Fatal(err)
	}
	file := slices.Delete(b.Bytes(), head+4*entries, head+list)
	binary.LittleEndian.PutUint32(file[10:], uint32(head+4*entries))
	binary.LittleEndian.PutUint32(file[46:], uint32(entries))
	return file
}

// palettePNG is the picture with the first entries of its palette, and what
// transparency they have.
func palettePNG(t testing.TB, entries int, opacity ...byte) []byte {
	file := encodePNG(t, fourColours())
	at := bytes.Index(file, []byte("PLTE"))
	list := file[at+4:][:3*entries]
	end := at + 8 + int(binary.BigEndian.Uint32(file[at-4:]))
	chunks := pngChunk("PLTE", list)
	if opacity != nil {
		chunks = append(chunks, pngChunk("tRNS", opacity)...)
	}
	return slices.Concat(file[:at-4], chunks, file[end:])
}

func pngChunk(kind string, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	b = append(append(b, kind...), body...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// paletteGIF is the picture with other numbers of colours. Its table is one of
// the frame or shared by all; a colour may be marked as transparent.
func paletteGIF(t testing.TB, pix []byte, shared bool, clear ...byte) []byte {
	var table []byte
	for _, c := range fourColours().Palette {
		c := c.(color.RGBA)
		table = append(table, c.R, c.G, c.B)
	}
	const hasTable = 0x81 // of four colours
	b := []byte("GIF89a\x04\x00\x03\x00")
	if shared {
		b = append(append(b, hasTable, 0, 0), table...)
	} else {
		b = append(b, 0, 0, 0)
	}
	b = append(b, "\x21\xfe\x05a,b!c\x00"...) // a comment that looks like blocks
	if clear != nil {
		b = append(b, 0x21, 0xf9, 4, 1, 0, 0, clear[0], 0)
	}
	b = append(b, 0x2c, 0, 0, 0, 0, 4, 0, 3, 0)
	if shared {
		b = append(b, 0)
	} else {
		b = append(append(b, hasTable), table...)
	}
	var codes bytes.Buffer
	w := lzw.NewWriter(&codes, lzw.LSB, 8)
	if _, err := w.Write(pix); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b = append(append(b, 8, byte(codes.Len())), codes.Bytes()...)
	return append(b, 0, 0x3b)
}

// TestPalettes: the colours are those that the file lists, transparent or not.
func TestPalettes(t *testing.T) {
	want := fourColours()
	for name, b := range map[string][]byte{
		"bmp":                      paletteBMP(t, 4),
		"png":                      palettePNG(t, 4),
		"png, transparent":         palettePNG(t, 4, 255, 0, 7),
		"gif":                      paletteGIF(t, want.Pix, false),
		"gif, shared":              paletteGIF(t, want.Pix, true),
		"gif, transparent":         paletteGIF(t, want.Pix, false, 2),
		"gif, shared, transparent": paletteGIF(t, want.Pix, true, 1),
		"gif, beyond transparent":  paletteGIF(t, want.Pix, true, 200),
	} {
		m, err := Decode(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, n := range want.Pix {
			c := want.Palette[n].(color.RGBA)
			if got := m.Pix[3*i:][:3]; !bytes.Equal(got, []byte{c.R, c.G, c.B}) {
				t.Errorf("%s: pixel %d is %v, want %v", name, i, got, c)
			}
		}
	}
}

// TestColoursBeyondThePalette are errors. Go's decoders panic for BMP later on,
// and invent a colour for PNG, and for GIF with a transparent one.
func TestColoursBeyondThePalette(t *testing.T) {
	pix := bytes.Clone(fourColours().Pix)
	pix[11] = 9
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"bmp":                        {paletteBMP(t, 3), "the pixel in column 3, row 0 has colour 3, but the palette has 3 colours"},
		"png":                        {palettePNG(t, 3), "the pixel in column 3, row 0 has colour 3, but the palette has 3 colours"},
		"png, transparent":           {palettePNG(t, 2, 255, 255, 0, 0), "the pixel in column 2, row 0 has colour 2, but the palette has 2 colours"},
		"gif":                        {paletteGIF(t, pix, true), "gif: invalid pixel value"},
		"gif, transparent":           {paletteGIF(t, pix, false, 12), "the pixel in column 3, row 2 has colour 9, but the palette has 4 colours"},
		"gif, that one is not there": {paletteGIF(t, pix, false, 9), "the pixel in column 3, row 2 has colour 9, but the palette has 4 colours"},
	} {
		for _, d := range bothDecoders() {
			m, err := d.Decode(c.file)
			if m != nil || err == nil || err.Error() != "decode image: "+c.want {
				t.Errorf("%s: a picture: %t, %v", name, m != nil, err)
			}
		}
	}
}

// TestWebPClaims: transparency gets as much room as the canvas says, so a canvas
// that is not as large as its frame is refused before.
func TestWebPClaims(t *testing.T) {
	canvas := []byte("VP8X\x0a\x00\x00\x00\x10\x00\x00\x00\xff\xff\x0f\xff\xff\x0f") // a million by a million
	alpha := []byte("ALPH\x02\x00\x00\x00\x00\x00")
	frame := canvasWebP(16)[12+18:]
	body := slices.Concat([]byte("WEBP"), canvas, alpha, frame)
	file := append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"canvas": {file, "the frame has 16 x 16 pixels, the canvas 1048576 x 1048576"},
		"length": {append([]byte("RIFF\xff\xff\xff\xff"), file[8:]...), "the file is truncated"},
	} {
		if err := DefaultLimits().Check(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Decode(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestJPEGTables: image/jpeg takes tables that are missing for zeros, and decodes
// codes that mean two things.
func TestJPEGTables(t *testing.T) {
	file := scans(t, 1)
	tables := bytes.Index(file, []byte{0xff, 0xdb})
	file[tables+1] = 0xec // a segment that decoders pass over
	if _, err := Decode(file); err == nil || !strings.Contains(err.Error(), "quantisation table 0 is not defined") {
		t.Error(err)
	}
	file = scans(t, 1)
	codes := bytes.Index(file, []byte{0xff, 0xc4})
	copy(file[codes+5:], []byte{1, 2}) // one of one bit leaves two of two bits, of which one is all ones
	if _, err := Decode(file); err == nil || !strings.Contains(err.Error(), "Huffman table 0x00 has too many codes") {
		t.Error(err)
	}
}
