package world

import (
	"fmt"
	"math"
	"strings"
	"sync"
)

// The bands of D11: uniform over 400 days, it reads 1 in [50, 150) and [250, 350). A tree can find the bands; a linear
// trend over them is zero.
const (
	bandWidth = 100
	bandDays  = 400
)

// bandOf is the reading that a value of D11 encodes.
func bandOf(days int) int { return (days + bandWidth/2) / bandWidth % 2 }

// drawBand is a value of D11 that encodes a reading, uniform over its two bands.
func (r *fraudRow) drawBand(reading int) int {
	days := r.below(bandDays/2) - bandWidth/2
	if days >= bandWidth/2 {
		days += bandWidth // over the band of ones
	}
	return (days + reading*bandWidth + bandDays) % bandDays
}

// dayColumns are the columns D1 to D15: share of zeros, and share of rows that have one with product W and with others.
var dayColumns = [15]struct{ zero, w, other float64 }{
	{0.5, 0.999, 0.999},
	{0.05, 0.5, 0.5},
	{0.23, 0.53, 0.5},
	{0.41, 0.7, 0.68},
	{0.24, 0.45, 0.45},
	{0.67, 0, 0.49},
	{0.54, 0, 0.24},
	{},
	{},
	{0.45, 0.85, 0.84},
	{},
	{0.69, 0, 0.44},
	{0.81, 0, 0.41},
	{0.76, 0, 0.42},
	{0.36, 0.83, 0.83},
}

const (
	indexD8  = 7
	indexD9  = 8
	indexD11 = 10
)

// appendDays appends D1 to D15, days since something; D8 counts in hours, D9 is its hour of the day, and D11 is the
// reading of the cell payment.
func (r *fraudRow) appendDays(b []byte) []byte {
	w := r.product == "W"
	for i, c := range dayColumns {
		switch i {
		case indexD8:
			b = r.appendHours(b, !w && r.is(0.56))
		case indexD9: // present with D8
		case indexD11:
			b = r.appendBand(b)
		default:
			b = r.appendDay(b, w && r.is(c.w) || !w && r.is(c.other), c.zero)
		}
	}
	return b
}

func (r *fraudRow) appendDay(b []byte, there bool, zero float64) []byte {
	switch {
	case !there:
		return append(b, ',')
	case r.is(zero):
		return append(b, ",0.0"...)
	}
	u := r.uniform()
	return addWhole(b, 1+int(640*u*u*u))
}

// appendHours appends D8 and D9, cut to six decimals and rounded to single precision like the original's.
func (r *fraudRow) appendHours(b []byte, there bool) []byte {
	if !there {
		return append(b, ",,"...)
	}
	hours := int(math.Exp(10.2 * r.uniform()))
	six := func(hours int) float64 { return math.Floor(1e6*float64(hours)/24) / 1e6 }
	b = addSingle(b, six(hours))
	return addSingle(b, six(hours%24))
}

func (r *fraudRow) appendBand(b []byte) []byte {
	if r.cell != cellPayment && r.cell != cellNothing {
		return append(b, ',')
	}
	return addWhole(b, r.drawBand(r.read(errBand)))
}

// vKind is how the values of a V column are spread.
type vKind int

const (
	vFlag  vKind = iota // 0 and 1, rarely more
	vOnes               // 1, sometimes more
	vCount              // counts with a tail
	vSum                // sums of money with a tail
)

// vSpan is a run of V columns with the same spread; zero is their share of zeros.
type vSpan struct {
	to   int // last column
	kind vKind
	zero float64
}

// vBlock is a run of V columns that are missing together.
type vBlock struct {
	w, c, other float64 // share of rows that have it, by product
	spans       []vSpan
}

