package column

import (
	"math"

	"pipe/internal/parquetfile"
)

// State says what a run is.
type State uint8

// The states. The last two are of one row.
const (
	Present   State = iota // values
	Null                   // single values or elements of a list that are null
	EmptyList              // a list without elements
	NullList               // no list
)

// Run is consecutive values of a column, or nulls in their place.
type Run struct {
	State   State
	Len     int // values or nulls; 0 for a list without elements
	Row     int // of the first value in the row group, from 0; -1 if the group begins inside a list
	Element int // number of the first value in its list, from 0
	width   int // values per row
	page    *parquetfile.Page
	at      int // of the first value among those of the page
}

// Place returns the row of value i in the row group, and its place in the list.
func (r Run) Place(i int) (row, element int) {
	at := r.Element + i
	return r.Row + at/r.width, at % r.width
}

// Values returns the values of the page, and the place of the first one of the run among them.
func (r Run) Values() (all *parquetfile.Values, at int) { return &r.page.Values, r.at }

// Text returns value i of a column of strings, or of integers in decimal.
func (r Run) Text(i int) string { return r.page.Text(r.at + i) }

// Ints returns the values of a column of integers or booleans.
func (r Run) Ints() []int64 { return r.page.Ints[r.at : r.at+r.Len] }

// Doubles returns the values of a column of float64.
func (r Run) Doubles() []float64 { return r.page.Doubles[r.at : r.at+r.Len] }

// Floats returns the values of a column of float32.
func (r Run) Floats() []float32 { return r.page.Floats[r.at : r.at+r.Len] }

// CopyFloats writes the values of a column of float32 or float64 to dst, which has room for them, and NaN for nulls. A
// finite float64 beyond the range of float32 becomes an infinity.
func (r Run) CopyFloats(dst []float32) {
	switch {
	case r.State != Present:
		for i := range r.Len {
			dst[i] = float32(math.NaN())
		}
	case len(r.page.Doubles) > 0:
		for i, v := range r.Doubles() {
			dst[i] = float32(v)
		}
	default:
		copy(dst, r.Floats())
	}
}

// CopyDoubles is CopyFloats without narrowing.
func (r Run) CopyDoubles(dst []float64) {
	switch {
	case r.State != Present:
		for i := range r.Len {
			dst[i] = math.NaN()
		}
	case len(r.page.Doubles) > 0:
		copy(dst, r.Doubles())
	default:
		for i, v := range r.Floats() {
			dst[i] = float64(v)
		}
	}
}
