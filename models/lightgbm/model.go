package lightgbm

// Missing says what a split does with a missing value.
type Missing uint8

// The three kinds, as LightGBM numbers them.
const (
	MissingNone Missing = iota // the column had no gaps in training: NaN counts as 0
	MissingZero                // 0 and NaN go the default way
	MissingNaN                 // NaN goes the default way
)

// Split sends a row left if its value is at most Threshold, else right.
// Children count splits from 0; a negative one is the leaf ^child.
type Split struct {
	Column      int
	Threshold   float64
	Missing     Missing
	DefaultLeft bool
	Left, Right int
}

// Tree is one term of the margin. Splits[0] is the root; a tree without splits
// is its only leaf.
type Tree struct {
	Splits []Split
	Leaves []float64
}

// Model is what was trained. The margin of a row is the sum over trees. In regression it is the estimate; in binary
// classification the probability of label 1 is 1/(1+exp(-Sigmoid*margin)).
type Model struct {
	Objective Objective
	Columns   int     // values of a row
	Sigmoid   float64 // of binary classification; else 0
	Trees     []Tree
}

// tiny is the largest magnitude that LightGBM treats as 0, both in rows and for MissingZero. LightGBM stores it as a
// float32.
const tiny = float64(float32(1e-35))
