package outcome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/costs/grade"
	"pipe/internal/textfile"
)

// gradeKey is the key in Tensor.Meta for the grader of recorded answers: the
// JSON form of its configuration.
const gradeKey = "pipe.grade"

// OpenGrader opens a grader. Import closes it if it is an io.Closer.
type OpenGrader func(ctx context.Context, c grade.Config) (grade.Grader, error)

// Graded counts the answers that a grader has judged.
type Graded struct {
	Kind    string `json:"kind"`
	Answers int    `json:"answers"` // outcomes
	// Without counts those that lack what the grader looks for, such as a number;
	// their score is 0.
	Without int `json:"without,omitempty"`
}

// grading judges the answers of a log.
type grading struct {
	grader grade.Grader
	config grade.Config
	list   bool // a cell of references is a JSON list
	report Graded
}

// check reports whether a cell has references that an answer can be compared
// with.
func (g *grading) check(cell string) error {
	references, err := grade.References(cell, g.list)
	if err != nil {
		return err
	}
	for _, r := range references {
		if err := g.grader.Check(r); err != nil {
			return fmt.Errorf("%s %w", textfile.Quoted(r), err)
		}
	}
	return nil
}

// gradeRows is the number of rows whose answers are judged in one call.
const gradeRows = 512

// judge sets the losses of a tensor whose predictions are answers: 1 - score.
// references and questions have a text per row, or are nil.
func (g *grading) judge(ctx context.Context, t *costs.Tensor, references, questions []string) error {
	g.report.Kind = g.config.Kind
	for from := 0; from < t.Len(); from += gradeRows {
		if err := g.judgeRows(ctx, t, references, questions, from, min(from+gradeRows, t.Len())); err != nil {
			return err
		}
	}
	b, err := json.Marshal(g.config)
	t.Meta[gradeKey] = string(b)
	return err
}

// judgeRows judges the answers of some rows, equal answers to one instance once.
func (g *grading) judgeRows(ctx context.Context, t *costs.Tensor, references, questions []string, from, to int) error {
	type judged struct {
		row    int
		answer string
	}
	a := t.Actions.Len()
	at := make(map[judged]int)
	var answers []grade.Answer
	var cells []int // of the answers, the first of each
	for n := from; n < to; n++ {
		answer, err := g.answer(references, questions, n)
		if err != nil {
			return &costs.DataError{Msg: fmt.Sprintf("instance %s: reference %v", textfile.Quoted(t.IDs[n]), err)}
		}
		for i := n * a; i < (n+1)*a; i++ {
			if t.Loss[i] != t.Loss[i] {
				continue
			}
			key := judged{n, t.Predictions[i]}
			if _, ok := at[key]; !ok {
				at[key] = len(answers)
				answer.Text = key.answer
				answers, cells = append(answers, answer), append(cells, i)
			}
		}
	}
	scores, err := g.grader.Grade(ctx, answers)
	if one, ok := errors.AsType[*grade.AnswerError](err); ok {
		i := cells[one.Index]
		err = fmt.Errorf("grade the answer of %s to instance %s: %w", t.Actions.Name(i%a), textfile.Quoted(t.IDs[i/a]), err)
	}
	if err != nil {
		return err
	}
	for i := from * a; i < to*a; i++ {
		if t.Loss[i] != t.Loss[i] {
			continue
		}
		t.Loss[i] = float32(1 - scores[at[judged{i / a, t.Predictions[i]}]])
		g.report.Answers++
		if _, ok := g.grader.Key(t.Predictions[i]); !ok {
			g.report.Without++
		}
	}
	return nil
}

// answer is what the answers to one row have in common.
func (g *grading) answer(references, questions []string, n int) (a grade.Answer, err error) {
	if references != nil {
		if a.References, err = grade.References(references[n], g.list); err != nil {
			return a, err
		}
	}
	if questions != nil {
		a.Question = questions[n]
	}
	return a, nil
}
