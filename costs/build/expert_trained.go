package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pipe/onnx/ort"
)

// coder turns instances and what is shown of them into rows of numbers. It is
// safe for concurrent use.
type coder interface {
	Width() int
	// Code writes one row per instance and level: instance by instance, and for
	// each the levels of shown that are not nil, in order. dst has Width values
	// per row. shown is indexed [level][instance]. Errors name the instance.
	Code(dst []float32, batch []Instance, shown [][]Shown) error
}

// teacher makes classifiers from rows: what tells one kind of trained expert
// from another.
type teacher interface {
	// Check returns the settings that nobody can learn with.
	Check() error
	// Teach makes the classifier of every lesson and hands each to t.Done. The
	// outcome is a function of the set, the lessons and the settings, whether
	// or not an earlier call was interrupted.
	Teach(ctx context.Context, set *trainingSet, lessons []lesson, t *teaching) error
}

// trained is an expert that the build trains on its training rows, each under
// one level of advice drawn at random: what tells one level from another must
// be in the rows of the coder. Its ONNX files do the answering.
type trained struct {
	trainedSettings
	name    string
	levels  []int // of advice, that it takes
	coder   coder
	teacher teacher
	lessons *Lessons
	runtime *ort.Runtime
	basis   string            // what every model depends on, as text
	about   map[string]string // metadata of the files
	models  []*rowModel       // of all rows, then one per fold; nil until Train
}

// trainedSettings are shared by the experts that the build trains.
type trainedSettings struct {
	Threshold float64 `json:"threshold"` // probability from which the answer is the second label
	Seed      uint64  `json:"seed"`      // of the draw of levels, and of the training
}

func defaultTrainedSettings() trainedSettings { return trainedSettings{Threshold: 0.5} }

// newTrained finishes an expert whose settings have been read. kind and
// learning, a struct of the settings that the models depend on, tell what it
// learns; extra is whatever else they depend on, such as a library's version.
func newTrained(s *Setup, e *trained, kind string, learning any, extra ...string) (*trained, error) {
	if !(e.Threshold > 0 && e.Threshold < 1) {
		return nil, fmt.Errorf("threshold is %v; a probability between 0 and 1 is needed", e.Threshold)
	}
	if err := errors.Join(e.teacher.Check(), checkFileName(s.expert)); err != nil {
		return nil, err
	}
	if len(s.Labels) != 2 {
		return nil, fmt.Errorf("labels: there are %d, an expert of this kind tells two apart", len(s.Labels))
	}
	e.name = s.expert
	for k, name := range s.Advice {
		if !slices.Contains(s.unavailable, name) {
			e.levels = append(e.levels, k)
		}
	}
	if len(e.levels) == 0 {
		return nil, errors.New("unavailable: no advice remains")
	}
	var err error
	if e.lessons, err = s.Lessons(); err != nil {
		return nil, err
	}
	if e.runtime, err = s.Runtime(); err != nil {
		return nil, err
	}
	if err := e.describe(s, kind, learning, extra); err != nil {
		return nil, err
	}
	// The file says the same: what answers can be traced to what it learnt from.
	s.inputs["model training of "+s.part] = e.digest(0)
	return e, nil
}

// checkFileName refuses names that cannot begin the name of a file.
func checkFileName(name string) error {
	if strings.ContainsAny(name, `/\:*?"<>|`) || strings.HasPrefix(name, ".") || strings.Contains(name, "-fold") {
		return fmt.Errorf("the name %q cannot be that of a file NAME.onnx beside NAME-fold0.onnx", name)
	}
	return nil
}

// trainingFormat is part of what models depend on; a change of how rows are
// drawn or experts learn raises it.
const trainingFormat = 1

