package expert

import (
	"math"
	"testing"
)

func TestSoftmaxIsStable(t *testing.T) {
	row := []float32{1000, 1001, -1e30}
	softmax(row)
	if math.Abs(float64(row[1])-1/(1+math.Exp(-1))) > 1e-6 || row[2] != 0 {
		t.Errorf("got %v", row)
	}
	if Argmax([]float32{1, 3, 3}) != 1 {
		t.Error("a tie does not go to the first")
	}
}
