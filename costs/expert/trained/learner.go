package trained

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"pipe/costs/builder/part"
	"pipe/costs/expert"
	"pipe/internal/digest"
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
	basis    string             // what every model depends on, as text
	about    map[string]string  // metadata of the files
	models   []*expert.RowModel // of all examples, then one per fold; nil until Prepare
}

// learnerSettings are shared by the experts that the build trains.
type learnerSettings struct {
	Threshold float64 `json:"threshold"` // probability from which the answer is the second of two labels
	Seed      uint64  `json:"seed"`      // of the draw of levels, and of the training
}

func defaultLearnerSettings() learnerSettings { return learnerSettings{Threshold: 0.5} }

// newLearner finishes an expert whose settings have been read. kind and
// learning, a struct of the settings that the models depend on, say what it
// learns; extra is whatever else they depend on, such as a library's version.
func newLearner(s *part.Setup, e *learner, kind string, learning any, extra ...string) (*learner, error) {
	if !(e.Threshold > 0 && e.Threshold < 1) {
		return nil, fmt.Errorf("threshold is %v; a probability between 0 and 1 is needed", e.Threshold)
	}
	if len(s.Labels) != 2 && e.Threshold != defaultLearnerSettings().Threshold {
		return nil, fmt.Errorf("threshold tells two labels apart, and there are %d", len(s.Labels))
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
	// The file says the same: what answers can be traced to what it learnt from.
	s.Input("model training", e.digest(0))
	return e, nil
}

// checkFileName refuses names that cannot begin the name of a file.
func checkFileName(name string) error {
	if strings.ContainsAny(name, `/\:*?"<>|`) || strings.HasPrefix(name, ".") || strings.Contains(name, "-fold") {
		return fmt.Errorf("the name %q cannot be that of a file NAME.onnx beside NAME-fold0.onnx", name)
	}
	return nil
}

// trainingFormat is part of what models depend on; a change of how examples are
// drawn or experts learn raises it.
const trainingFormat = 1

// describe writes down what the models depend on: the examples and the settings
// of the expert, but neither task loss nor fees nor other experts.
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

// digest identifies a model by everything that it depends on. The model of all
// examples is the same with folds and without.
func (e *learner) digest(model int) string {
	if model == 0 {
		return digest.Of([]byte(e.basis))
	}
	return digest.Of([]byte(fmt.Sprintf("%sfold %d of %s\n", e.basis, model-1, e.folds.identity())))
}

// file is the path of a model.
func (e *learner) file(folder string, model int) string {
	return filepath.Join(folder, e.name+e.folds.name(model)+".onnx")
}

// Labels returns the labels in the order of the probabilities.
func (e *learner) Labels() []string { return e.folds.Labels }

// Limit returns the probability from which the second label is the answer; ok is
// false unless there are two labels.
func (e *learner) Limit() (limit float64, ok bool) { return e.Threshold, len(e.folds.Labels) == 2 }

// Predict asks, for every instance, the model that answers for it, about all
// levels in one call of the runtime per model.
func (e *learner) Predict(ctx context.Context, batch []part.Instance, shown [][]part.Shown) ([][]part.Prediction, error) {
	out := make([][]part.Prediction, len(shown))
	for k := range shown {
		if shown[k] != nil {
			out[k] = make([]part.Prediction, len(batch))
		}
	}
	asked := make([][]int, len(e.models)) // instances per model
	for n := range batch {
		m := e.folds.Model(batch[n].Row)
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

// ask lets one model answer for some instances of a batch.
func (e *learner) ask(ctx context.Context, m *expert.RowModel, members []int, batch []part.Instance, shown [][]part.Shown, out [][]part.Prediction) error {
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

// spread makes rows of probabilities of rows of outputs: where there is one
// output, that of the second of two classes, the first takes the rest.
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

// prediction is the answer that follows from the probabilities of the labels:
// of two labels, the second from the threshold on; of more, the most likely,
// the first one on ties.
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
