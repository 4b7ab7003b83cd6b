package pixel

import "encoding/binary"

// Both passes compute two channels at once: two 8-bit values, 32 bits apart in
// one word, need one multiplication. Each half of the sum of products fits 32
// bits with its sign, so that the halves can be separated exactly.

const pair = 0x000000ff_000000ff

// half is the rounding term of a sum, in both halves.
const half = 1<<(precision-1) | 1<<(precision-1+32)

// apart returns the two pixel values of a sum of pairs.
func apart(sum uint64) (low, high uint8) {
	l := int32(sum)
	h := int32((sum - uint64(int64(l))) >> 32)
	return clip8(l >> precision), clip8(h >> precision)
}

func clip8(v int32) uint8 { return uint8(min(max(v, 0), 255)) }

// across resamples every row of src into dst, two rows at a time.
func (t *taps) across(dst, src pixels) {
	words := make([][3]uint64, src.width) // pairs of two rows
	for y := 0; y < src.height; y += 2 {
		z := min(y+1, src.height-1) // the last of an odd number of rows is paired with itself
		interleave(words, src.row(y), src.row(z))
		upper, lower := dst.row(y), dst.row(z)
		for i, first := range t.first {
			weights := t.weights[i*t.width:][:t.count[i]]
			run := words[first:][:len(weights)]
			r, g, b := uint64(half), uint64(half), uint64(half)
			for k, w := range weights {
				p := &run[k]
				r += p[0] * uint64(w)
				g += p[1] * uint64(w)
				b += p[2] * uint64(w)
			}
			u, l := upper[3*i:3*i+3], lower[3*i:3*i+3]
			u[0], l[0] = apart(r)
			u[1], l[1] = apart(g)
			u[2], l[2] = apart(b)
		}
	}
}

func interleave(words [][3]uint64, upper, lower []uint8) {
	upper, lower = upper[:3*len(words)], lower[:3*len(words)]
	for x := range words {
		u, l := upper[3*x:3*x+3], lower[3*x:3*x+3]
		words[x] = [3]uint64{uint64(u[0]) | uint64(l[0])<<32, uint64(u[1]) | uint64(l[1])<<32, uint64(u[2]) | uint64(l[2])<<32}
	}
}

// down resamples every column of src into dst, eight values of a row at a time.
func (t *taps) down(dst, src pixels) {
	for y, first := range t.first {
		weights := t.weights[y*t.width:][:t.count[y]]
		rows, out := src.pix[first*src.stride:], dst.row(y)
		x := 0
		for ; x+8 <= len(out); x += 8 {
			s0, s1, s2, s3 := uint64(half), uint64(half), uint64(half), uint64(half)
			at := x
			for _, w := range weights {
				p := binary.LittleEndian.Uint64(rows[at : at+8])
				s0 += (p & pair) * uint64(w)
				s1 += (p >> 8 & pair) * uint64(w)
				s2 += (p >> 16 & pair) * uint64(w)
				s3 += (p >> 24 & pair) * uint64(w)
				at += src.stride
			}
			o := out[x : x+8]
			o[0], o[4] = apart(s0)
			o[1], o[5] = apart(s1)
			o[2], o[6] = apart(s2)
			o[3], o[7] = apart(s3)
		}
		for ; x < len(out); x++ {
			sum := uint64(half)
			for k, w := range weights {
				sum += uint64(rows[k*src.stride+x]) * uint64(w)
			}
			out[x], _ = apart(sum)
		}
	}
}
