package grade

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pipe/costs/prompt"
)

// question is what graders that ask a model share: templates over question, answer and references.
type question struct {
	spelling  normaliser
	reference bool // the templates have a reference
}

// newQuestion checks the names that templates use.
func newQuestion(templates ...*prompt.Template) (*question, error) {
	known := []string{"Question", "Answer", "Reference", "References"}
	q := &question{spelling: normaliser{ignoreCase: true, ignoreSpace: true}}
	answer := false
	for _, t := range templates {
		for _, name := range t.Names() {
			if !slices.Contains(known, name.Text) {
				return nil, fmt.Errorf("%s: line %d: unknown name %q; known are %s", t.What(), name.Line, name.Text, strings.Join(known, ", "))
			}
			answer = answer || name.Text == "Answer"
			q.reference = q.reference || strings.HasPrefix(name.Text, "Reference")
		}
	}
	if !answer {
		return nil, errors.New("no template has {{.Answer}}, so that every answer would have the same score")
	}
	return q, nil
}

// values are those of the templates.
func (q *question) values(a Answer, references []string) map[string]any {
	v := map[string]any{"Question": a.Question, "Answer": WithoutThoughts(a.Text), "References": references, "Reference": ""}
	if len(references) > 0 {
		v["Reference"] = references[0]
	}
	return v
}

// Key returns the answer in one spelling.
func (q *question) Key(answer string) (string, bool) {
	key := q.spelling.text(WithoutThoughts(answer))
	return key, key != ""
}

// NeedsReference reports whether the templates have a reference.
func (q *question) NeedsReference() bool { return q.reference }

// Check refuses an empty reference.
func (q *question) Check(reference string) error {
	if q.reference && strings.TrimSpace(reference) == "" {
		return errors.New("is empty")
	}
	return nil
}

// canOpen checks that a model is named, and can be opened here.
func canOpen(model map[string]any, models Models) error {
	switch {
	case len(model) == 0:
		return errors.New("model: not set")
	case models == nil:
		return errors.New("model: no model can be opened here")
	}
	return nil
}
