package trained

import (
	"context"

	"pipe/costs/builder/part"
	"pipe/onnx"
)

// rowEncoder turns instances and what is shown of them into rows of numbers. It is
// safe for concurrent use.
type rowEncoder interface {
	Width() int
	// Encode writes one row per instance and level: instance by instance, and for
	// each the levels of shown that are not nil, in order. dst has Width values
	// per row. shown is indexed [level][instance]. Errors name the instance.
	Encode(ctx context.Context, dst []float32, batch []part.Instance, shown [][]part.Shown) error
}

// trainer makes classifiers from rows. Kinds of experts differ in it.
type trainer interface {
	// Check returns the problems of the settings with which nothing can be learnt.
	Check() error
	// Train makes the classifier of every model and hands each to t.Done. The
	// outcome is a function of the set, the folds and the settings, whether
	// or not an earlier call was interrupted.
	Train(ctx context.Context, set *trainingSet, fits []fit, t *training) error
}

// fit is one model to train, with ascending rows of the set.
type fit struct {
	model int // of Folds
	rows  []int32
}

// classifier is what a trainer has made. Both halves are valid only while the
// trainer waits for Done.
type classifier struct {
	Model *onnx.Model // input "rows", output "probability": [n, 1], that of class 1, of two classes, else [n, classes]
	// Probability returns the trainer's own probabilities of rows, in the form of the output.
	Probability func(rows []float32) ([]float64, error)
}

// training is what a trainer may use.
type training struct {
	*part.Preparation
	Name string // of the expert
	Seed uint64
	Done func(l fit, c *classifier) error // takes a classifier over
}

// outputs is how many numbers a classifier says of a row: of two classes, the
// probability of the second alone.
func outputs(classes int) int {
	if classes == 2 {
		return 1
	}
	return classes
}
