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
	"unicode/utf8"

	"pipe/internal/column"
	"pipe/internal/dataerror"
	"pipe/internal/textfile"
)

// tableGroup is one row group of a table file.
type tableGroup struct {
	column.Group
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
	values, err := group.decoded(t)
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

func (g *tableGroup) decoded(t *TableReader) ([]float32, error) {
	g.lock.Lock()
	defer g.lock.Unlock()
	if g.values != nil {
		return g.values, nil
	}
	values := make([]float32, g.Rows*len(t.leaves))
	err := dataerror.Guard(t.path.String(), func() error {
		for c, leaf := range t.leaves {
			if err := copyColumn(values[c:], len(t.leaves), g.Cursor(leaf)); err != nil {
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

// copyColumn copies the values of a column, NaN for nulls, to the first of every
// step elements of dst.
func copyColumn(dst []float32, step int, from *column.Cursor) error {
	var block [1 << 10]float32
	for {
		run, err := from.Next(len(block))
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		run.CopyFloats(block[:])
		for i, v := range block[:run.Len] {
			if math.IsInf(float64(v), 0) {
				return from.Error(run, i, fmt.Errorf("is %v; it must be finite", v))
			}
			dst[(run.Row+i)*step] = v
		}
	}
}

// appendText reads a column of strings, or of integers as decimal strings.
// Consecutive equal strings share their memory, since there are few splits and
// labels.
func (t *TableReader) appendText(dst []string, group column.Group, leaf *column.Leaf) ([]string, error) {
	known := map[string]string{}
	cursor := group.Cursor(leaf)
	for run, err := range cursor.Runs() {
		if err != nil {
			return nil, err
		}
		for i := range run.Len {
			text := ""
			switch {
			case run.State == column.Present:
				text = run.Text(i)
			case leaf.Name != columnLabel:
				return nil, cursor.Error(run, i, errors.New("is null"))
			}
			if !utf8.ValidString(text) {
				return nil, cursor.Error(run, i, fmt.Errorf("%q is not valid UTF-8", textfile.Short(text)))
			}
			if leaf.Name != columnID {
				if _, again := known[text]; !again {
					known[strings.Clone(text)] = strings.Clone(text)
				}
				text = known[text]
			}
			dst = append(dst, text)
		}
	}
	return dst, nil
}
