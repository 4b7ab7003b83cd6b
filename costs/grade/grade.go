package grade

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"pipe/internal/textfile"
)

// Answer is an answer with what it is judged by.
type Answer struct {
	Text       string
	References []string // accepted answers; the best score counts
	Question   string   // for graders that show it to a model; "" if it is not known
}

// Grader judges answers. It is safe for concurrent use. One that holds a model is an io.Closer, too.
type Grader interface {
	// Key returns what of an answer is judged, such as its number, in one spelling: answers with equal keys are the same
	// answer. ok is false if the answer has no such thing.
	Key(answer string) (key string, ok bool)
	// NeedsReference reports whether answers are compared with references.
	NeedsReference() bool
	// Check returns an error if a text cannot be a reference, for instance because it has no number.
	Check(reference string) error
	// Grade returns a score from 0 (wrong) to 1 (right) for every answer, in order. A reference that Check refuses, and
	// a missing one, is an *AnswerError.
	Grade(ctx context.Context, answers []Answer) ([]float64, error)
}

// AnswerError says which answer cannot be graded.
type AnswerError struct {
	Index int // among the answers of the call
	Err   error
}

// Error returns what is wrong. The caller names the answer.
func (e *AnswerError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *AnswerError) Unwrap() error { return e.Err }

// comparer is a grader that needs nothing but two texts. Its methods take answers without thoughts.
type comparer interface {
	key(answer string) (string, bool)
	check(reference string) error
	score(answer, reference string) float64 // of a reference that was checked
}

// texts makes a Grader of a comparer.
type texts struct{ comparer }

func (t texts) Key(answer string) (string, bool) { return t.key(WithoutThoughts(answer)) }
func (texts) NeedsReference() bool               { return true }
func (t texts) Check(reference string) error     { return t.check(reference) }

func (t texts) Grade(ctx context.Context, answers []Answer) ([]float64, error) {
	scores := make([]float64, len(answers))
	for i, a := range answers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := checkAll(t, a.References); err != nil {
			return nil, &AnswerError{i, err}
		}
		text := WithoutThoughts(a.Text)
		for _, reference := range a.References {
			scores[i] = max(scores[i], t.score(text, reference))
		}
	}
	return scores, nil
}

var errNoReference = errors.New("there is no reference to compare the answer with")

// checkAll checks the references of an answer.
func checkAll(g Grader, references []string) error {
	if len(references) == 0 {
		return errNoReference
	}
	for _, r := range references {
		if err := g.Check(r); err != nil {
			return fmt.Errorf("the reference %s %w", textfile.Quoted(r), err)
		}
	}
	return nil
}

var (
	thought     = regexp.MustCompile(`(?is)^.*</think>`) // the template may have opened the block in the prompt
	openThought = regexp.MustCompile(`(?is)<think>.*$`)  // truncated by the limit of tokens
)

// WithoutThoughts removes the <think> blocks that reasoning models write before their answer.
func WithoutThoughts(answer string) string {
	return openThought.ReplaceAllString(thought.ReplaceAllString(answer, ""), "")
}
