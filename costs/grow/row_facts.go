package grow

import (
	"encoding/binary"
	"math"

	"pipe/costs"
	"pipe/internal/textfile"
)

// compareFacts is comparePair for the facts of cell x of a and cell y of b.
func compareFacts(found func(cell), pair int, a *costs.Tensor, x int, b *costs.Tensor, y int) {
	for i := range a.Facts {
		f := &a.Facts[i]
		g := b.Fact(f.Name)
		switch {
		case g == nil || f.Kind() != g.Kind():
		case !f.Category():
			numbers(found, f.Column(), pair, f.Data[x], g.Data[y])
		case f.Text(x) != g.Text(y):
			c := cell{column: f.Column(), at: pair, text: [2]string{quotedOrNull(f.Text(x)), quotedOrNull(g.Text(y))}}
			if f.Text(x) == "" || g.Text(y) == "" {
				c.difference = math.NaN()
			}
			found(c)
		}
	}
}

func quotedOrNull(text string) string {
	if text == "" {
		return "null"
	}
	return textfile.Quoted(text)
}

func (h *rowHash) facts(t *costs.Tensor, n int) {
	a := t.Actions.Len()
	for i := range t.Facts {
		f := &t.Facts[i]
		if !f.Category() {
			h.numbers(f.Data, n, a)
			continue
		}
		for x := n * a; x < (n+1)*a; x++ {
			h.buf = binary.LittleEndian.AppendUint64(h.buf, uint64(len(f.Text(x))))
			h.buf = append(h.buf, f.Text(x)...)
		}
	}
}
