package bm25

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// A word's postings are blocks of blockLen pages (the last one may be shorter).
// The data of a block are two bytes, the widths of what follows, then the gaps
// between page numbers minus 1 and the counts minus 1, packed bit by bit from the
// low end, each of the two padded to a byte. The gap of the first page of a block
// is from the last page of the block before, that of the first block from -1.
// Where there is more than one block, a table of blockEntry bytes per block comes
// first: last page, bound on tf/(tf+norm), and start of the block's data counted
// from the end of the table.
const (
	blockLen   = 128
	blockEntry = 12
	// slack is how many bytes beyond its end a packed list may be read.
	slack = 8
)

// appendPacked appends the low width bits of each value.
func appendPacked(dst []byte, values []uint32, width int) []byte {
	var pending uint64
	have := 0
	for _, v := range values {
		pending |= uint64(v) << have
		have += width
		for have >= 8 {
			dst = append(dst, byte(pending))
			pending >>= 8
			have -= 8
		}
	}
	if have > 0 {
		dst = append(dst, byte(pending))
	}
	return dst
}

// unpack reads len(dst) values of the given width (at most 32). src has slack
// more bytes than the values take.
func unpack(dst []uint32, src []byte, width int) {
	mask := uint64(1)<<width - 1
	at := 0
	for i := range dst {
		dst[i] = uint32(binary.LittleEndian.Uint64(src[at>>3:]) >> (at & 7) & mask)
		at += width
	}
}

// packedLen is the size in bytes of n packed values.
func packedLen(n, width int) int { return (n*width + 7) / 8 }

// widthOf is the number of bits of the largest value.
func widthOf(values []uint32) int {
	var all uint32
	for _, v := range values {
		all |= v
	}
	return bits.Len32(all)
}

// upper returns the smallest float32 that is at least v.
func upper(v float64) float32 {
	f := float32(v)
	if float64(f) < v {
		f = math.Nextafter32(f, float32(math.Inf(1)))
	}
	return f
}

// encoder writes lists of postings.
type encoder struct {
	norm   func(page uint32) float64
	table  []byte
	blocks []byte
	gaps   [blockLen]uint32
	counts [blockLen]uint32
}

// appendPages appends the postings of a word, each number<<32 | count with rising
// numbers. bound has the bits of the largest tf/(tf+norm), rounded up to float32.
func (e *encoder) appendPages(dst []byte, pages []uint64) (out []byte, bound uint32) {
	e.table, e.blocks = e.table[:0], e.blocks[:0]
	last, highest := uint32(math.MaxUint32), float32(0) // the page before the first one is -1
	for block := range slices.Chunk(pages, blockLen) {
		start := len(e.blocks)
		high := e.block(block, last)
		last, highest = uint32(block[len(block)-1]>>32), max(highest, high)
		e.table = binary.LittleEndian.AppendUint32(e.table, last)
		e.table = binary.LittleEndian.AppendUint32(e.table, math.Float32bits(high))
		e.table = binary.LittleEndian.AppendUint32(e.table, uint32(start))
	}
	if len(pages) > blockLen {
		dst = append(dst, e.table...)
	}
	return append(dst, e.blocks...), math.Float32bits(highest)
}

// block appends the data of one block and returns its bound.
func (e *encoder) block(pages []uint64, last uint32) float32 {
	high := 0.0
	for i, p := range pages {
		page, count := uint32(p>>32), uint32(p)
		e.gaps[i], e.counts[i] = page-last-1, count-1
		last = page
		high = max(high, float64(count)/(float64(count)+e.norm(page)))
	}
	gaps, counts := e.gaps[:len(pages)], e.counts[:len(pages)]
	wide, tall := widthOf(gaps), widthOf(counts)
	e.blocks = append(e.blocks, byte(wide), byte(tall))
	e.blocks = appendPacked(e.blocks, gaps, wide)
	e.blocks = appendPacked(e.blocks, counts, tall)
	return upper(high)
}
