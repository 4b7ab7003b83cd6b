package builder

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/internal/parallel"
)

// ExpertReport describes how good the experts of a build are on its validation
// rows.
type ExpertReport struct {
	Rows      int               `json:"rows"`                // with split val
	Labels    []string          `json:"labels"`              //
	Positive  string            `json:"positive,omitempty"`  // the second of two labels, of which recall, precision and probabilities speak
	Rate      float64           `json:"rate,omitempty"`      // share of the positive label
	CrossFit  string            `json:"cross_fit,omitempty"` // which models answer for training rows; models of all training rows answer for validation rows
	Experts   []ExpertFigures   `json:"experts"`             // expert by expert, for each the advice that it takes
	Constants []ConstantFigures `json:"constants,omitempty"` // cost of constant answers
}

// ExpertFigures are the figures of one expert under one advice.
type ExpertFigures struct {
	Expert    string   `json:"expert"`
	Advice    string   `json:"advice"`
	Threshold *float64 `json:"threshold,omitempty"` // probability from which the answer is positive
	Figures
}

// ConstantFigures are the figures of a constant answer.
type ConstantFigures struct {
	Label string `json:"label"`
	Figures
}

// Figures measure answers. A figure that is undefined is nil: an expert with
// its own losses has no accuracy, there is no precision without a positive
// answer, and only probabilities of two labels have the last four.
type Figures struct {
	Loss             float64  `json:"loss"`                        // mean task loss, fees not counted
	Accuracy         *float64 `json:"accuracy,omitempty"`          // share of right answers
	BalancedAccuracy *float64 `json:"balanced_accuracy,omitempty"` // mean recall of the labels
	Recall           *float64 `json:"recall,omitempty"`            // of the positive label
	Precision        *float64 `json:"precision,omitempty"`         // of the positive label
	AUC              *float64 `json:"auc,omitempty"`               // area under the ROC curve, ties count half
	Brier            *float64 `json:"brier,omitempty"`             // mean squared distance of probability and outcome
	CalibrationError *float64 `json:"calibration_error,omitempty"` // expected, over ten equally wide bins
	MeanProbability  *float64 `json:"mean_probability,omitempty"`  // to compare with Rate
}

