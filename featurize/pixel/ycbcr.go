package pixel

import "image"

// fillYCbCr converts JPEG's colours bit for bit like color.YCbCrToRGB. The
// contribution of the two chroma channels is computed once for the pixels that
// share it.
func (m *Image) fillYCbCr(s *image.YCbCr) {
	shift := 0 // log2 of the pixels of a row that share chroma
	switch s.SubsampleRatio {
	case image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420:
		shift = 1
	case image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410:
		shift = 2
	}
	least := s.Rect.Min
	for y := range m.Height {
		at := s.COffset(least.X, least.Y+y)
		luma := s.Y[s.YOffset(least.X, least.Y+y):][:m.Width]
		dst, cb, cr := m.row(y), s.Cb[at:], s.Cr[at:]
		if shift == 1 {
			n := m.Width / 2
			pairsYCbCr(dst, luma, cb[:n], cr[:n])
			dst, luma, cb, cr = dst[6*n:], luma[2*n:], cb[n:], cr[n:]
		}
		rowYCbCr(dst, luma, cb, cr, shift)
	}
}

// pairsYCbCr converts two pixels per chroma value, the case of nearly all
// photos, in half the time of the general loop.
func pairsYCbCr(dst, luma, cb, cr []uint8) {
	for c := range min(len(cb), len(cr)) {
		blue, red := int32(cb[c])-128, int32(cr[c])-128
		r, g, b := 91881*red, -22554*blue-46802*red, 116130*blue
		l, out := luma[2*c:2*c+2], dst[6*c:6*c+6]
		y := int32(l[0]) * 0x10101
		out[0], out[1], out[2] = clip16(y+r), clip16(y+g), clip16(y+b)
		y = int32(l[1]) * 0x10101
		out[3], out[4], out[5] = clip16(y+r), clip16(y+g), clip16(y+b)
	}
}

func rowYCbCr(dst, luma, cb, cr []uint8, shift int) {
	for c := 0; len(luma) > 0; c++ {
		blue, red := int32(cb[c])-128, int32(cr[c])-128
		r, g, b := 91881*red, -22554*blue-46802*red, 116130*blue
		n := min(1<<shift, len(luma))
		out := dst[:3*n]
		for x, l := range luma[:n] {
			y := int32(l) * 0x10101
			out[3*x], out[3*x+1], out[3*x+2] = clip16(y+r), clip16(y+g), clip16(y+b)
		}
		dst, luma = dst[3*n:], luma[n:]
	}
}

// clip16 drops the 16 fractional bits of v and clamps it to 0..255.
func clip16(v int32) uint8 {
	if uint32(v)&0xff000000 == 0 {
		return uint8(v >> 16)
	}
	return uint8(^(v >> 31))
}
