package bm25

import (
	"encoding/binary"
	"math"
)

// none is the page after the last one.
const none = math.MaxUint32

// cursor iterates over the postings of a word, in the order of pages.
type cursor struct {
	start  int64   // of the list among the postings
	weight float64 // n idf of the score
	bound  float64 // largest score of a page for the word
	place  int     // position position of the word in the query
	pages  int     // number of pages number of pages with the word
	limit  uint32  // pages of the index
	table  []byte  // blockEntry bytes per block; nil if there is one
	data   []byte  // of the blocks, and slack bytes
	damage func(section, chunk int) error

	block  int // the current one
	blocks int
	n, at  int  // number of pages in it, and the index of the current one
	read   bool // counts are unpacked
	packed []byte
	tall   int
	page   uint32 // the current one, or none
	docs   [blockLen]uint32
	counts [blockLen]uint32
}

// open starts at the first page of a list of postings; data ends with slack bytes
// that follow it.
func (c *cursor) open(data []byte) error {
	c.blocks, c.table = (c.pages+blockLen-1)/blockLen, nil
	c.data = data
	if c.blocks > 1 {
		if len(data) < c.blocks*blockEntry+slack {
			return c.damage(postingsSection, -1)
		}
		c.table, c.data = data[:c.blocks*blockEntry], data[c.blocks*blockEntry:]
	}
	return c.load(0)
}

// last returns the last page of a block.
func (c *cursor) last(block int) uint32 {
	if c.table == nil {
		return c.limit - 1
	}
	return binary.LittleEndian.Uint32(c.table[block*blockEntry:])
}

// most is the largest score of a page of a block for the word.
func (c *cursor) most(block int) float64 {
	if c.table == nil {
		return c.bound
	}
	return c.weight * float64(math.Float32frombits(binary.LittleEndian.Uint32(c.table[block*blockEntry+4:])))
}

// load unpacks the pages of a block and moves to the first one.
func (c *cursor) load(block int) error {
	start, before := uint32(0), uint32(math.MaxUint32)
	if c.table != nil {
		start = binary.LittleEndian.Uint32(c.table[block*blockEntry+8:])
		if block > 0 {
			before = c.last(block - 1)
		}
	}
	c.block, c.at, c.read = block, 0, false
	c.n = min(blockLen, c.pages-block*blockLen)
	if int64(start)+2 > int64(len(c.data)) {
		return c.damage(postingsSection, -1)
	}
	wide, tall := int(c.data[start]), int(c.data[start+1])
	rest := c.data[start+2:]
	gaps := packedLen(c.n, wide)
	if wide > 32 || tall > 32 || gaps+packedLen(c.n, tall)+slack > len(rest) {
		return c.damage(postingsSection, -1)
	}
	unpack(c.docs[:c.n], rest, wide)
	page := uint64(before) + 1
	if before == math.MaxUint32 {
		page = 0
	}
	for i, gap := range c.docs[:c.n] {
		page += uint64(gap)
		c.docs[i] = uint32(page)
		page++
	}
	if page > uint64(c.limit) {
		return c.damage(postingsSection, -1)
	}
	c.packed, c.tall = rest[gaps:], tall
	c.page = c.docs[0]
	return nil
}

// next moves to the next page.
func (c *cursor) next() error {
	if c.at++; c.at < c.n {
		c.page = c.docs[c.at]
		return nil
	}
	if c.block+1 == c.blocks {
		c.page = none
		return nil
	}
	return c.load(c.block + 1)
}

// seekBlock returns the first block from the current one on that can hold a
// page, or the number of blocks if there is none.
func (c *cursor) seekBlock(page uint32) int {
	block := c.block
	if c.table == nil || c.last(block) >= page {
		return block
	}
	step := 1
	for block+step < c.blocks && c.last(block+step) < page {
		block += step
		step *= 2
	}
	high := min(block+step, c.blocks)
	for block+1 < high { // last(block) < page, and last(high) >= page or high is the end
		middle := int(uint(block+high) / 2)
		if c.last(middle) < page {
			block = middle
		} else {
			high = middle
		}
	}
	return high
}

// seek moves to the first page that is not before the given one.
func (c *cursor) seek(page uint32) error {
	if c.page >= page {
		return nil
	}
	block := c.seekBlock(page)
	if block == c.blocks {
		c.page = none
		return nil
	}
	if block != c.block {
		if err := c.load(block); err != nil {
			return err
		}
	}
	low, high := c.at, c.n
	for low < high {
		middle := int(uint(low+high) / 2)
		if c.docs[middle] < page {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if c.at = low; low == c.n {
		c.at--
		return c.next()
	}
	c.page = c.docs[low]
	return nil
}

// score is the score of the current page for the word.
func (c *cursor) score(norm float64) float64 {
	if !c.read {
		unpack(c.counts[:c.n], c.packed, c.tall)
		c.read = true
	}
	tf := float64(c.counts[c.at]) + 1
	return c.weight * (tf / (tf + norm))
}
