package lexical

import (
	"context"
	"maps"
	"slices"

	"pipe/internal/parallel"
)

// matrix is a sparse matrix by rows (compressed sparse row).
type matrix struct {
	rows, columns int
	from          []int   // rows + 1: where the values of a row begin
	column        []int32 // of each value, rising in a row
	value         []float64
}

// newMatrix makes a matrix of rows of values by column.
func newMatrix(rows []map[int32]float64, columns int) matrix {
	m := matrix{rows: len(rows), columns: columns, from: make([]int, 1, len(rows)+1)}
	for _, row := range rows {
		for _, c := range slices.Sorted(maps.Keys(row)) {
			m.column, m.value = append(m.column, c), append(m.value, row[c])
		}
		m.from = append(m.from, len(m.column))
	}
	return m
}

// row is the columns and the values of row i.
func (m *matrix) row(i int) ([]int32, []float64) {
	return m.column[m.from[i]:m.from[i+1]], m.value[m.from[i]:m.from[i+1]]
}

// transposed is the transpose.
func (m *matrix) transposed() matrix {
	t := matrix{
		rows: m.columns, columns: m.rows, from: make([]int, m.columns+1), column: make([]int32, len(m.column)), value: make([]float64, len(m.value)),
	}
	for _, c := range m.column {
		t.from[c+1]++
	}
	for c := range m.columns {
		t.from[c+1] += t.from[c]
	}
	next := slices.Clone(t.from)
	for i := range m.rows {
		columns, values := m.row(i)
		for j, c := range columns {
			t.column[next[c]], t.value[next[c]] = int32(i), values[j]
			next[c]++
		}
	}
	return t
}

// block is a dense matrix by rows, of few columns.
type block struct {
	rows, width int
	data        []float64 // rows x width
}

func newBlock(rows, width int) block { return block{rows, width, make([]float64, rows*width)} }

func (b *block) row(i int) []float64 { return b.data[i*b.width : (i+1)*b.width] }

// chunk is the rows of a product that one call computes.
const chunk = 512

// times writes m x src into dst, rows x width. The bits do not depend on the number of workers.
func (m *matrix) times(ctx context.Context, workers int, dst, src block) error {
	return parallel.Each(ctx, workers, (m.rows+chunk-1)/chunk, func(_ context.Context, n int) error {
		for i := n * chunk; i < min((n+1)*chunk, m.rows); i++ {
			sum := dst.row(i)
			clear(sum)
			columns, values := m.row(i)
			for j, c := range columns {
				addScaled(sum, values[j], src.row(int(c)))
			}
		}
		return nil
	})
}

// addScaled adds a x to dst.
func addScaled(dst []float64, a float64, x []float64) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] += a * x[i]
	}
}
