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

// keptGroups is the number of decoded row groups that a reader keeps: one per
// core, since each core may read its own part of the table in small batches,
// and two for batches that cross the border of two groups. With fewer, every
// batch could decode its group again.
var keptGroups = runtime.GOMAXPROCS(0) + 2

// recentGroups are the most recently used row groups.
type recentGroups struct {
	lock  sync.Mutex
	order []*tableGroup // the most recent one last
}

// use records the use of a group and returns a group to drop, or nil.
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

// strided copies the values of one column to its positions in the rows.
type strided struct {
	dst      []float32
	at, step int
	first    int // first row of dst in the table
}

// page copies the values of a page.
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

// eachPage reads the pages of a column in a row group in order. They must have
// as many values as the group has rows.
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

// appendText reads a column of strings, or of integers as decimal strings.
// Consecutive equal strings share their memory, since there are few splits and
// labels.
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
