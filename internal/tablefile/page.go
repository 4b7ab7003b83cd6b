package tablefile

import (
	"fmt"
	"math"
	"unicode/utf8"

	"pipe/internal/parquetfile"
	"pipe/internal/textfile"
)

// page is a page of a column of a Parquet file, prepared for access by row.
type page struct {
	parquetfile.Page
	group  int
	column *parquetfile.Column
	places []int32 // of the values of the rows, -1 where a row has none; nil if every row has one
	codes  []int32 // of strings in a dictionary, -1 where a row has none or an empty one; nil without a dictionary
	bad    int     // the first row with a string that is not UTF-8; Len if there is none

	placed, coded []int32             // memory of places and codes
	checked       *parquetfile.Values // the dictionary that was searched for the following
	empty         int32               // place of the empty string in it, -1 if it has none
	valid         bool                // all of its strings are UTF-8
}

// prepare is called after the page was read.
func (p *page) prepare() {
	p.places, p.codes, p.bad = p.placed[:0], nil, p.Len
	if p.Count() == p.Len || p.column.MaxRep > 0 {
		p.places = nil
	} else {
		p.place()
	}
	if p.column.Kind != parquetfile.ByteArray || p.column.MaxRep > 0 {
		return
	}
	dict, index := p.Dictionary()
	if dict == nil {
		p.findBad(func(int) bool { return true })
		return
	}
	p.search(dict)
	p.code(index)
	if !p.valid {
		p.findBad(func(row int) bool { return p.codes[row] >= 0 })
	}
}

// place finds the values of the rows.
func (p *page) place() {
	next := int32(0)
	for _, def := range p.Def {
		if int(def) < p.column.MaxDef {
			p.places = append(p.places, -1)
			continue
		}
		p.places = append(p.places, next)
		next++
	}
	p.placed = p.places
}

// search looks for special strings in a dictionary, once for all of its pages.
func (p *page) search(dict *parquetfile.Values) {
	if p.checked == dict {
		return
	}
	p.checked, p.empty, p.valid = dict, -1, true
	for i := range dict.Count() {
		text := dict.Text(i)
		if text == "" {
			p.empty = int32(i)
		}
		p.valid = p.valid && acceptable(p.column, text)
	}
}

// acceptable reports whether a string may be in a column.
func acceptable(c *parquetfile.Column, text string) bool {
	return c.Meaning != parquetfile.Text || utf8.ValidString(text)
}

// code finds the places of the rows in the dictionary.
func (p *page) code(index []int32) {
	if p.places == nil && p.empty < 0 {
		p.codes = index
		return
	}
	p.coded = p.coded[:0]
	for row := range p.Len {
		at := p.at(row)
		if at >= 0 {
			if at = int(index[at]); at == int(p.empty) {
				at = -1
			}
		}
		p.coded = append(p.coded, int32(at))
	}
	p.codes = p.coded
}

func (p *page) findBad(look func(row int) bool) {
	for row := range p.Len {
		if at := p.at(row); at >= 0 && look(row) && !acceptable(p.column, p.Text(at)) {
			p.bad = row
			return
		}
	}
}

// at is the place of the value of a row, -1 for a null.
func (p *page) at(row int) int {
	if p.places != nil {
		return int(p.places[row])
	}
	return row
}

func (p *page) missing(row int) bool {
	if p.codes != nil {
		return p.codes[row] < 0
	}
	at := p.at(row)
	return at < 0 || p.column.Kind == parquetfile.ByteArray && p.Text(at) == ""
}

// text returns the string of a row, "" for a null.
func (p *page) text(row int) string {
	if at := p.at(row); at >= 0 {
		return p.Text(at)
	}
	return ""
}

// number returns the number of a row; ok is false if the column has other values, or the row none.
func (p *page) number(row int) (v float64, ok bool) {
	at := p.at(row)
	if at < 0 || isTime(p.column) {
		return 0, false
	}
	switch p.column.Kind {
	case parquetfile.Float:
		return float64(p.Floats[at]), true
	case parquetfile.Double:
		return p.Doubles[at], true
	case parquetfile.Int64:
		if v := p.Ints[at]; v >= 0 || p.column.Meaning != parquetfile.Unsigned {
			return float64(v), true
		}
		return float64(uint64(p.Ints[at])), true
	case parquetfile.Int32:
		return float64(p.Ints[at]), true
	}
	return 0, false
}

// flag returns a number in [0, 1] or a boolean.
func (p *page) flag(row int) (v float64, ok bool) {
	if at := p.at(row); at >= 0 && p.column.Kind == parquetfile.Boolean {
		return float64(p.Ints[at]), true
	}
	v, ok = p.number(row)
	return v, ok && v >= 0 && v <= 1
}

func inFloat32(v float64) bool { return math.Abs(v) <= math.MaxFloat32 } // false for NaN

// same reports whether two rows have the same text or integer.
func (p *page) same(row, other int) bool {
	if p.codes != nil {
		return p.codes[row] == p.codes[other]
	}
	a, b := p.at(row), p.at(other)
	if a < 0 || b < 0 {
		return false
	}
	switch p.column.Kind {
	case parquetfile.ByteArray:
		return p.Text(a) == p.Text(b)
	case parquetfile.Int32, parquetfile.Int64, parquetfile.Int96:
		return p.Ints[a] == p.Ints[b]
	}
	return false
}

func (p *page) cell(row int) Cell {
	at := p.at(row)
	if at < 0 {
		return Cell{}
	}
	return valueCell(p.column, &p.Values, at)
}

// valueCell returns a value of a column as a cell.
func valueCell(c *parquetfile.Column, v *parquetfile.Values, at int) Cell {
	if isTime(c) {
		return timeCell(c, v.Ints[at])
	}
	switch c.Kind {
	case parquetfile.Boolean:
		return Cell{kind: textCell, text: map[int64]string{0: "false", 1: "true"}[v.Ints[at]]}
	case parquetfile.Int32:
		return Cell{kind: numberCell, num: float64(v.Ints[at])}
	case parquetfile.Float:
		return Cell{kind: numberCell, num: float64(v.Floats[at])}
	case parquetfile.Double:
		return Cell{kind: numberCell, num: v.Doubles[at]}
	}
	text := v.Text(at)
	if text == "" {
		return Cell{}
	}
	return Cell{kind: textCell, text: text}
}

func notUTF8(text string) error { return fmt.Errorf("%s is not valid UTF-8", textfile.Quoted(text)) }
