package outcome

import "pipe/internal/textfile"

// featureBlock holds the features from one table, by instance.
type featureBlock struct {
	numbers     []string        // names of the columns of values
	values      []float32       // instances x len(numbers)
	categorical []*textColumn   // one-hot, after the values
	encoded     []*encodedBlock // the vectors of encoders, at the end
	there       []bool          // whether an instance has a complete row
}

// encodedBlock are columns that an encoder turns into vectors.
type encodedBlock struct {
	setting string // text or image
	columns []*textColumn
	vectors [][]float32 // per kept instance
	names   []string    // of the features

	digest   string // of the encoder
	decoder  string // of images
	name     string // of features that are these vectors alone
	identity string // and how they are made
}

// joined are the texts of the rows, those of several columns joined by line
// breaks.
func (b *encodedBlock) joined(rows []int) []string {
	out := b.columns[0].pick(rows)
	for _, c := range b.columns[1:] {
		for i, text := range c.pick(rows) {
			out[i] += "\n" + text
		}
	}
	return out
}

// joinFeatures puts the blocks side by side for the kept instances. A category
// becomes a column only if a kept instance has it. The values of a table have a
// width, and so has the vector of each encoder.
func joinFeatures(blocks []*featureBlock, keep []int, held *textfile.MemoryBudget) (features []float32, names []string, apart []int, err error) {
	from := 0
	end := func() {
		if width := len(names) - from; width > 0 {
			apart, from = append(apart, width), len(names)
		}
	}
	columns := make([][][]int32, len(blocks)) // by block, category and number of the value: its column
	widths := make([][]int, len(blocks))
	for i, b := range blocks {
		names = append(names, b.numbers...)
		for _, c := range b.categorical {
			at, levels := c.places(keep)
			for _, level := range levels {
				names = append(names, levelName(c.name, level))
			}
			columns[i], widths[i] = append(columns[i], at), append(widths[i], len(levels))
		}
		end()
		for _, e := range b.encoded {
			names = append(names, e.names...)
			end()
		}
	}
	dim := len(names)
	if len(blocks) == 1 && len(blocks[0].categorical)+len(blocks[0].encoded) == 0 && len(keep) == len(blocks[0].there) {
		return blocks[0].values, names, apart, nil // the whole block, in the same order
	}
	if err := held.AddCells(len(keep), dim, bytesOfValue); err != nil {
		return nil, nil, nil, err
	}
	features = make([]float32, len(keep)*dim)
	for row, n := range keep {
		dst := features[row*dim : (row+1)*dim]
		for i, b := range blocks {
			width := len(b.numbers)
			copy(dst, b.values[n*width:(n+1)*width])
			dst = dst[width:]
			for j, c := range b.categorical {
				if column := columns[i][j][c.at.get(n)]; column >= 0 {
					dst[column] = 1
				}
				dst = dst[widths[i][j]:]
			}
			for _, e := range b.encoded {
				dst = dst[copy(dst, e.vectors[row]):]
			}
		}
	}
	return features, names, apart, nil
}
