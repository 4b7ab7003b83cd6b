package outcome

import "pipe/internal/textfile"

// featureBlock holds the features from one table, by instance.
type featureBlock struct {
	numbers     []string      // names of the columns of values
	values      []float32     // instances x len(numbers)
	categorical []*textColumn // one-hot at the end
	there       []bool        // whether an instance has a complete row
}

// joinFeatures puts the blocks side by side for the kept instances. A category
// becomes a column only if a kept instance has it.
func joinFeatures(blocks []*featureBlock, keep []int, held *textfile.Held) (features []float32, dim int, names []string, err error) {
	columns := make([][][]int32, len(blocks)) // by block, category and number of the value: its column
	widths := make([][]int, len(blocks))
	for i, b := range blocks {
		names = append(names, b.numbers...)
		for _, c := range b.categorical {
			sorted := c.sortedLevels(keep)
			at := make([]int32, c.values.Len())
			for column, v := range sorted {
				at[v] = int32(column)
				names = append(names, c.name+"="+c.values.List()[v])
			}
			columns[i], widths[i] = append(columns[i], at), append(widths[i], len(sorted))
		}
	}
	dim = len(names)
	if len(blocks) == 1 && len(blocks[0].categorical) == 0 && len(keep) == len(blocks[0].there) {
		return blocks[0].values, dim, names, nil // the whole block, in the same order
	}
	if err := held.AddCells(len(keep), dim, bytesOfValue); err != nil {
		return nil, 0, nil, err
	}
	features = make([]float32, len(keep)*dim)
	for row, n := range keep {
		dst := features[row*dim : (row+1)*dim]
		for i, b := range blocks {
			width := len(b.numbers)
			copy(dst, b.values[n*width:(n+1)*width])
			dst = dst[width:]
			for j, c := range b.categorical {
				dst[columns[i][j][c.at[n]]] = 1
				dst = dst[widths[i][j]:]
			}
		}
	}
	return features, dim, names, nil
}
