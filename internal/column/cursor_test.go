package column

import (
	"errors"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pipe/internal/parquetfile"
)

// entry is one value, null or list without elements.
type entry struct {
	state        State
	row, element int
	value        int64
}

// plainly walks the entries of pages one by one, by the levels of the format: the judge of the cursor.
func plainly(l *Leaf, pages []*parquetfile.Page) (all []entry) {
	row, element := -1, 0
	for _, p := range pages {
		values := p.Ints
		for i := range p.Len {
			if p.Rep == nil || p.Rep[i] == 0 {
				row, element = row+1, 0
			}
			e := entry{row: row, element: element}
			def := l.MaxDef
			if p.Def != nil {
				def = int(p.Def[i])
			}
			switch {
			case def == l.MaxDef:
				e.value, values = values[0], values[1:]
			case def >= l.ListDef:
				e.state = Null
			case def == l.ListDef-1:
				e.state = EmptyList
			default:
				e.state = NullList
			}
			if e.state <= Null {
				element++
			}
			all = append(all, e)
		}
	}
	return all
}

// drawPages draws pages of a column, whose lists may have any levels, or a length that most of them share.
func drawPages(t *rapid.T, l *Leaf) (pages []*parquetfile.Page) {
	value, in := int64(0), 0
	width := rapid.IntRange(1, 5).Draw(t, "length")
	odd, null := rapid.IntRange(1, 40).Draw(t, "odd"), rapid.IntRange(1, 40).Draw(t, "null")
	for range rapid.IntRange(0, 4).Draw(t, "pages") {
		p := &parquetfile.Page{Len: rapid.IntRange(0, 90).Draw(t, "entries")}
		for i := range p.Len {
			rep := byte(1)
			if in++; in > width || rapid.IntRange(0, odd).Draw(t, "cut") == 1 {
				rep, in = 0, 1
			}
			if len(pages) == 0 && i == 0 && odd > 3 {
				rep, in = 0, 1
			}
			def := l.MaxDef
			if rapid.IntRange(0, null).Draw(t, "absent") == 1 {
				def = rapid.IntRange(0, l.MaxDef).Draw(t, "def")
			}
			if l.MaxRep > 0 {
				p.Rep = append(p.Rep, rep)
			}
			if l.MaxDef > 0 {
				p.Def = append(p.Def, byte(def))
			}
			if def == l.MaxDef {
				p.Ints = append(p.Ints, value)
				value++
			}
		}
		pages = append(pages, p)
	}
	return pages
}

func drawLeaf(t *rapid.T) *Leaf {
	l := &Leaf{Column: &parquetfile.Column{Kind: parquetfile.Int64}, Name: "c"}
	l.MaxRep, l.MaxDef = rapid.IntRange(0, 1).Draw(t, "rep"), rapid.IntRange(0, 3).Draw(t, "def")
	if l.MaxRep > 0 {
		l.MaxDef = max(l.MaxDef, 1)
		l.ListDef = rapid.IntRange(max(1, l.MaxDef-1), l.MaxDef).Draw(t, "list")
	}
	return l
}

// However runs are cut, they have the entries that a plain walk over the levels finds.
func TestRunsAreTheEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLeaf(t)
		pages := drawPages(t, l)
		want := plainly(l, pages)
		c := NewCursor(l, 0, func() (*parquetfile.Page, error) {
			if len(pages) == 0 {
				return nil, io.EOF
			}
			defer func() { pages = pages[1:] }()
			return pages[0], nil
		})
		c.Width = rapid.IntRange(0, 5).Draw(t, "width")
		most := rapid.IntRange(1, 50).Draw(t, "most")
		var got []entry
		for {
			r, err := c.Next(most)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, entries(r)...)
			row, elements := c.Last()
			last := got[len(got)-1]
			if l.List() && (row != last.row || elements != last.element+min(r.Len, 1)) {
				t.Fatalf("is at %d of row %d after %v", elements, row, last)
			}
			more, err := c.Continues()
			goes := len(got) < len(want) && l.List() && want[len(got)].row == last.row
			if err != nil || more != goes {
				t.Fatalf("continues: %t and %v, want %t", more, err, goes)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// entries are those of a run.
func entries(r Run) (all []entry) {
	if r.Len == 0 {
		return []entry{{state: r.State, row: r.Row, element: r.Element}}
	}
	for i := range r.Len {
		e := entry{state: r.State}
		e.row, e.element = r.Place(i)
		if r.State == Present {
			e.value = r.Ints()[i]
		}
		all = append(all, e)
	}
	return all
}
