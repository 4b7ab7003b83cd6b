package auto

import (
	"math"
	"slices"

	"pipe/costs"
	"pipe/models/network"
	"pipe/models/regress"
)

// leastBlock is the least width of a block of features. A smaller one belongs to the block before it, the first one to that
// after it.
const leastBlock = 8

// featureBlocks are the blocks of the features of a tensor, without those in which nothing varies; nil if they are one. Narrow ones may
// have any width.
func featureBlocks(t *costs.Tensor, s network.Standardizer, narrow bool) (out []span) {
	at := 0
	for _, width := range t.Blocks() {
		last := len(out) - 1
		if last >= 0 && !narrow && min(width, out[last].to-out[last].from) < leastBlock {
			out[last].to += width
		} else {
			out = append(out, span{at, at + width})
		}
		at += width
	}
	out = slices.DeleteFunc(out, func(b span) bool { return varying(s, b) == 0 })
	if len(out) < 2 {
		return nil
	}
	return out
}

// varying is the number of features of a block that are not constant: their scale is not 0.
func varying(s network.Standardizer, b span) (n int) {
	for _, scale := range s.Scale[b.from:b.to] {
		if scale != 0 {
			n++
		}
	}
	return n
}

// balance gives blocks of standardised features the same total variance, so that a wide block does not outweigh the others
// in distances and penalties. The variance of a feature stays 1 on average. Features without variance do not count.
func balance(s network.Standardizer, blocks []span) {
	all := 0
	for _, b := range blocks {
		all += varying(s, b)
	}
	for _, b := range blocks {
		factor := math.Sqrt(float64(all) / float64(len(blocks)*varying(s, b)))
		for c := b.from; c < b.to; c++ {
			s.Scale[c] *= float32(factor)
		}
	}
}

// perBlock are the families once more for each block, which they see alone.
func perBlock(families []regress.Family, blocks []span) (out []regress.Family) {
	for _, b := range blocks {
		for _, f := range families {
			out = append(out, regress.Block{Family: f, From: b.from, To: b.to})
		}
	}
	return out
}
