package costs

import "github.com/parquet-go/parquet-go"

// groupWrite writes one row group, column after column in the order of the
// schema, and keeps the first error.
type groupWrite struct {
	columns []*parquet.ColumnWriter
	column  int
	rows    int
	values  []parquet.Value // scratch
	err     error
}

func (g *groupWrite) text(s []string) {
	g.put(1, false, func(i int) parquet.Value { return textValue(s[i]) })
}

func (g *groupWrite) times(micros []int64) {
	g.put(1, false, func(i int) parquet.Value { return parquet.Int64Value(micros[i]) })
}

// cells writes a list over the pairs. If its elements may be null, NaN is null.
func (g *groupWrite) cells(s []float32, width int, nullable bool) {
	if !nullable {
		g.floats(s, width)
		return
	}
	g.levels(width, func(i int) parquet.Value {
		if s[i] != s[i] {
			return parquet.NullValue().Level(min(1, i%width), 1, g.column)
		}
		return parquet.FloatValue(s[i]).Level(min(1, i%width), 2, g.column)
	})
}

func (g *groupWrite) floats(s []float32, width int) {
	g.put(width, true, func(i int) parquet.Value { return parquet.FloatValue(s[i]) })
}

func textValue(s string) parquet.Value { return parquet.ByteArrayValue([]byte(s)) }

// put writes the next column, width values per row, none of them null.
func (g *groupWrite) put(width int, list bool, at func(i int) parquet.Value) {
	g.levels(width, func(i int) parquet.Value {
		repetition, definition := 0, 0
		if list {
			repetition, definition = min(1, i%width), 1
		}
		return at(i).Level(repetition, definition, g.column)
	})
}

// levels writes the next column from values with their levels. It writes small
// blocks of fixed size. The library may end a page only after a block, so pages
// always end at the same rows.
func (g *groupWrite) levels(width int, at func(i int) parquet.Value) {
	const stepValues = 4096
	step := max(1, stepValues/width)
	for first := 0; first < g.rows && g.err == nil; first += step {
		last := min(g.rows, first+step)
		g.values = g.values[:0]
		for i := first * width; i < last*width; i++ {
			g.values = append(g.values, at(i))
		}
		_, g.err = g.columns[g.column].WriteRowValues(g.values)
	}
	g.column++
}
