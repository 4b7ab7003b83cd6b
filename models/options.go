package models

import (
	"fmt"

	"pipe/models/network"
	"pipe/onnx/ort"
)

// Options are the parameters of a training run besides the problem and its settings.
type Options struct {
	Runtime  *ort.Runtime    // must not be nil, and must outlive the call
	Progress func(steps int) // model-steps done since the last call; may be nil
	// Stage announces a stage of a recipe and its number of model-steps; may be nil. Train itself has one stage and
	// announces nothing.
	Stage func(name string, steps int)
	Save  CheckpointPolicy // zero: no checkpoints
	// Surrogate is a training loss from outside this package; nil: the one that Settings.Surrogate names. If it is set,
	// Settings.Surrogate must be its name.
	Surrogate Surrogate
}

// surrogate returns the surrogate of a run.
func (o Options) surrogate(s Settings) (Surrogate, error) {
	known, err := surrogateNamed(s.Surrogate)
	switch {
	case o.Surrogate == nil:
		return known, err
	case o.Surrogate.Name() != s.Surrogate:
		return nil, fmt.Errorf("surrogate: the settings name %q, but the options have %q", s.Surrogate, o.Surrogate.Name())
	case err == nil && known != o.Surrogate:
		return nil, fmt.Errorf("surrogate: the name %q is already used", s.Surrogate)
	}
	return o.Surrogate, nil
}

// Trained is one trained model.
type Trained struct {
	Spec    Spec
	Network network.MLP
	Loss    []float64 // mean surrogate loss of each epoch
}

// NonFiniteError reports where a surrogate loss became NaN or infinite.
type NonFiniteError struct {
	Step  int // from 0
	Epoch int // from 0
	Spec  Spec
	Loss  float32
}

func (e *NonFiniteError) Error() string {
	name := e.Spec.Name
	if name == "" {
		name = "a network"
	}
	return fmt.Sprintf("surrogate loss is %g at step %d (epoch %d) of %s (seed %d, lambda %g)",
		e.Loss, e.Step, e.Epoch, name, e.Spec.Seed, e.Spec.Lambda)
}

// Hint suggests a usual remedy.
func (e *NonFiniteError) Hint() string {
	return "lower the learning rate, or raise tau towards 1"
}
