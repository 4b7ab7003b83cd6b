package trained

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"pipe/experts/builder/part"
	"pipe/experts/expert"
	"pipe/internal/digest"
	"pipe/internal/parallel"
	"pipe/onnx/ort"
)

// learner is an expert that the build trains. An encoder turns its examples into rows, and a trainer fits classifiers
// to the rows. An example is used under one level of advice, so its row must identify the level. The answers come from
// the ONNX files.
type learner struct {
	learnerSettings
	name     string
	examples examples
	encoder  rowEncoder
	trainer  trainer
	folds    *foldPlan // of the examples
	runtime  *ort.Runtime
	basis    string             // what every model depends on, as lines
	about    map[string]string  // metadata of the files
	models   []*expert.RowModel // the model of all examples, then one per fold; nil until Prepare
}

// learnerSettings are shared by the experts that the build trains.
type learnerSettings struct {
	Threshold float64 `json:"threshold"` // smallest probability for which the second of two labels is the answer
	Seed      uint64  `json:"seed"`      // of the draw of levels, and of the training
}

func defaultLearnerSettings() learnerSettings { return learnerSettings{Threshold: 0.5} }

// newLearner finishes an expert whose settings have been read. Its models depend on
// kind, on learning, a struct of settings, and on the lines of extra, such as a
// library's version.
func newLearner(s *part.Setup, e *learner, kind string, learning any, extra ...string) (*learner, error) {
	if !(e.Threshold > 0 && e.Threshold < 1) {
		return nil, fmt.Errorf("threshold is %v; it must be between 0 and 1", e.Threshold)
	}
	if len(s.Labels) != 2 && e.Threshold != defaultLearnerSettings().Threshold {
		return nil, fmt.Errorf("threshold needs exactly two labels; the configuration has %d", len(s.Labels))
	}
	if err := errors.Join(e.trainer.Check(), checkFileName(s.Name)); err != nil {
		return nil, err
	}
	e.name, e.folds = s.Name, e.examples.Folds()
	var err error
	if e.runtime, err = s.Runtime(); err != nil {
		return nil, err
	}
	if err := e.describe(s, kind, learning, extra); err != nil {
		return nil, err
	}
	// The file has the same digest, so that answers can be traced to their training data.
	s.Input("model training", e.digest(0))
	return e, nil
}

// checkFileName rejects names that cannot be the start of a file name.
func checkFileName(name string) error {
	if strings.ContainsAny(name, `/\:*?"<>|`) || strings.HasPrefix(name, ".") || strings.Contains(name, "-fold") {
		return fmt.Errorf("the name %q cannot be used for the files NAME.onnx and NAME-fold0.onnx", name)
	}
	return nil
}

// trainingFormat is part of what models depend on. A change of how examples are
// drawn or experts are trained must increase it.
const trainingFormat = 1

// describe records what the models depend on: the examples and the settings of the
// expert, but not the task loss, fees or other experts.
func (e *learner) describe(s *part.Setup, kind string, learning any, extra []string) error {
	b, err := json.Marshal(learning)
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "format %d\nkind %s\nsettings %s\nseed %d\nlabels %q\n", trainingFormat, kind, b, e.Seed, s.Labels)
	fmt.Fprintf(&text, "%sruntime %s\n", e.examples.Basis(), s.Inputs["runtime"])
	for _, line := range extra {
		fmt.Fprintln(&text, line)
	}
	e.basis = text.String()
	labels, err := json.Marshal(s.Labels)
	e.about = map[string]string{
		"pipe.kind": "expert", "pipe.expert": kind, "pipe.settings": string(b), "pipe.labels": string(labels),
	}
	return err
}

// digest identifies a model by everything it depends on. The model of all examples
// is the same with and without folds.
func (e *learner) digest(model int) string {
	if model == 0 {
		return digest.Of([]byte(e.basis))
	}
	return digest.Of([]byte(fmt.Sprintf("%sfold %d of %s\n", e.basis, model-1, e.folds.identity())))
}

// file returns the path of a model.
func (e *learner) file(folder string, model int) string {
	return filepath.Join(folder, e.name+e.folds.name(model)+".onnx")
}

