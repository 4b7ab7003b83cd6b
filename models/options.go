package models

import (
	"context"
	"fmt"

	"pipe/models/network"
	"pipe/onnx/ort"
)

// Options are what a training run needs beside the problem and its settings.
type Options struct {
	Runtime  *ort.Runtime    // must outlive the call
	Every    int             // epochs between calls of Record; 0: only after the last epoch
	Record   Recorder        // may be nil
	Progress func(steps int) // model-steps done since the last call; may be nil
	// Stage announces a stage of a recipe and its model-steps; may be nil. Train
	// itself has one stage and announces nothing.
	Stage func(name string, steps int)
	Save  CheckpointPolicy // zero: no checkpoints
	// Surrogate is a training loss that this package does not know; nil: the one
	// that the settings name. Settings.Surrogate is its name.
	Surrogate Surrogate
}

// surrogate returns what a run trains with.
func (o Options) surrogate(s Settings) (Surrogate, error) {
	known, err := surrogateNamed(s.Surrogate)
	switch {
	case o.Surrogate == nil:
		return known, err
	case o.Surrogate.Name() != s.Surrogate:
		return nil, fmt.Errorf("surrogate: the settings name %q, the options bring %q", s.Surrogate, o.Surrogate.Name())
	case err == nil && known != o.Surrogate:
		return nil, fmt.Errorf("surrogate: %q is the name of another one", s.Surrogate)
	}
	return o.Surrogate, nil
}

// Recorder watches groups of models in training: to follow a loss on other rows,
// or to stop early. Calls for different groups can overlap.
type Recorder interface {
	// Record is called at the end of an epoch, before a checkpoint is saved.
	// Returning stop ends the group's training.
	Record(ctx context.Context, s *Snapshot) (stop bool, err error)
	// Save returns what the recorder has to keep of a group in a checkpoint, and
	// Load takes it back when a run continues. models are indices into the specs.
	Save(models []int) ([]byte, error)
	Load(models []int, saved []byte) error
}

// Trained is one trained model.
type Trained struct {
	Spec    Spec
	Network network.MLP
	Epochs  int       // finished epochs
	Loss    []float64 // mean surrogate loss of each epoch
}

// NonFiniteError says where a surrogate loss became NaN or infinite.
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

// Hint suggests what usually helps.
func (e *NonFiniteError) Hint() string {
	return "lower the learning rate, or raise tau towards 1"
}
