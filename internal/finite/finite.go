// Package finite finds NaN and infinities among many numbers.
package finite

import "slices"

// First returns the index of the first NaN or infinity, or -1. A block is checked with one test: x-x is 0 for every
// finite x, else NaN. Four independent sums allow the additions to overlap.
func First(values []float32) int {
	const run = 256
	for start := 0; start < len(values); start += run {
		part := values[start:min(start+run, len(values))]
		var a, b, c, d float32
		rest := part
		for ; len(rest) >= 4; rest = rest[4:] {
			a += rest[0] - rest[0]
			b += rest[1] - rest[1]
			c += rest[2] - rest[2]
			d += rest[3] - rest[3]
		}
		for _, v := range rest {
			a += v - v
		}
		if a+b+c+d != 0 {
			return start + slices.IndexFunc(part, func(v float32) bool { return v-v != 0 })
		}
	}
	return -1
}