// Labels returns the labels in the order of the probabilities.
func (e *learner) Labels() []string { return e.folds.Labels }

// Limit returns the smallest probability for which the second label is the answer;
// ok is false unless there are two labels.
func (e *learner) Limit() (limit float64, ok bool) { return e.Threshold, len(e.folds.Labels) == 2 }

// Predict runs, for every instance, the model that answers for it. There is one
// call of the runtime per model, with all levels.
func (e *learner) Predict(ctx context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	out := make([][]part.Prediction, len(shown))
	for k := range shown {
		if shown[k] != nil {
			out[k] = make([]part.Prediction, len(batch))
		}
	}
	asked := make([][]int, len(e.models)) // instances per model
	for n := range batch {
		m := e.folds.model(batch[n].Row)
		asked[m] = append(asked[m], n)
	}
	for m, members := range asked {
		if len(members) == 0 {
			continue
		}
		if err := e.ask(ctx, e.models[m], members, batch, shown, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ask runs one model on some instances of a batch.
func (e *learner) ask(ctx context.Context, m *expert.RowModel, members []int, batch []part.Instance, shown [][]part.AdvicePayload, out [][]part.Prediction) error {
	batch, shown = choose(members, batch, shown)
	levels := 0
	for k := range shown {
		if shown[k] != nil {
			levels++
		}
	}
	rows := make([]float32, len(batch)*levels*e.encoder.Width())
	if err := e.encoder.Encode(ctx, rows, batch, shown); err != nil {
		return err
	}
	p, err := m.Probabilities(ctx, rows)
	if err != nil {
		return err
	}
	p, classes := spread(p, outputs(len(e.folds.Labels)))
	for _, n := range members {
		for k := range shown {
			if shown[k] != nil {
				out[k][n] = e.prediction(p[:classes:classes])
				p = p[classes:]
			}
		}
	}
	return nil
}

// spread turns rows of outputs into rows of probabilities. A single output is the
// probability of the second of two classes; that of the first is the remainder.
func spread(p []float32, outputs int) (rows []float32, classes int) {
	if outputs > 1 {
		return p, outputs
	}
	rows = make([]float32, 0, 2*len(p))
	for _, v := range p {
		rows = append(rows, 1-v, v)
	}
	return rows, 2
}

// prediction returns the answer for the probabilities of the labels. With two labels
// it is the second if its probability is at least the threshold; with more, the
// most likely, the first one on ties.
func (e *learner) prediction(p []float32) part.Prediction {
	answer := expert.Argmax(p)
	if len(p) == 2 {
		answer = 0
		if float64(p[1]) >= e.Threshold {
			answer = 1
		}
	}
	return part.Prediction{Label: e.folds.Labels[answer], Probabilities: p}
}

// Close frees the models.
func (e *learner) Close() error {
	var errs []error
	for _, m := range e.models {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	e.models = nil
	return errors.Join(errs...)
}

var _ part.Preparer = (*learner)(nil)

// gatherRows is how many examples are read at a time.
const gatherRows = 4096

// gather turns every example into a row.
func (e *learner) gather(ctx context.Context, t *part.Preparation) (*trainingSet, error) {
	reader, err := e.examples.Open(ctx, t)
	if err != nil {
		return nil, err
	}
	set := &trainingSet{Width: e.encoder.Width(), Classes: len(e.folds.Labels), Class: e.folds.Class}
	set.X = make([]float32, len(set.Class)*set.Width)
	t.Progress.Start(int64(set.Len()), "rows of "+e.name)
	defer t.Progress.Done()
	chunks := (set.Len() + gatherRows - 1) / gatherRows
	err = parallel.Each(ctx, t.Workers, chunks, func(ctx context.Context, i int) error {
		from := i * gatherRows
		to := min(from+gatherRows, set.Len())
		batch, shown, err := reader.Read(ctx, from, to)
		if err != nil {
			return err
		}
		if err := e.encoder.Encode(ctx, set.X[from*set.Width:to*set.Width], batch, [][]part.AdvicePayload{shown}); err != nil {
			return err
		}
		t.Progress.Add(int64(to - from))
		return nil
	})
	return set, err
}