// describe writes down what the models depend on: the inputs of the build that
// decide which rows there are and what advice shows of them, and the settings
// of the expert, but neither task loss nor fees nor other experts.
func (e *trained) describe(s *Setup, kind string, learning any, extra []string) error {
	b, err := json.Marshal(learning)
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "format %d\nkind %s\nsettings %s\nseed %d\nlabels %q\n", trainingFormat, kind, b, e.Seed, s.Labels)
	fmt.Fprintf(&text, "instances %s\nsplit %s\n", s.cfg.Instances.Kind, s.cfg.Split.Kind)
	for _, k := range e.levels {
		fmt.Fprintf(&text, "level %d %q %s\n", k, s.Advice[k], s.cfg.Advice[k].Kind)
	}
	parts := []string{"instances", "split"}
	for _, name := range s.Advice {
		parts = append(parts, advicePart(name))
	}
	for _, name := range s.inputs.of(parts) {
		fmt.Fprintf(&text, "%s: %s\n", name, s.inputs[name])
	}
	fmt.Fprintf(&text, "runtime %s\n", s.inputs["runtime"])
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
// rows is the same with folds and without.
func (e *trained) digest(model int) string {
	if model == 0 {
		return digest([]byte(e.basis))
	}
	return digest([]byte(fmt.Sprintf("%sfold %d of %s\n", e.basis, model-1, e.lessons.identity())))
}

// file is where a model lies.
func (e *trained) file(folder string, model int) string {
	return filepath.Join(folder, e.name+e.lessons.name(model)+".onnx")
}

// Labels returns the labels in the order of the probabilities.
func (e *trained) Labels() []string { return e.lessons.Labels }

// Limit returns the probability from which the second label is the answer.
func (e *trained) Limit() float64 { return e.Threshold }

// Predict asks, for every instance, the model that answers for it, about all
// levels in one call of the runtime per model.
func (e *trained) Predict(ctx context.Context, batch []Instance, shown [][]Shown) ([][]Prediction, error) {
	out := make([][]Prediction, len(shown))
	for k := range shown {
		if shown[k] != nil {
			out[k] = make([]Prediction, len(batch))
		}
	}
	asked := make([][]int, len(e.models)) // instances per model
	for n := range batch {
		m := e.lessons.Model(batch[n].Row)
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
func (e *trained) ask(ctx context.Context, m *rowModel, members []int, batch []Instance, shown [][]Shown, out [][]Prediction) error {
	batch, shown = choose(members, batch, shown)
	levels := 0
	for k := range shown {
		if shown[k] != nil {
			levels++
		}
	}
	rows := make([]float32, len(batch)*levels*e.coder.Width())
	if err := e.coder.Code(rows, batch, shown); err != nil {
		return err
	}
	p, err := m.probabilities(ctx, rows)
	if err != nil {
		return err
	}
	both := make([]float32, 0, 2*len(p))
	for i, n := range members {
		at := i * levels
		for k := range shown {
			if shown[k] == nil {
				continue
			}
			both = append(both, 1-p[at], p[at])
			out[k][n] = e.prediction(both[len(both)-2:])
			at++
		}
	}
	return nil
}

// prediction is the answer that follows from the probabilities of two labels.
func (e *trained) prediction(p []float32) Prediction {
	label := e.lessons.Labels[0]
	if float64(p[1]) >= e.Threshold {
		label = e.lessons.Labels[1]
	}
	return Prediction{Label: label, Probabilities: p}
}

// choose returns some instances of a batch and what is shown of them.
func choose(members []int, batch []Instance, shown [][]Shown) ([]Instance, [][]Shown) {
	if len(members) == len(batch) {
		return batch, shown
	}
	some, theirs := make([]Instance, len(members)), make([][]Shown, len(shown))
	for i, n := range members {
		some[i] = batch[n]
	}
	for k := range shown {
		if shown[k] == nil {
			continue
		}
		theirs[k] = make([]Shown, len(members))
		for i, n := range members {
			theirs[k][i] = shown[k][n]
		}
	}
	return some, theirs
}

// Close frees the models.
func (e *trained) Close() error {
	var errs []error
	for _, m := range e.models {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	e.models = nil
	return errors.Join(errs...)
}
