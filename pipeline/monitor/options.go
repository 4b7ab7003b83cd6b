package monitor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/drift"
	"pipe/models/policy"
	"pipe/onnx/ort"
)

// The families of tests.
const (
	Inputs    = "inputs"    // the features of the new rows
	Decisions = "decisions" // the pairs that the policy chooses
	Outcomes  = "outcomes"  // the losses of the pairs that were executed
	Guarantee = "guarantee" // the losses of accepted decisions, of a policy with a guarantee
)

// Families are all of them.
var Families = []string{Inputs, Decisions, Outcomes, Guarantee}

// Options are the options of Open.
type Options struct {
	Actions storage.Location // JSON file with the actions of a baseline that does not carry them
	Splits  []costs.Split    // rows of the baseline to compare with: those that the policy was not trained on
	// Alpha bounds the probability of a false alarm of outcomes, at any time: the mean outcome has not exceeded that of the
	// baseline by more than Tolerance. Half of Alpha is for the error of the baseline's mean.
	Alpha     float64
	Tolerance float64 // in the unit of the task loss, not negative
	// Warn is the significance level of the tests of inputs, and also of the test of decisions: the probability of a warning
	// although nothing has changed.
	Warn      float64
	FailOn    []string    // families whose findings are alarms; findings of the others are warnings
	Range     *[2]float64 // of outcomes, which are cut to it; nil: from 0 to 1, wider if the losses of the baseline are
	Sample    int         // most rows of the baseline that features are compared with
	Seed      uint64      // of the sample and the random features
	ADWIN     drift.ADWINSettings
	Prices    policy.PriceChange // at which the policy decides, see decide.Options
	PriceFile storage.Location   `json:",omitzero"` // see decide.Options
	// LossAlone means that outcomes are task losses without measured fees. Those of the baseline are then used without, too.
	LossAlone bool `json:"-"` // the digest of the baseline depends on it
	// Raw opens the encoder of the policy, or Encoder, so that features can be computed from raw rows, texts or images, see
	// decide.Options. Without it, new rows are features.
	Raw     bool
	Encoder string
	Decoder string // of images
	// Runtime runs the policy and must outlive the monitor. Nil: Open opens one with one thread.
	Runtime *ort.Runtime `json:"-"`
}

// DefaultOptions compares with validation and test rows, and alarms for outcomes and guarantees only.
func DefaultOptions() Options {
	return Options{
		Splits: []costs.Split{costs.Val, costs.Test}, Alpha: 0.05, Tolerance: 0.02, Warn: 0.01, FailOn: []string{Outcomes, Guarantee},
		Sample: 10_000, ADWIN: drift.DefaultADWIN(),
	}
}

// mostSample limits the memory of the counts that belong to a sample.
const mostSample = 1_000_000

// Validate reports every problem at once.
func (o Options) Validate() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if len(o.Splits) == 0 {
		add("monitor: no split of the baseline is given")
	}
	if !(o.Alpha > 0 && o.Alpha < 1) || !(o.Warn > 0 && o.Warn < 1) {
		add("monitor: the levels %g and %g must lie between 0 and 1", o.Alpha, o.Warn)
	}
	if !(o.Tolerance >= 0 && o.Tolerance <= costs.MaxLambda) {
		add("monitor: the tolerance %g is not a number from 0 to %g", o.Tolerance, costs.MaxLambda)
	}
	if o.Sample < drift.MMDLeast || o.Sample > mostSample {
		add("monitor: a sample of %d rows is not %d to %d", o.Sample, drift.MMDLeast, mostSample)
	}
	if r := o.Range; r != nil && !(r[0] < r[1] && r[1]-r[0] <= costs.MaxLambda) {
		add("monitor: outcomes from %g to %g are not a range", r[0], r[1])
	}
	for _, f := range o.FailOn {
		if !slices.Contains(Families, f) {
			add("monitor: unknown family %q; known are %s", f, strings.Join(Families, ", "))
		}
	}
	return errors.Join(append(problems, o.ADWIN.Validate())...)
}

// splitNames lists the splits for messages.
func (o Options) splitNames() string {
	var names []string
	for _, s := range o.Splits {
		names = append(names, s.String())
	}
	return strings.Join(names, " and ")
}
