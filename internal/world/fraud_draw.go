package world

import (
	"math"
	"math/rand/v2"
	"strconv"
)

// draws is the random stream of one row in one file. It depends only on seed, row and file, so rows can be generated in
// any order by any worker.
type draws struct {
	src  rand.PCG
	left uint64 // bytes not yet used
	n    int    // number of bytes left
}

// The streams of a row.
const (
	streamTransaction = iota
	streamIdentity
)

func (d *draws) start(seed, row, stream uint64) {
	d.src.Seed(seed, row<<1|stream)
	d.n = 0
}

// uniform is from [0, 1).
func (d *draws) uniform() float64 { return float64(d.src.Uint64()>>11) / (1 << 53) }

func (d *draws) is(p float64) bool { return d.uniform() < p }

// below is one of 0 .. n-1.
func (d *draws) below(n int) int { return int(d.uniform() * float64(n)) }

// geometric counts failures; mean is its mean.
func (d *draws) geometric(mean float64) int {
	return int(math.Log1p(-d.uniform()) / math.Log(mean/(1+mean)))
}

func (d *draws) byte() byte {
	if d.n == 0 {
		d.left, d.n = d.src.Uint64(), 8
	}
	b := byte(d.left)
	d.left >>= 8
	d.n--
	return b
}

// a palette is a distribution over spellings, in 256 equal parts: one byte picks.
type palette [256]string

// shade is a spelling and its share.
type shade struct {
	text  string
	share float64
}

// newPalette gives every shade its share of the parts, at least one; the last shade takes the rest.
func newPalette(shades ...shade) *palette {
	p, at := new(palette), 0
	for i, s := range shades {
		parts := max(1, int(math.Round(256*s.share)))
		if i == len(shades)-1 {
			parts = len(p)
		}
		for ; parts > 0 && at < len(p); parts-- {
			p[at] = s.text
			at++
		}
	}
	return p
}

// equally is the palette that gives every string the same share.
func equally(texts ...string) *palette {
	var p palette
	for i := range p {
		p[i] = texts[i*len(texts)/len(p)]
	}
	return &p
}

func (p *palette) pick(d *draws) string { return p[d.byte()] }

// addText starts the next field of a row with a string.
func addText(b []byte, text string) []byte {
	b = append(b, ',')
	return append(b, text...)
}

// addWhole appends an integer in the spelling that the original has for its floating point columns: 545.0.
func addWhole(b []byte, v int) []byte {
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(v), 10)
	return append(b, ".0"...)
}

// addDecimal appends a number with the fewest digits that reproduce it, and at least one decimal.
func addDecimal(b []byte, v float64) []byte {
	b = append(b, ',')
	start := len(b)
	b = strconv.AppendFloat(b, v, 'f', -1, 64)
	for _, c := range b[start:] {
		if c == '.' {
			return b
		}
	}
	return append(b, ".0"...)
}

// addSingle appends a number that was rounded to single precision before printing, like many in the original.
func addSingle(b []byte, v float64) []byte { return addDecimal(b, float64(float32(v))) }
