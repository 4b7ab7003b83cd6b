package trained

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"pipe/experts/builder/part"
)

// examples are the training data of an expert, before an encoder turns them
// into rows. They are safe for concurrent use.
type examples interface {
	// Folds returns the classes of the examples, and the examples of each model.
	Folds() *foldPlan
	// Basis lists everything else that the examples and their showings depend
	// on, one per line.
	Basis() string
	// Open prepares the examples for reading.
	Open(ctx context.Context, t *part.Preparation) (exampleReader, error)
}

// exampleReader reads examples. It is safe for concurrent use.
type exampleReader interface {
	// Read returns examples from..to as instances, and what is shown for each.
	Read(ctx context.Context, from, to int) ([]part.Instance, []part.AdvicePayload, error)
}

// trainingRows are the training rows of the build, each under one randomly drawn
// level of advice.
type trainingRows struct {
	folds  *foldPlan
	levels []int // of advice, to draw from
	seed   uint64
	basis  string
}

// newTrainingRows returns the build's training rows as examples for an expert.
func newTrainingRows(ctx context.Context, s *part.Setup, seed uint64) (*trainingRows, error) {
	levels, err := s.TakenLevels()
	if err != nil {
		return nil, err
	}
	folds, err := sharedFoldPlan(ctx, s.Build)
	if err != nil {
		return nil, err
	}
	return &trainingRows{folds, levels, seed, rowsBasis(s, levels)}, nil
}

// rowsBasis lists the inputs of the build that determine the rows and what advice
// shows for them.
func rowsBasis(s *part.Setup, levels []int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "instances %s\nsplit %s\n", s.SourceKind, s.SplitKind)
	for _, k := range levels {
		fmt.Fprintf(&text, "level %d %q %s\n", k, s.Levels[k].Name, s.Levels[k].Kind)
	}
	parts := []string{"instances", "split"}
	for _, level := range s.Levels {
		parts = append(parts, part.AdviceName(level.Name))
	}
	for _, name := range s.Inputs.Of(parts...) {
		fmt.Fprintf(&text, "%s: %s\n", name, s.Inputs[name])
	}
	return text.String()
}

// Folds returns the folds that all experts over the build's rows share.
func (x *trainingRows) Folds() *foldPlan { return x.folds }

// Basis returns the inputs of the build that the examples depend on.
func (x *trainingRows) Basis() string { return x.basis }

// Open returns a reader that loads rows on demand.
func (x *trainingRows) Open(_ context.Context, t *part.Preparation) (exampleReader, error) {
	return &rowReader{x, t}, nil
}

// rowReader reads the rows of the build.
type rowReader struct {
	*trainingRows
	t *part.Preparation
}

// Read loads rows, each with the showing of the level that was drawn for it.
func (x *rowReader) Read(ctx context.Context, from, to int) ([]part.Instance, []part.AdvicePayload, error) {
	batch, err := x.t.Load(ctx, x.folds.Rows[from:to])
	if err != nil {
		return nil, nil, err
	}
	members := make([][]int, len(x.levels))
	for n := range batch {
		l := drawLevel(x.seed, batch[n].Row, len(x.levels))
		members[l] = append(members[l], n)
	}
	shown := make([]part.AdvicePayload, len(batch))
	for l, level := range x.levels {
		if len(members[l]) == 0 {
			continue
		}
		some, _ := choose(members[l], batch, nil)
		theirs, err := x.t.Show(ctx, level, some)
		if err != nil {
			return nil, nil, err
		}
		for i, n := range members[l] {
			shown[n] = theirs[i]
		}
	}
	return batch, shown, nil
}

// drawLevel is the level under which an example is used for training. It
// depends only on the seed and the example, so that every model sees the same
// draw.
func drawLevel(seed uint64, example, levels int) int {
	return rand.New(rand.NewPCG(seed, 0x6c6576656c<<24^uint64(example))).IntN(levels)
}

// choose returns some instances of a batch and what is shown for them.
func choose(members []int, batch []part.Instance, shown [][]part.AdvicePayload) ([]part.Instance, [][]part.AdvicePayload) {
	if len(members) == len(batch) {
		return batch, shown
	}
	some, theirs := make([]part.Instance, len(members)), make([][]part.AdvicePayload, len(shown))
	for i, n := range members {
		some[i] = batch[n]
	}
	for k := range shown {
		if shown[k] == nil {
			continue
		}
		theirs[k] = make([]part.AdvicePayload, len(members))
		for i, n := range members {
			theirs[k][i] = shown[k][n]
		}
	}
	return some, theirs
}
