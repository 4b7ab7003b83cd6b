package grow

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"

	"pipe/costs"
	"pipe/internal/textfile"
)

// cell is a value that two rows with the same id do not share.
type cell struct {
	column     string // without the position in a list
	at         int    // position in the list, -1 in a column without lists
	text       [2]string
	number     [2]float64 // in a column of numbers, which has no texts
	difference float64    // of two numbers, or of two times in seconds, absolute; NaN if one of them is unknown; 0 for texts
}

// firstCell keeps the first of the cells that it notes.
type firstCell struct{ cell *cell }

func (f *firstCell) note(c cell) {
	if f.cell == nil {
		f.cell = &c
	}
}

// name returns the column with the position in its list.
func (c *cell) name() string {
	if c.at < 0 {
		return c.column
	}
	return fmt.Sprintf("%s[%d]", c.column, c.at)
}

// values returns the value of the first row and that of the second.
func (c *cell) values() (a, b string) {
	if c.text != [2]string{} {
		return c.text[0], c.text[1]
	}
	if c.column == propensity {
		return fmt.Sprint(c.number[0]), fmt.Sprint(c.number[1])
	}
	return fmt.Sprint(float32(c.number[0])), fmt.Sprint(float32(c.number[1]))
}

// compareInstance calls found for every value that differs between row i of a
// and row j of b, in the columns that do not depend on a pair and that both
// have. Features are compared if they have the same length.
func compareInstance(a *costs.Tensor, i int, b *costs.Tensor, j int, found func(cell)) {
	texts(found, "split", -1, a.Splits[i].String(), b.Splits[j].String())
	if a.Groups != nil && b.Groups != nil {
		texts(found, "group", -1, a.Groups[i], b.Groups[j])
	}
	if a.Times != nil && b.Times != nil && a.Times[i] != b.Times[j] {
		x, y := a.Times[i], b.Times[j]
		found(cell{column: "time", at: -1, text: [2]string{costs.TimeText(x), costs.TimeText(y)}, difference: math.Abs(float64(x)-float64(y)) / 1e6})
	}
	if a.Labels != nil && b.Labels != nil {
		texts(found, "label", -1, a.Labels[i], b.Labels[j])
	}
	if a.Dim != b.Dim {
		return
	}
	y := b.Row(j)
	for k, x := range a.Row(i) {
		numbers(found, "features", k, x, y[k])
	}
}

// comparePair does the same for the columns of pair p in a and pair q in b.
func comparePair(a *costs.Tensor, i, p int, b *costs.Tensor, j, q int, found func(cell)) {
	x, y := i*a.Actions.Len()+p, j*b.Actions.Len()+q
	numbers(found, "loss", p, a.Loss[x], b.Loss[y])
	if a.Fee != nil && b.Fee != nil {
		numbers(found, "fee", p, a.Fee[x], b.Fee[y])
	}
	for q := range costs.Quantities {
		if a.Usage[q] != nil && b.Usage[q] != nil {
			numbers(found, q.String(), p, a.Usage[q][x], b.Usage[q][y])
		}
	}
	if a.Propensity != nil && b.Propensity != nil {
		numbers(found, propensity, p, a.Propensity[x], b.Propensity[y])
	}
	if a.Predictions != nil && b.Predictions != nil {
		texts(found, "prediction", p, a.Predictions[x], b.Predictions[y])
	}
	compareFacts(found, p, a, x, b, y)
}

func texts(found func(cell), column string, at int, a, b string) {
	if a != b {
		found(cell{column: column, at: at, text: [2]string{textfile.Quoted(a), textfile.Quoted(b)}})
	}
}

func numbers[T float32 | float64](found func(cell), column string, at int, a, b T) {
	if a == b || a != a && b != b {
		return
	}
	found(cell{column: column, at: at, number: [2]float64{float64(a), float64(b)}, difference: math.Abs(float64(a) - float64(b))})
}

// rowHash hashes the content of a row. Rows in which compareInstance and
// comparePair find no difference have equal hashes.
type rowHash struct {
	seed maphash.Seed
	buf  []byte
}

func (h *rowHash) of(t *costs.Tensor, n int) uint64 {
	h.buf = append(h.buf[:0], byte(t.Splits[n]))
	a := t.Actions.Len()
	h.texts(t.Groups, n, 1)
	if t.Times != nil {
		h.buf = binary.LittleEndian.AppendUint64(h.buf, uint64(t.Times[n]))
	}
	h.texts(t.Labels, n, 1)
	h.texts(t.Predictions, n, a)
	h.numbers(t.Features, n, t.Dim)
	h.numbers(t.Loss, n, a)
	h.numbers(t.Fee, n, a)
	for _, values := range t.Usage {
		h.numbers(values, n, a)
	}
	if t.Propensity != nil {
		h.doubles(t.Propensities(n))
	}
	h.facts(t, n)
	return maphash.Bytes(h.seed, h.buf)
}

func (h *rowHash) texts(all []string, n, width int) {
	if all == nil {
		return
	}
	for _, s := range all[n*width : (n+1)*width] {
		h.buf = binary.LittleEndian.AppendUint64(h.buf, uint64(len(s)))
		h.buf = append(h.buf, s...)
	}
}

func (h *rowHash) numbers(all []float32, n, width int) {
	if all == nil {
		return
	}
	for _, v := range all[n*width : (n+1)*width] {
		switch {
		case v == 0:
			v = 0 // not the negative one
		case v != v:
			v = float32(math.NaN()) // any NaN
		}
		h.buf = binary.LittleEndian.AppendUint32(h.buf, math.Float32bits(v))
	}
}

func (h *rowHash) doubles(all []float64) {
	for _, v := range all {
		switch {
		case v == 0:
			v = 0 // not the negative one
		case v != v:
			v = math.NaN() // any NaN
		}
		h.buf = binary.LittleEndian.AppendUint64(h.buf, math.Float64bits(v))
	}
}
