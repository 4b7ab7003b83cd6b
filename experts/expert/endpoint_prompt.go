package expert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/costs/grade"
	"pipe/costs/prompt"
	"pipe/experts/builder/part"
	"pipe/experts/language"
	"pipe/internal/textfile"
)

// claimWriter asks for one of its labels for the text of an instance.
type claimWriter []string

func (labels claimWriter) write(in *part.Instance, shown part.AdvicePayload) (language.Conversation, error) {
	if err := in.NeedText(); err != nil {
		return nil, err
	}
	return language.ClaimConversation(labels, in, shown), nil
}

// The names of a template that are not columns.
const (
	namePassages = "Passages"
	nameText     = "Text"
	nameLabels   = "Labels"
)

// templateWriter writes prompts by templates over the columns of an instance and what advice shows.
type templateWriter struct {
	templates []*prompt.Template // of the system's turn, if there is one, and of the user's
	columns   *part.Columns
	at        map[string]int // positions of the columns that are used
	labels    []string       // as prompts spell them
	text      bool           // the text of the instance is used
}

// newTemplateWriter checks the templates on the first instances.
func newTemplateWriter(ctx context.Context, s *part.Setup, system, user string) (*templateWriter, error) {
	w := &templateWriter{columns: s.Source.Columns(), at: make(map[string]int)}
	for _, l := range s.Labels {
		w.labels = append(w.labels, grade.Spelled(l))
	}
	for _, t := range []struct{ what, text string }{{"system", system}, {"prompt", user}} {
		if t.text == "" && t.what == "system" {
			continue
		}
		p, err := prompt.Parse(t.what, t.text)
		if err == nil {
			err = w.find(p)
		}
		if err != nil {
			return nil, err
		}
		w.templates = append(w.templates, p)
	}
	if len(w.at) == 0 && !w.text {
		return nil, errors.New("prompt: it has no column of the instances, so that all prompts would be the same")
	}
	return w, w.try(ctx, s)
}

// find requests the columns that a template uses.
func (w *templateWriter) find(t *prompt.Template) error {
	own := []string{namePassages, nameText, nameLabels}
	for _, name := range t.Names() {
		isColumn := w.columns != nil && slices.Contains(w.columns.Names, name.Text)
		switch {
		case slices.Contains(own, name.Text):
			if isColumn {
				return fmt.Errorf("%s: line %d: %s is both a name of templates and a column; give the column another name", t.What(), name.Line, name.Text)
			}
			w.text = w.text || name.Text == nameText
		case !isColumn:
			return fmt.Errorf("%s: line %d: there is no column %q; known are %s", t.What(), name.Line, name.Text, w.known(own))
		default:
			at, err := w.columns.Find(name.Text)
			if err != nil {
				return fmt.Errorf("%s: line %d: %w", t.What(), name.Line, err)
			}
			w.at[name.Text] = at[0]
		}
	}
	return nil
}

// known lists the names that a template may use.
func (w *templateWriter) known(own []string) string {
	if w.columns == nil {
		return strings.Join(own, ", ")
	}
	return textfile.Listed(slices.Concat(w.columns.Names, own), part.NamesShown+len(own))
}

// tried is how many of the first instances a template is tried on.
const tried = 3

// try writes the prompts of the first instances, without passages and with two.
func (w *templateWriter) try(ctx context.Context, s *part.Setup) error {
	rows := make([]int, min(tried, len(s.Source.Entries())))
	for i := range rows {
		rows[i] = i
	}
	list, err := s.Load(ctx, rows)
	if err != nil {
		return err
	}
	for n := range list {
		for _, passages := range [][]part.Passage{nil, {{Page: "A", Text: "a"}, {Page: "B", Text: "b"}}} {
			if _, err := w.write(&list[n], part.AdvicePayload{Passages: passages}); err != nil {
				return err
			}
		}
	}
	return nil
}

// write fills in the templates. A column that advice hides is empty.
func (w *templateWriter) write(in *part.Instance, shown part.AdvicePayload) (language.Conversation, error) {
	if w.text {
		if err := in.NeedText(); err != nil {
			return nil, err
		}
	}
	values := map[string]any{namePassages: shown.Passages, nameText: in.Text, nameLabels: w.labels}
	for name, at := range w.at {
		values[name] = ""
		if shown.Revealed == nil || shown.Revealed[at] {
			values[name] = w.columns.Cell(in, at)
		}
	}
	var c language.Conversation
	for _, t := range w.templates {
		text, err := t.Write(values)
		if err != nil {
			return nil, &costs.DataError{Msg: fmt.Sprintf("instance %q", in.ID), Err: err}
		}
		c = append(c, language.Message{Role: "user", Content: text})
	}
	if len(c) == 2 {
		c[0].Role = "system"
	}
	return c, nil
}
