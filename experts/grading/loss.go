package grading

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"pipe/costs"
	"pipe/costs/grade"
	"pipe/experts/builder/part"
)

// loss is a task loss of open answers: 1 - score.
type loss struct{ grade.Grader }

// NewLoss returns the constructor of the task loss of a kind of graders.
func NewLoss(kind string) part.NewLoss {
	return func(ctx context.Context, s *part.Setup, settings map[string]any) (part.TaskLoss, error) {
		g, err := Open(ctx, s, grade.Config{Kind: kind, Settings: settings})
		if err != nil {
			return nil, err
		}
		l := &loss{g}
		if err := l.suits(ctx, s); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		return l, nil
	}
}

// Open makes a grader within a part, whose settings become inputs of the build. Models that it needs come from the build.
func Open(ctx context.Context, s *part.Setup, c grade.Config) (grade.Grader, error) {
	g, err := grade.Open(ctx, c, &models{s})
	if err != nil {
		return nil, err
	}
	own := maps.Clone(c.Settings)
	delete(own, "model") // makes its settings inputs itself
	return g, s.InputSettings(grade.Config{Kind: c.Kind, Settings: own})
}

// suits checks that the instances have no labels, and references that the grader can use.
func (l *loss) suits(ctx context.Context, s *part.Setup) error {
	if len(s.Labels) > 0 {
		return errors.New("a grader is for open answers, but the build has labels: use zero_one, weighted or money")
	}
	source, ok := s.Source.(part.ReferenceSource)
	if !l.NeedsReference() {
		return nil
	}
	if !ok || source.References() == "" {
		return fmt.Errorf("the instances have no references: name their column with the setting reference of the instances (kind table)")
	}
	return s.EachInstance(ctx, func(in *part.Instance) error {
		for _, r := range in.References {
			if err := l.Check(r); err != nil {
				return &costs.DataError{File: source.Columns().File.String(), Row: in.Line, Column: source.References(), Err: err}
			}
		}
		return nil
	})
}

// Loss judges one answer.
func (l *loss) Loss(in *part.Instance, p part.Prediction) (float32, error) {
	losses, err := l.Losses(context.Background(), []part.Instance{*in}, []part.Prediction{p})
	if err != nil {
		return 0, err
	}
	return losses[0], nil
}

// Losses judges the answers to a batch.
func (l *loss) Losses(ctx context.Context, batch []part.Instance, given []part.Prediction) ([]float32, error) {
	answers := make([]grade.Answer, len(batch))
	for n := range batch {
		answers[n] = grade.Answer{Text: given[n].Label, References: batch[n].References, Question: batch[n].Text}
	}
	scores, err := l.Grade(ctx, answers)
	if one, ok := errors.AsType[*grade.AnswerError](err); ok {
		return nil, fmt.Errorf("instance %q: %w", batch[one.Index].ID, err)
	}
	if err != nil {
		return nil, err
	}
	losses := make([]float32, len(scores))
	for n, score := range scores {
		losses[n] = float32(1 - score)
	}
	return losses, nil
}

// Close frees the models of the grader.
func (l *loss) Close() error {
	if c, ok := l.Grader.(interface{ Close() error }); ok {
		return c.Close()
	}
	return nil
}
