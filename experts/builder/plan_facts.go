package builder

import (
	"context"
	"errors"
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
