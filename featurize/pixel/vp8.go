package pixel

import "image"

// fillVP8 converts the colours of lossy WebP, which are those of video: luma in
// 16..235 and two chroma channels of half the size. It rounds and interpolates
// like libwebp, which browsers and Pillow use.
func (m *Image) fillVP8(s *image.YCbCr) {
	last := (m.Height - 1) / 2
	for y := range m.Height {
		near, far := y/2, y/2-1+y%2*2 // the chroma row of a row, and the other adjacent one
		far = min(max(far, 0), last)
		m.rowVP8(y, s.Y[y*s.YStride:][:m.Width], halves{s.Cb[near*s.CStride:], s.Cb[far*s.CStride:]}, halves{s.Cr[near*s.CStride:], s.Cr[far*s.CStride:]})
	}
}

func (m *Image) rowVP8(y int, luma []uint8, u, v halves) {
	row := m.row(y)
	for x, l := range luma {
		row[3*x], row[3*x+1], row[3*x+2] = vp8RGB(int32(l), u.at(x, len(luma)), v.at(x, len(luma)))
	}
}

// halves are the two rows of a chroma channel around a row of pixels.
type halves struct{ near, far []uint8 }

// at averages the four chroma values around pixel x of a row with weights 9, 3,
// 3 and 1 sixteenths; at the ends, two values with weights 3 and 1 quarters.
func (h halves) at(x, width int) int32 {
	near, other := x/2, x/2-1+x%2*2
	if x == 0 || x == width-1 && x%2 == 1 {
		return (3*int32(h.near[near]) + int32(h.far[near]) + 2) >> 2
	}
	a, b, c, d := int32(h.near[near]), int32(h.near[other]), int32(h.far[near]), int32(h.far[other])
	return ((a+3*b+3*c+d+8)>>3 + a) >> 1
}

// vp8RGB is the conversion of ITU-R BT.601 with 14 fractional bits.
func vp8RGB(y, u, v int32) (r, g, b uint8) {
	y = y * 19077 >> 8
	return clip6(y + v*26149>>8 - 14234), clip6(y - u*6419>>8 - v*13320>>8 + 8708), clip6(y + u*33050>>8 - 17685)
}

func clip6(v int32) uint8 { return uint8(min(max(v>>6, 0), 255)) }
