package costs

import (
	"fmt"

	"github.com/parquet-go/parquet-go"
)

// pageText are the strings of a page: an index into a dictionary each, or a
// piece of one long string each.
type pageText struct {
	table   []string
	indexes []int32
	all     string
	offsets []uint32
}

func (t *pageText) value(i int) string {
	if t.table != nil {
		return t.table[t.indexes[i]]
	}
	return t.all[t.offsets[i]-t.offsets[0] : t.offsets[i+1]-t.offsets[0]]
}

func (c *cursor) loadFloats() (int, error) {
	data := c.page.Data()
	dict := c.page.Dictionary()
	switch {
	case dict != nil:
		if c.floatTable == nil {
			table := dict.Page().Data()
			if c.leaf.kind == parquet.Double {
				c.floatTable = narrow(nil, table.Double())
			} else {
				c.floatTable = table.Float()
			}
		}
		c.indexes = data.Int32()
		return len(c.indexes), checkIndexes(c.indexes, len(c.floatTable))
	case c.leaf.kind == parquet.Double:
		c.scratch = narrow(c.scratch, data.Double())
		c.floats = c.scratch
	default:
		c.floats = data.Float()
	}
	return len(c.floats), nil
}

func (c *cursor) loadText() (int, error) {
	data := c.page.Data()
	dict := c.page.Dictionary()
	if dict == nil {
		values, offsets := data.ByteArray()
		c.text = pageText{offsets: offsets}
		if len(offsets) == 0 {
			return 0, nil
		}
		c.text.all = string(values[offsets[0]:offsets[len(offsets)-1]])
		return len(offsets) - 1, nil
	}
	if c.textTable == nil {
		table := dict.Page().Data()
		values, offsets := table.ByteArray()
		c.textTable = make([]string, max(len(offsets)-1, 0))
		for i := range c.textTable {
			c.textTable[i] = string(values[offsets[i]:offsets[i+1]])
		}
	}
	indexes := data.Int32()
	c.text = pageText{table: c.textTable, indexes: indexes}
	return len(indexes), checkIndexes(indexes, len(c.textTable))
}

func checkIndexes(indexes []int32, table int) error {
	for i, x := range indexes {
		if uint(x) >= uint(table) {
			return fmt.Errorf("value %d is number %d of a dictionary of %d", i, x, table)
		}
	}
	return nil
}

// narrow converts to float32. A finite number beyond its range becomes an
// infinity, which the check for finite values then reports.
func narrow(dst []float32, src []float64) []float32 {
	dst = resized(dst, len(src))
	for i, v := range src {
		dst[i] = float32(v)
	}
	return dst
}

func resized(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}
