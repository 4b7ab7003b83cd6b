package expert

import "math"

// softmax replaces logits by probabilities, in double precision.
func softmax(row []float32) {
	top := row[0]
	for _, v := range row {
		top = max(top, v)
	}
	var sum float64
	for _, v := range row {
		sum += math.Exp(float64(v - top))
	}
	for i, v := range row {
		row[i] = float32(math.Exp(float64(v-top)) / sum)
	}
}

// Argmax returns the index of the largest value of a row, the first one on ties. A row has at least one value.
func Argmax(row []float32) int {
	best := 0
	for i, v := range row {
		if v > row[best] {
			best = i
		}
	}
	return best
}
