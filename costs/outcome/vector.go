package outcome

import "pipe/internal/textfile"

// Bytes of a string in a slice of strings, and of a number or the index of a string.
const (
	bytesOfText  = 16
	bytesOfValue = 4
)

// vector holds one value per instance, in chunks, so that it grows without
// being copied. An instance that was never set has the value gap.
type vector[T int32 | float32] struct {
	gap    T
	held   *textfile.MemoryBudget
	chunks [][]T // of chunkRows instances; the first grows up to that
}

const (
	chunkBits = 12
	chunkRows = 1 << chunkBits
)

// get returns the value of instance n.
func (v *vector[T]) get(n int) T {
	if c := n >> chunkBits; c < len(v.chunks) {
		if chunk := v.chunks[c]; n&(chunkRows-1) < len(chunk) {
			return chunk[n&(chunkRows-1)]
		}
	}
	return v.gap
}

// slot returns the place of the value of instance n. Its error is that of
// textfile.MemoryBudget.Add.
func (v *vector[T]) slot(n int) (*T, error) {
	c, i := n>>chunkBits, n&(chunkRows-1)
	if c >= len(v.chunks) || i >= len(v.chunks[c]) {
		if err := v.grow(c, i); err != nil {
			return nil, err
		}
	}
	return &v.chunks[c][i], nil
}

// set sets the value of instance n.
func set[T int32 | float32](v *vector[T], n int, value T) error {
	at, err := v.slot(n)
	if err == nil {
		*at = value
	}
	return err
}

// grow makes room for element i of chunk c.
func (v *vector[T]) grow(c, i int) error {
	for len(v.chunks) <= c {
		v.chunks = append(v.chunks, nil)
	}
	length := chunkRows
	if c == 0 {
		length = i + 1
	}
	chunk := v.chunks[c]
	if err := v.held.AddCells(length-len(chunk), 1, bytesOfValue); err != nil {
		return err
	}
	if c > 0 {
		chunk = make([]T, 0, length)
	}
	for len(chunk) < length {
		chunk = append(chunk, v.gap)
	}
	v.chunks[c] = chunk
	return nil
}