// Diagnose asks every expert under every advice about the validation rows of a
// build. Like Run, it first trains the experts that learn. Both use the same
// trained files and the same lock, and return the same errors. The tensor is
// neither needed nor written; o.Restart is ignored.
func Diagnose(ctx context.Context, cfg part.Config, o Options) (_ *ExpertReport, err error) {
	defer titled(&err, "diagnose experts")
	p, out, err := prepare(ctx, &cfg, &o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	rows, err := p.validation()
	if err != nil {
		return nil, err
	}
	w, err := openWork(out.String())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if _, err := w.resume(ctx, p.Inputs, false); err != nil {
		return nil, err
	}
	if err := p.prepare(ctx, w, rows, &o); err != nil {
		return nil, err
	}
	v, err := p.judgeAll(ctx, rows, o.Progress)
	if err != nil {
		return nil, err
	}
	return p.figures(v), nil
}

// DiagnoseTensor is Diagnose for the answers in some rows of a tensor; it asks no expert. It omits constants and the
// figures that need probabilities. labels are all labels; nil: those that occur in the tensor. A tensor without
// predictions or labels is an error.
func DiagnoseTensor(t *costs.Tensor, rows []int, labels []string) (*ExpertReport, error) {
	if t.Predictions == nil || t.Labels == nil {
		return nil, errors.New("diagnose experts: the tensor has no predictions or no labels")
	}
	if labels == nil {
		labels = slices.Compact(slices.Sorted(slices.Values(slices.Concat(t.Labels, t.Predictions))))
	}
	r := &ExpertReport{Rows: len(rows), Labels: labels}
	for a, available := range t.Actions.Mask() {
		if !available {
			continue
		}
		j := blankJudgement(len(rows))
		for i, row := range rows {
			cell := row*t.Actions.Len() + a
			j.truth[i] = int16(slices.Index(labels, t.Labels[row]))
			j.answer[i], j.loss[i] = int16(slices.Index(labels, t.Predictions[cell])), t.Loss[cell]
			if j.truth[i] < 0 {
				return nil, fmt.Errorf("diagnose experts: instance %q has no label to be judged by", t.IDs[row])
			}
		}
		expert, advice := t.Actions.Pair(a)
		r.Experts = append(r.Experts, ExpertFigures{
			Expert: t.Actions.Experts[expert].Name, Advice: t.Actions.Advice[advice].Name, Figures: j.measure(len(labels)),
		})
	}
	return r, nil
}

// validation returns the rows to judge on.
func (p *plan) validation() ([]int, error) {
	var rows []int
	for n, s := range p.splits {
		if s != costs.Val {
			continue
		}
		if !slices.Contains(p.Labels, p.Source.Entries()[n].Label) {
			return nil, fmt.Errorf("instance %q has no label to be judged by", p.Source.Entries()[n].ID)
		}
		rows = append(rows, n)
	}
	if len(rows) == 0 {
		return nil, errors.New("there are no validation rows to judge on")
	}
	return rows, nil
}

// verdict holds the answers for the validation rows.
type verdict struct {
	actions   []*judgement // per action, nil if the pair does not exist
	constants []*judgement // per label, as the constant answer
}

// judgeAll asks about the rows, batch by batch.
func (p *plan) judgeAll(ctx context.Context, rows []int, progress part.Progress) (*verdict, error) {
	v := &verdict{make([]*judgement, p.actions.Len()), make([]*judgement, len(p.Labels))}
	for a, available := range p.actions.Mask() {
		if available {
			v.actions[a] = newJudgement(p, rows)
		}
	}
	for c := range v.constants {
		v.constants[c] = newJudgement(p, rows)
	}
	progress.Start(int64(len(rows)), "validation rows")
	defer progress.Done()
	batches := p.cut(rows)
	err := parallel.Each(ctx, p.Workers, len(batches), func(ctx context.Context, i int) error {
		if err := p.judgeBatch(ctx, v, batches[i].at, batches[i].rows); err != nil {
			return err
		}
		progress.Add(int64(len(batches[i].rows)))
		return nil
	})
	return v, err
}

// judgeBatch writes the entries of a batch, from at.
func (p *plan) judgeBatch(ctx context.Context, v *verdict, at int, rows []int) error {
	batch, err := p.Load(ctx, rows)
	if err != nil {
		return err
	}
	answers, err := p.answers(ctx, batch, nil)
	if err != nil {
		return err
	}
	for a, j := range v.actions {
		expert, advice := p.actions.Pair(a)
		if j == nil {
			continue
		}
		if err := p.note(ctx, j, at, batch, answers[expert][advice], p.positive(expert)); err != nil {
			return err
		}
	}
	for c, j := range v.constants {
		always := make([]part.Prediction, len(batch))
		for n := range always {
			always[n].Label = p.Labels[c]
		}
		if err := p.note(ctx, j, at, batch, always, -1); err != nil {
			return err
		}
	}
	return nil
}

func newJudgement(p *plan, rows []int) *judgement {
	j := blankJudgement(len(rows))
	for i, row := range rows {
		j.truth[i] = int16(slices.Index(p.Labels, p.Source.Entries()[row].Label))
	}
	return j
}

// positive is the index of the second of two labels in an expert's
// probabilities, -1 if it has none.
func (p *plan) positive(expert int) int {
	c, ok := p.Experts[expert].Expert.(part.Classifier)
	if !ok || len(p.Labels) != 2 || len(c.Labels()) != 2 {
		return -1
	}
	return slices.Index(c.Labels(), p.Labels[1])
}

// note writes the answers of a batch into the rows from at. positive is the
// index of the probability of the positive label, -1 if it is not known.
func (p *plan) note(ctx context.Context, j *judgement, at int, batch []part.Instance, answers []part.Prediction, positive int) error {
	losses, err := p.losses(ctx, batch, answers)
	if err != nil {
		return err
	}
	for n, a := range answers {
		j.answer[at+n], j.loss[at+n] = int16(slices.Index(p.Labels, a.Label)), losses[n]
		if positive >= 0 {
			j.probability[at+n] = a.Probabilities[positive]
		}
	}
	return nil
}

// figures turns a verdict into a report.
func (p *plan) figures(v *verdict) *ExpertReport {
	r := &ExpertReport{Labels: p.Labels, CrossFit: p.Inputs["cross_fit"]}
	truth := v.constants[0].truth
	r.Rows = len(truth)
	if len(p.Labels) == 2 {
		r.Positive = p.Labels[1]
		for _, y := range truth {
			r.Rate += float64(y)
		}
		r.Rate /= float64(len(truth))
	}
	for a, j := range v.actions {
		if j == nil {
			continue
		}
		expert, advice := p.actions.Pair(a)
		f := ExpertFigures{Expert: p.actions.Experts[expert].Name, Advice: p.actions.Advice[advice].Name, Figures: j.measure(len(p.Labels))}
		if t, ok := p.Experts[expert].Expert.(interface{ Limit() (float64, bool) }); ok {
			if limit, ok := t.Limit(); ok {
				f.Threshold = &limit
			}
		}
		r.Experts = append(r.Experts, f)
	}
	for c, j := range v.constants {
		r.Constants = append(r.Constants, ConstantFigures{p.Labels[c], j.measure(len(p.Labels))})
	}
	return r
}
