package featurize

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/parquet-go/parquet-go"
)

// tableGroup is one row group of a table file.
type tableGroup struct {
	chunks []parquet.ColumnChunk
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
	err := t.guarded(func() error {
		for c, leaf := range t.leaves {
			column := strided{dst: values, at: c, step: width}
			if err := column.read(g.chunks[leaf]); err != nil {
				return &DataError{Row: t.first[number] + 1, Column: t.encoder.fitted.Columns[c].Name, Msg: "the file is damaged", Err: err}
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
}

// read takes all values of a chunk, of which there must be one per row.
func (s *strided) read(chunk parquet.ColumnChunk) error {
	if err := eachPage(chunk, s.page); err != nil {
		return err
	}
	if s.at < len(s.dst) {
		return fmt.Errorf("%d values are missing", (len(s.dst)-s.at+s.step-1)/s.step)
	}
	return nil
}

func (s *strided) put(v float32) error {
	switch {
	case s.at >= len(s.dst):
		return errors.New("there are more values than rows")
	case math.IsInf(float64(v), 0):
		return fmt.Errorf("%v is no value", v)
	}
	s.dst[s.at] = v
	s.at += s.step
	return nil
}

func (s *strided) page(p parquet.Page) error {
	if plain := p.Dictionary() == nil && p.Type().Kind() == parquet.Float && len(p.DefinitionLevels()) == 0; plain {
		data := p.Data()
		for _, v := range data.Float() {
			if err := s.put(v); err != nil {
				return err
			}
		}
		return nil
	}
	return eachValue(p, func(v parquet.Value) error {
		switch {
		case v.IsNull():
			return s.put(nan32)
		case v.Kind() == parquet.Double:
			return s.put(float32(v.Double()))
		}
		return s.put(v.Float())
	})
}

// eachPage reads the pages of a chunk one after the other.
func eachPage(chunk parquet.ColumnChunk, use func(parquet.Page) error) error {
	pages := chunk.Pages()
	defer pages.Close()
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = use(page)
		parquet.Release(page)
		if err != nil {
			return err
		}
	}
}

// eachValue reads a page value by value, nulls included.
func eachValue(p parquet.Page, use func(parquet.Value) error) error {
	values := p.Values()
	var buffer [256]parquet.Value
	for {
		n, err := values.ReadValues(buffer[:])
		for _, v := range buffer[:n] {
			if err := use(v); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrNoProgress
		}
	}
}

// appendText reads a text column. Equal texts in a row share their memory:
// splits and labels are few.
func appendText(dst []string, chunk parquet.ColumnChunk, name string) ([]string, error) {
	known := map[string]string{}
	err := eachPage(chunk, func(p parquet.Page) error {
		return eachValue(p, func(v parquet.Value) error {
			if v.IsNull() && name != columnLabel {
				return fmt.Errorf("row %d is null", len(dst)+1)
			}
			text, again := known[string(v.ByteArray())]
			if !again {
				text = string(v.ByteArray())
				if name != columnID {
					known[text] = text
				}
			}
			dst = append(dst, text)
			return nil
		})
	})
	if err != nil {
		return nil, &DataError{Column: name, Msg: "cannot be read", Err: err}
	}
	return dst, nil
}
