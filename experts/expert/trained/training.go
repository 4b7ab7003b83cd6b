package trained

import (
	"context"

	"pipe/experts/builder/part"
	"pipe/onnx"
)

// rowEncoder turns instances and what is shown for them into rows of numbers. It is
// safe for concurrent use.
type rowEncoder interface {
	Width() int
	// Encode writes one row per instance and level: instance by instance, and for
	// each the levels of shown that are not nil, in order. dst has Width values
	// per row. shown is indexed [level][instance]. Errors name the instance.
	Encode(ctx context.Context, dst []float32, batch []part.Instance, shown [][]part.AdvicePayload) error
}

// trainer trains classifiers on rows.
type trainer interface {
	// Check returns problems of the settings that make training impossible.
	Check() error
	// Train trains the classifier of every model and passes each to t.Done. The
	// outcome depends only on the set, the folds and the settings, not on
	// whether an earlier call was interrupted.
	Train(ctx context.Context, set *trainingSet, fits []fit, t *training) error
}

// fit is one model to train, with ascending rows of the set.
type fit struct {
	model int // index of the model, as in foldPlan
	rows  []int32
}

// classifier is a trained model. Both fields are valid only until Done returns.
type classifier struct {
	Model *onnx.Model // input "rows"; output "probability": of two classes [n, 1], that of class 1, else [n, classes]
	// Probability returns the trainer's own probabilities of rows, in the shape of the output.
	Probability func(rows []float32) ([]float64, error)
}

// training has what a trainer may use.
type training struct {
	*part.Preparation
	Name string // of the expert
	Seed uint64
	Done func(l fit, c *classifier) error // receives a classifier
}

// outputs returns the number of outputs of a classifier per row. With two classes
// there is one, the probability of the second.
func outputs(classes int) int {
	if classes == 2 {
		return 1
	}
	return classes
}
