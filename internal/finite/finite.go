// Package finite finds the numbers that no sum survives: NaN and the infinities.
package finite

// First returns the index of the first value that is NaN or infinite; -1 where
// every value is finite.
func First(values []float32) int {
	for i, v := range values {
		if v-v != 0 {
			return i
		}
	}
	return -1
}
