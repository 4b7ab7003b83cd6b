package builder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/costs/observe"
	"pipe/experts/builder/part"
)

// makeFacts chooses the facts of answers that the rows have: those that the configuration names and some expert knows.
func (p *plan) makeFacts(context.Context) error {
	known := make(map[string]bool)
	for _, e := range p.Experts {
		for _, name := range p.observes(e) {
			known[name] = true
		}
	}
	for _, f := range p.features {
		if t, ok := f.(part.TextFeature); ok && p.vectors == nil && known[observe.Length] {
			p.vectors, known[observe.Cosine] = t, true
		}
	}
	var unknown []string
	for _, name := range slices.Sorted(slices.Values(p.cfg.Observe)) {
		f := costs.Fact{Name: name}
		if observe.IsCategory(name) {
			f.Values = []string{}
		}
		if known[name] {
			p.options.Facts = append(p.options.Facts, f)
		} else {
			unknown = append(unknown, name)
		}
	}
	if all := len(p.cfg.Observe) == len(observe.Names()); all || p.someExperts || unknown == nil {
		return nil
	}
	text := "no expert knows " + strings.Join(unknown, ", ") + " of its answers"
	if slices.Contains(unknown, observe.Cosine) {
		text += "; cosine needs answers that are texts, and a feature of kind text"
	}
	return &PartError{"observe", errors.New(text)}
}

// observes lists the facts that an expert may know of its answers.
func (p *plan) observes(e part.NamedExpert) []string {
	if o, ok := e.Expert.(part.Observable); ok {
		return o.Observes()
	}
	if p.open() {
		return []string{observe.Length, observe.JSON}
	}
	if _, ok := e.Expert.(part.Classifier); ok {
		return []string{observe.Label, observe.Confidence}
	}
	return []string{observe.Label}
}

// open reports whether answers are texts, and not labels.
func (p *plan) open() bool {
	_, open := p.Loss.(part.OpenLoss)
	return open
}

// seen is what is known of an answer.
func (p *plan) seen(e part.Expert, a *part.Prediction) observe.Answer {
	s := observe.Unknown()
	if a.Seen != nil {
		s = *a.Seen
	}
	switch {
	case !p.open():
		s.Label = a.Label
	case !s.Written && a.Label != "":
		s.Written, s.Text = true, a.Label
	}
	if c, ok := e.(part.Classifier); ok && len(a.Probabilities) > 0 {
		if at := slices.Index(c.Labels(), a.Label); at >= 0 {
			s.Confidence = min(max(float64(a.Probabilities[at]), 0), 1) // those of quantised networks may lie outside
		}
	}
	return s
}

// factSheet writes the facts of answers into a tensor.
type factSheet struct {
	*plan
	into []costs.FactBuilder
}

func (p *plan) factSheet(t *costs.Tensor) *factSheet {
	s := &factSheet{plan: p}
	for i := range t.Facts {
		s.into = append(s.into, costs.NewFactBuilder(&t.Facts[i]))
	}
	return s
}

// add writes the facts of the answers to a batch, which starts at row at of the tensor.
func (s *factSheet) add(ctx context.Context, b *part.Batch, at int) error {
	if len(s.into) == 0 {
		return nil
	}
	var list []observe.Answer
	for j, e := range s.Experts {
		for _, level := range b.Answers[j] {
			for n := range level {
				list = append(list, s.seen(e.Expert, &level[n]))
			}
		}
	}
	if err := s.compare(ctx, b, list); err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	for j := range s.Experts {
		for k, level := range b.Answers[j] {
			for n := range level {
				if err := s.write((at+n)*s.actions.Len()+s.actions.Index(j, k), &list[0]); err != nil {
					return fmt.Errorf("action %s: instance %q: %w", s.actions.Name(s.actions.Index(j, k)), b.Instances[n].ID, err)
				}
				list = list[1:]
			}
		}
	}
	return nil
}

// compare computes the cosines of questions and answers, which are level by level those to the instances of the batch.
func (s *factSheet) compare(ctx context.Context, b *part.Batch, answers []observe.Answer) error {
	wanted := slices.ContainsFunc(s.into, func(f costs.FactBuilder) bool { return f.Name == observe.Cosine })
	if !wanted {
		return nil
	}
	var which []int
	var texts []string
	for i := range answers {
		if question, answer := b.Instances[i%len(b.Instances)].Text, answers[i].Content(); question != "" && answer != "" {
			which, texts = append(which, i), append(texts, question, answer)
		}
	}
	vectors, err := s.vectors.Vectors(ctx, texts)
	if err != nil {
		return err
	}
	for i, n := range which {
		answers[n].Cosine = observe.CosineOf(vectors[2*i], vectors[2*i+1])
	}
	return nil
}

// write writes the facts of one answer. What is not known stays so.
func (s *factSheet) write(cell int, a *observe.Answer) error {
	for _, f := range s.into {
		if !f.Category() {
			f.Data[cell] = float32(a.Number(f.Name))
		} else if value := a.Category(f.Name); value != "" {
			if err := f.SetText(cell, value); err != nil {
				return fmt.Errorf("%s %w", f.Name, err)
			}
		}
	}
	return nil
}

// finish sorts the values of the facts. Nothing may be added then.
func (s *factSheet) finish() {
	for _, f := range s.into {
		f.Sort()
	}
}

// completeFacts gives a tensor the facts of this build; what it lacks is not known.
func (p *plan) completeFacts(t *costs.Tensor) {
	facts := make([]costs.Facts, 0, len(p.options.Facts))
	for _, f := range p.options.Facts {
		if have := t.Fact(f.Name); have != nil {
			facts = append(facts, *have)
		} else {
			facts = append(facts, costs.NewFacts(f, len(t.Loss)))
		}
	}
	t.Facts = facts
}