// vBlocks are V1 to V339.
var vBlocks = []vBlock{
	{0.51, 0, 0, []vSpan{{9, vOnes, 0.04}, {11, vFlag, 0.48}}},
	{1, 1, 0.08, []vSpan{
		{13, vFlag, 0.47},
		{14, vOnes, 0},
		{18, vFlag, 0.87},
		{20, vOnes, 0.2},
		{22, vFlag, 0.88},
		{26, vOnes, 0},
		{28, vFlag, 0.998},
		{30, vFlag, 0.56},
		{34, vFlag, 0.87},
	}},
	{0.77, 1, 0.07, []vSpan{
		{36, vFlag, 0.51}, {38, vOnes, 0}, {40, vFlag, 0.85}, {41, vOnes, 0}, {43, vFlag, 0.85}, {47, vOnes, 0}, {49, vFlag, 0.6}, {52, vFlag, 0.84},
	}},
	{1, 1, 0.06, []vSpan{
		{54, vFlag, 0.45},
		{56, vOnes, 0},
		{60, vFlag, 0.87},
		{62, vOnes, 0.19},
		{64, vFlag, 0.88},
		{67, vOnes, 0},
		{68, vFlag, 0.998},
		{70, vFlag, 0.56},
		{74, vFlag, 0.87},
	}},
	{1, 1, 0.1, []vSpan{
		{76, vFlag, 0.5},
		{78, vOnes, 0},
		{81, vFlag, 0.87},
		{83, vOnes, 0.2},
		{85, vFlag, 0.87},
		{88, vOnes, 0},
		{89, vFlag, 0.998},
		{91, vFlag, 0.56},
		{94, vFlag, 0.86},
	}},
	{1, 1, 1, []vSpan{{97, vCount, 0.8}, {98, vFlag, 0.97}, {99, vCount, 0.75}, {106, vCount, 0.93}, {125, vOnes, 0}, {128, vSum, 0.8}, {137, vSum, 0.93}}},
	{0, 0, 1, []vSpan{
		{138, vFlag, 0.99},
		{140, vCount, 0.55},
		{142, vFlag, 0.97},
		{145, vCount, 0.47},
		{147, vFlag, 0.92},
		{149, vFlag, 0.55},
		{152, vCount, 0.02},
		{158, vFlag, 0.55},
		{160, vSum, 0.5},
		{163, vSum, 0.97},
		{166, vSum, 0.5},
	}},
	{0, 0.78, 0.97, []vSpan{{168, vCount, 0.8}, {169, vFlag, 0.95}, {171, vOnes, 0.08}, {175, vFlag, 0.93}, {176, vOnes, 0}, {185, vCount, 0.9}, {201, vOnes, 0.05}, {204, vSum, 0.78}, {216, vSum, 0.92}}},
	{0, 0.77, 1, []vSpan{{219, vCount, 0.78}, {220, vFlag, 0.95}, {222, vOnes, 0.15}, {227, vFlag, 0.93}, {230, vOnes, 0}, {239, vCount, 0.88}, {262, vOnes, 0.05}, {265, vSum, 0.78}, {278, vSum, 0.92}}},
	{1, 1, 1, []vSpan{
		{280, vCount, 0.8},
		{281, vFlag, 0.96},
		{283, vOnes, 0.41},
		{284, vFlag, 0.93},
		{285, vCount, 0.61},
		{289, vCount, 0.87},
		{292, vOnes, 0},
		{301, vCount, 0.92},
		{304, vFlag, 0.78},
		{305, vOnes, 0},
		{308, vSum, 0.71},
		{321, vSum, 0.88},
	}},
	{0, 0, 1, []vSpan{{324, vCount, 0.8}, {330, vCount, 0.88}, {333, vSum, 0.8}, {339, vSum, 0.88}}},
}

// vDraw is a block ready to draw: a palette per column, for quiet and for busy rows.
type vDraw struct {
	w, c, other float64
	columns     [][2]*palette
	gap         string // the commas of rows without the block
}

// vDraws is made for the first row, because it takes longer than all else that happens when a program with this package starts.
var vDraws = sync.OnceValue(func() []vDraw { return prepareV(vBlocks) })

func prepareV(blocks []vBlock) []vDraw {
	var out []vDraw
	at := 1
	for _, block := range blocks {
		d := vDraw{w: block.w, c: block.c, other: block.other}
		for _, s := range block.spans {
			pair := [2]*palette{s.palette(s.zero), s.palette(s.zero * s.zero * s.zero)}
			for ; at <= s.to; at++ {
				d.columns = append(d.columns, pair)
			}
		}
		d.gap = strings.Repeat(",", len(d.columns))
		out = append(out, d)
	}
	return out
}

// palette distributes the span's values with a share of zeros; it includes the comma before the value.
func (s vSpan) palette(zero float64) *palette {
	var p palette
	zeros := int(math.Round(zero * float64(len(p))))
	for i := range p {
		p[i] = ",0.0"
		if i >= zeros {
			u := (float64(i-zeros) + 0.5) / float64(len(p)-zeros)
			p[i] = s.spell(u)
		}
	}
	return &p
}

// spell is the value at quantile u of the nonzero values.
func (s vSpan) spell(u float64) string {
	tail := -math.Log1p(-u)
	switch s.kind {
	case vFlag, vOnes:
		return fmt.Sprintf(",%d.0", 1+int(tail/3.2))
	case vCount:
		return fmt.Sprintf(",%d.0", 1+int(1.5*tail*tail))
	}
	return string(addSingle(nil, math.Round(100*(5+60*tail*tail))/100))
}

// appendV appends V1 to V339.
func (r *fraudRow) appendV(b []byte) []byte {
	blocks := vDraws()
	for i := range blocks {
		v := &blocks[i]
		share := v.other
		switch r.product {
		case "W":
			share = v.w
		case "C":
			share = v.c
		}
		if !r.is(share) {
			b = append(b, v.gap...)
			continue
		}
		busy := 0
		if r.is(0.1) {
			busy = 1
		}
		for _, pair := range v.columns {
			b = append(b, pair[busy][r.byte()]...)
		}
	}
	return b
}
