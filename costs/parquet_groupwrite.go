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
	valuesOrNull(g, s, width, parquet.FloatValue)
}

// valuesOrNull writes a list of width numbers per row, NaN as null.
func valuesOrNull[T float32 | float64](g *groupWrite, s []T, width int, value func(T) parquet.Value) {
	g.orNull(width, func(i int) (parquet.Value, bool) { return value(s[i]), s[i] == s[i] })
}

// textsOrNull writes a list of width texts per row, an empty one as null.
func (g *groupWrite) textsOrNull(s []string, width int) {
	g.orNull(width, func(i int) (parquet.Value, bool) { return textValue(s[i]), s[i] != "" })
}

func (g *groupWrite) orNull(width int, at func(i int) (v parquet.Value, known bool)) {
	g.blocks(width, func(first, last int) {
		for i := first; i < last; i++ {
			v, known := at(i)
			definition := 2
			if !known {
				v, definition = parquet.NullValue(), 1
			}
			g.values = append(g.values, v.Level(min(1, i%width), definition, g.column))
		}
	})
}

// floats writes a list of width numbers per row.
func (g *groupWrite) floats(s []float32, width int) {
	g.blocks(width, func(first, last int) {
		for ; first < last; first += width {
			g.values = append(g.values, parquet.FloatValue(s[first]).Level(0, 1, g.column))
			for _, v := range s[first+1 : first+width] {
				g.values = append(g.values, parquet.FloatValue(v).Level(1, 1, g.column))
			}
		}
	})
}

func textValue(s string) parquet.Value { return parquet.ByteArrayValue([]byte(s)) }

// put writes the next column, width values per row, none of them null.
func (g *groupWrite) put(width int, list bool, at func(i int) parquet.Value) {
	g.blocks(width, func(first, last int) {
		for i := first; i < last; i++ {
			repetition, definition := 0, 0
			if list {
				repetition, definition = min(1, i%width), 1
			}
			g.values = append(g.values, at(i).Level(repetition, definition, g.column))
		}
	})
}

// blocks writes the next column. add appends values first to last-1, with their levels: a small block of whole rows, of
// fixed size. The library may end a page only after a block, so pages always end at the same rows.
func (g *groupWrite) blocks(width int, add func(first, last int)) {
	const stepValues = 4096
	step := max(1, stepValues/width)
	for first := 0; first < g.rows && g.err == nil; first += step {
		g.values = g.values[:0]
		add(first*width, min(g.rows, first+step)*width)
		_, g.err = g.columns[g.column].WriteRowValues(g.values)
	}
	g.column++
}
