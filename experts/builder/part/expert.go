package part

import (
	"context"
	"math"
	"time"

	"pipe/costs"
	"pipe/costs/observe"
)

// Expert answers for instances. It is safe for concurrent use.
type Expert interface {
	// Predict answers for every instance of the batch under every advice.
	// shown[k][n] is what advice k shows of instance n; shown[k] is nil where
	// the pair does not exist, and so is the answer. All levels come in one
	// call, so that an expert computes the common part of nested advice only once.
	// The result is indexed [k][n]: it has len(shown) levels, and a level that
	// exists has one answer per instance. Anything else stops the build. Errors
	// name the instance.
	Predict(ctx context.Context, batch []Instance, shown [][]AdvicePayload) ([][]Prediction, error)
	// Close frees what the expert holds; it is called once, after the last
	// Predict has returned.
	Close() error
}

// Prediction is one answer. The build checks it: a value that cannot be stops the build, with an error that names the
// expert, the instance and the value.
type Prediction struct {
	// Label is one of the labels of the build, if it has any, or one of a Classifier's own: a class that no instance has is
	// a wrong answer. In a build without labels it is the whole answer. "" says that only the loss is known, or that there is no usable answer. Task losses take it for a
	// wrong answer; where it should cost something else, set Judged and Loss. The label of a Judged answer may be any.
	Label         string
	Probabilities []float32 // one in 0..1 per label of a Classifier, up to rounding, else nil
	Loss          float32   // the task loss, finite and >= 0, if Judged
	Judged        bool      // the expert has its own loss, used instead of the build's task loss
	Fee           float32   // measured fee of a Metered expert, finite and >= 0; of another expert 0
	Usage         *Usage    // what the calls used of which the fee is, by a Consumer; nil: not known

	Seen *observe.Answer // facts of the answer besides its label and probability, by an Observable; nil: there are none
}

// Usage has what the calls of an answer used, by quantity: finite and >= 0, NaN where it is not known.
type Usage [costs.Quantities]float32

// UnknownUsage is usage of which nothing is known.
func UnknownUsage() (u Usage) {
	for q := range u {
		u[q] = float32(math.NaN())
	}
	return u
}

// Classifier is an expert whose predictions carry probabilities.
type Classifier interface {
	Expert
	Labels() []string // in the order of the probabilities
}

// Selective is an expert that cannot take every advice.
type Selective interface {
	Takes(advice string) bool
}

// FieldTaker is an expert whose requests can have the fields that a FieldSetter sets.
type FieldTaker interface {
	// TakeFields is an error if the expert cannot be under this advice, because its protocol has no such fields.
	TakeFields(a FieldSetter) error
}

// Replayer is an expert whose answers may come from a file or be stored. If
// Replays is true, its time cannot be measured, and it has its own fees.
type Replayer interface {
	Replays() bool
}

// Metered is an expert that measures a fee per answer; the tensor then has a
// fee column.
type Metered interface {
	Metered() bool
}

// Consumer is an expert whose answers say what their calls used; the tensor
// then has columns for it.
type Consumer interface {
	Consumes() costs.UsageFlags
}

// Preparer is an expert, or something shared, that has work to do before the first shard is made: most experts of this
// sort learn from the build's training rows.
type Preparer interface {
	// Prepare is called once, before the first Predict or Encode, under the lock of the build's work folder. Complete
	// files stay in p.Folder, checkpoints in p.Scratch.
	Prepare(ctx context.Context, p *Preparation) error
}

// Preparation is what a build passes to a Preparer.
type Preparation struct {
	Folder     string        // for files that stay; it exists
	Scratch    string        // for checkpoints; it need not exist, and the build removes it after preparation
	Rows       []int         // instances of the shards that will be made
	Workers    int           // number of goroutines
	Progress   Progress      // never nil
	Checkpoint time.Duration // least time between two checkpoints

	// Load returns instances of the build, like Source.Load.
	Load func(ctx context.Context, rows []int) ([]Instance, error)
	// Show returns what a level of advice shows for instances.
	Show func(ctx context.Context, level int, batch []Instance) ([]AdvicePayload, error)
	// Batches cuts rows into pieces that may be loaded together.
	Batches func(rows []int) [][]int
}

// TaskLoss computes the loss of an answer.
type TaskLoss interface {
	// Loss returns psi of the answer for an instance, finite and >= 0: anything
	// else stops the build. An instance without a label is an error where the
	// loss needs one.
	Loss(in *Instance, p Prediction) (float32, error)
}

// OpenLoss is a TaskLoss that compares open answers with the references of the instances.
type OpenLoss interface {
	TaskLoss
	// Losses returns the losses of answers to a batch of instances, in their order. Errors name the instance.
	Losses(ctx context.Context, batch []Instance, answers []Prediction) ([]float32, error)
	// Key returns what of an answer is judged, in one spelling, for a vote among answers. ok is false if the answer has
	// no such thing, for instance no number.
	Key(answer string) (key string, ok bool)
}
