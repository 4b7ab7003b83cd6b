package pixel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
)

// palette is the list of colours of a file, three bytes each.
type palette []uint8

// fillPaletted copies an image whose pixels are indices of colours. An index
// beyond the palette is an error, since decoders invent colours for it or
// panic.
func (m *Image) fillPaletted(s *image.Paletted, colours palette) error {
	for y := range m.Height {
		row := m.row(y)
		for x, n := range s.Pix[y*s.Stride:][:m.Width] {
			at := 3 * int(n)
			if at >= len(colours) {
				return fmt.Errorf("the pixel in column %d, row %d has colour %d, but the palette has %d colours", x, y, n, len(colours)/3)
			}
			copy(row[3*x:3*x+3], colours[at:])
		}
	}
	return nil
}

// decodedPalette is the palette of a decoder that does not add colours.
func decodedPalette(_ []byte, decoded color.Palette) (palette, error) {
	colours := make(palette, 0, 3*len(decoded))
	for _, c := range decoded {
		rgb := color.NRGBAModel.Convert(c).(color.NRGBA)
		colours = append(colours, rgb.R, rgb.G, rgb.B)
	}
	return colours, nil
}

// pngPalette is the PLTE chunk. The decoder adds black for larger indices.
func pngPalette(b []byte, _ color.Palette) (palette, error) {
	const signature, head, sum = 8, 8, 4
	for at := signature; at+head <= len(b); {
		size := int(binary.BigEndian.Uint32(b[at:]))
		if size > len(b)-at-head {
			break
		}
		if string(b[at+4:at+head]) == "PLTE" {
			return palette(b[at+head:][:size]), nil
		}
		at += head + size + sum
	}
	return nil, io.ErrUnexpectedEOF
}

// Blocks of GIF files.
const (
	gifExtension = 0x21
	gifFrame     = 0x2c
	gifText      = 0x01 // types of extensions (the second byte)
	gifProgram   = 0xff
)

// gifPalette is the colour table of the first frame. The decoder replaces the
// transparent colour, and adds colours if its index is beyond the table.
func gifPalette(b []byte, _ color.Palette) (palette, error) {
	r := bytes.NewReader(b)
	var head [13]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	shared, err := gifTable(r, head[10])
	if err != nil {
		return nil, err
	}
	for {
		kind, err := r.ReadByte()
		if err != nil {
			return nil, err
		}
		switch kind {
		case gifExtension:
			if err := passGIFExtension(r); err != nil {
				return nil, err
			}
		case gifFrame:
			var frame [9]byte
			if _, err := io.ReadFull(r, frame[:]); err != nil {
				return nil, err
			}
			if own, err := gifTable(r, frame[8]); own != nil || err != nil {
				return own, err
			}
			return shared, nil
		default:
			return nil, fmt.Errorf("gif: unknown block type: %#.2x", kind)
		}
	}
}

// gifTable reads the colour table that flags declare, nil if they declare none.
func gifTable(r io.Reader, flags byte) (palette, error) {
	if flags&0x80 == 0 {
		return nil, nil
	}
	table := make(palette, 3<<(1+flags&7))
	_, err := io.ReadFull(r, table)
	return table, err
}

// passGIFExtension skips the rest of an extension: blocks with their sizes, up
// to an empty one. It rejects extensions whose size differs from the one that
// the decoder assumes.
func passGIFExtension(r *bytes.Reader) error {
	kind, err := r.ReadByte()
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		size, err := r.ReadByte()
		if err != nil {
			return err
		}
		if first && (kind == gifText && size != 12 || kind == gifProgram && size == 0) {
			return errors.New("gif: an extension has the wrong size")
		}
		if size == 0 {
			return nil
		}
		if int(size) > r.Len() {
			return io.ErrUnexpectedEOF
		}
		if _, err := r.Seek(int64(size), io.SeekCurrent); err != nil {
			return err
		}
	}
}
