package outcome

import (
	"context"
	"io"

	"pipe/costs"
	"pipe/costs/grade"
	"pipe/internal/dataerror"
)

// openGrader prepares the grader of answers, if there are any.
func (m *importer) openGrader(ctx context.Context) error {
	o := m.config.Outcomes
	if o.Grade.Kind == "" {
		return nil
	}
	open := m.config.OpenGrader
	if open == nil {
		open = func(ctx context.Context, c grade.Config) (grade.Grader, error) { return grade.Open(ctx, c, nil) }
	}
	g, err := open(ctx, o.Grade)
	if err != nil {
		return err
	}
	if c, ok := g.(io.Closer); ok {
		m.closers = append(m.closers, c)
	}
	if g.NeedsReference() && !m.config.hasReference() {
		return &costs.DataError{File: o.File.String(), Msg: "outcomes.grade: " + noReference}
	}
	m.grading = &grading{grader: g, config: o.Grade, list: o.ReferenceList}
	return nil
}

// gradeAnswers turns answers into losses.
func (m *importer) gradeAnswers(ctx context.Context, t *costs.Tensor, keep []int) error {
	if m.grading == nil {
		return nil
	}
	var references, questions []string
	if m.references != nil {
		references = m.references.pick(keep)
	}
	if m.questions != nil {
		questions = m.questions.pick(keep)
	}
	err := m.grading.judge(ctx, t, references, questions)
	m.report.Graded = &m.grading.report
	return dataerror.InFile(m.config.Outcomes.File.String(), err)
}

// checkReference refuses a reference that no answer can be compared with.
func (m *importer) checkReference(cell string) error {
	if m.grading == nil {
		return nil
	}
	if err := m.grading.check(cell); err != nil {
		return &costs.DataError{Column: m.references.name, Err: err}
	}
	return nil
}
