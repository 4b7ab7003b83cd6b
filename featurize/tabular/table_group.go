package tabular

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"pipe/internal/dataerror"
	"pipe/internal/parquetfile"
)

// tableGroup is one row group of a table file.
type tableGroup struct {
	number int // in the file
	rows   int
	lock   sync.Mutex // one goroutine decodes, the others wait
	values []float32  // rows x columns, nil unless it is one of the recent groups
}

// keptGroups is how many decoded row groups a reader keeps: one for every core,
// each of which goes through a part of the table in small batches, and two for
// those that lie across the border of groups. With fewer, every batch would
// decode its group again.
var keptGroups = runtime.GOMAXPROCS(0) + 2

// recentGroups are the row groups used last.
type recentGroups struct {
	lock  sync.Mutex
	order []*tableGroup // the latest one last
}

// use notes the use of a group and returns one to be dropped, or nil.
func (r *recentGroups) use(g *tableGroup) (dropped *tableGroup) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if i := slices.Index(r.order, g); i >= 0 {
		r.order = slices.Delete(r.order, i, i+1)
	}
	r.order = append(r.order, g)
	if len(r.order) > keptGroups {
		dropped = r.order[0]
		r.order = slices.Delete(r.order, 0, 1)
	}
	return dropped
}

func (r *recentGroups) drop() {
	for _, g := range r.order {
		g.values = nil
	}
	r.order = nil
}

// groupValues returns the values of a row group, rows x columns.
func (t *TableReader) groupValues(g int) ([]float32, error) {
	group := t.groups[g]
	values, err := group.decoded(t, g)
	if err != nil {
		return nil, err
	}
	if old := t.recent.use(group); old != nil {
		old.lock.Lock()
		old.values = nil
		old.lock.Unlock()
	}
	return values, nil
}

func (g *tableGroup) decoded(t *TableReader, number int) ([]float32, error) {
	g.lock.Lock()
	defer g.lock.Unlock()
	if g.values != nil {
		return g.values, nil
	}
	width := len(t.leaves)
	values := make([]float32, g.rows*width)
	err := dataerror.Guard(t.path, func() error {
		for c, leaf := range t.leaves {
			column := strided{dst: values, at: c, step: width, first: t.first[number]}
			if err := eachPage(t.file, g.number, leaf, column.page); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	g.values = values
	return values, nil
}

// strided takes the values of one column to their places among the rows.
type strided struct {
	dst      []float32
	at, step int
	first    int // row of the table that dst begins with
}

// page takes the values of a page, of which the file has one per row.
func (s *strided) page(c *parquetfile.Column, p *parquetfile.Page) error {
	next := 0
	for i := range p.Len {
		v := nan32
		if p.Def == nil || int(p.Def[i]) == c.MaxDef {
			if c.Kind == parquetfile.Double {
				v = float32(p.Doubles[next])
			} else {
				v = p.Floats[next]
			}
			next++
		}
		if math.IsInf(float64(v), 0) {
			return &DataError{Row: s.first + s.at/s.step + 1, Column: c.Name, Msg: fmt.Sprintf("is %v; it must be finite", v)}
		}
		s.dst[s.at] = v
		s.at += s.step
	}
	return nil
}

// eachPage reads the pages of a column in a row group one after the other. They
// have as many values as the group has rows.
func eachPage(file *parquetfile.File, group int, c *parquetfile.Column, use func(*parquetfile.Column, *parquetfile.Page) error) error {
	pages, err := file.Pages(group, c)
	for err == nil {
		var page *parquetfile.Page
		if page, err = pages.Next(); err == nil {
			err = use(c, page)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return parquetfile.InColumn(c.Name, err)
}

// appendText reads a text column, or one of integers as decimal text. Equal
// texts in a row share their memory: splits and labels are few.
func (t *TableReader) appendText(dst []string, group int, leaf *parquetfile.Column) ([]string, error) {
	known := map[string]string{}
	err := eachPage(t.file, group, leaf, func(c *parquetfile.Column, p *parquetfile.Page) error {
		next := 0
		for i := range p.Len {
			text := ""
			if p.Def == nil || int(p.Def[i]) == c.MaxDef {
				text = p.Text(next)
				next++
				if err := checkText(len(dst)+1, c.Name, text); err != nil {
					return err
				}
			} else if c.Name != columnLabel {
				return &DataError{Row: len(dst) + 1, Column: c.Name, Msg: "is null"}
			}
			if c.Name != columnID {
				if _, again := known[text]; !again {
					known[strings.Clone(text)] = strings.Clone(text)
				}
				text = known[text]
			}
			dst = append(dst, text)
		}
		return nil
	})
	return dst, err
}
