package builder

import (
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/internal/textfile"
)

// checkShown rejects advice that does not show every instance of a batch, or whose number of columns or groups is not that
// of the source.
func (p *plan) checkShown(batch []part.Instance, shown []part.AdvicePayload) error {
	if len(shown) != len(batch) {
		return fmt.Errorf("it showed %d of %d instances", len(shown), len(batch))
	}
	columns, groups := -1, -1
	if c := p.Source.Columns(); c != nil {
		columns = len(c.Names)
	}
	if e, ok := p.Source.(part.EncodedSource); ok {
		groups = len(e.Encoder().Groups())
	}
	for n := range shown {
		if err := checkWidth("Revealed", len(shown[n].Revealed), columns); err != nil {
			return fmt.Errorf("instance %q: %w", batch[n].ID, err)
		}
		if err := checkWidth("Groups", len(shown[n].Groups), groups); err != nil {
			return fmt.Errorf("instance %q: %w", batch[n].ID, err)
		}
	}
	return nil
}

// checkWidth compares the length of a list, 0 for none, with what the source has, -1 for nothing that can be compared.
func checkWidth(name string, have, want int) error {
	if have > 0 && want >= 0 && have != want {
		return fmt.Errorf("%s has %d values, not %d", name, have, want)
	}
	return nil
}

// checkAnswers reports answers that are not one per instance under every advice that the expert takes, or whose values
// cannot be.
func (p *plan) checkAnswers(e part.NamedExpert, batch []part.Instance, answers [][]part.Prediction) error {
	if len(answers) != len(p.Levels) {
		return fmt.Errorf("%s gave answers under %d levels of advice, not %d", part.ExpertName(e.Name), len(answers), len(p.Levels))
	}
	check := p.newAnswerCheck(e)
	for k, level := range answers {
		expert, advice := part.ExpertName(e.Name), part.AdviceName(p.Levels[k].Name)
		switch {
		case !e.Takes[k] && len(level) > 0:
			return fmt.Errorf("%s gave %d answers under %s, which it does not take", expert, len(level), advice)
		case e.Takes[k] && len(level) != len(batch):
			return fmt.Errorf("%s gave %d answers for %d instances under %s", expert, len(level), len(batch), advice)
		}
		for n := range level {
			if err := check.answer(&level[n]); err != nil {
				return fmt.Errorf("%s: instance %q under %s: %w", expert, batch[n].ID, advice, err)
			}
		}
	}
	return nil
}

// answerCheck is what the answers of one expert must keep to.
type answerCheck struct {
	build      *plan
	classifier bool
	labels     []string // of the classifier, which may know more than the build
	metered    bool
	consumed   costs.UsageFlags
}

func (p *plan) newAnswerCheck(e part.NamedExpert) *answerCheck {
	check := &answerCheck{build: p}
	if c, ok := e.Expert.(part.Classifier); ok {
		check.classifier, check.labels = true, c.Labels()
	}
	m, ok := e.Expert.(part.Metered)
	check.metered, check.consumed = ok && m.Metered(), consumed(e.Expert)
	return check
}

// answer checks one answer.
func (c *answerCheck) answer(a *part.Prediction) error {
	switch {
	case a.Judged && !isCost(a.Loss):
		return fmt.Errorf("its loss is %v; a finite number of at least 0 is needed", a.Loss)
	case !isCost(a.Fee):
		return fmt.Errorf("its fee is %v; a finite number of at least 0 is needed", a.Fee)
	case a.Fee != 0 && !c.metered:
		return fmt.Errorf("its fee is %v, but the expert is not Metered: the fee would be lost", a.Fee)
	case c.usage(a.Usage) != nil:
		return c.usage(a.Usage)
	case !a.Judged && !c.knows(a.Label):
		return fmt.Errorf("unknown label %q; known are %s", textfile.Short(a.Label), textfile.Listed(c.build.Labels, part.NamesShown))
	case c.classifier:
		return c.probabilities(a.Probabilities)
	}
	return nil
}

// usage checks what an answer says that its calls used.
func (c *answerCheck) usage(u *part.Usage) error {
	if u == nil {
		return nil
	}
	for q, v := range u {
		switch name := costs.Quantity(q); {
		case v != v:
		case !isCost(v):
			return fmt.Errorf("its %s is %v; a finite number of at least 0 is needed", name, v)
		case !c.consumed[q]:
			return fmt.Errorf("its %s is %v, but the expert is not a Consumer of it: it would be lost", name, v)
		}
	}
	if u[costs.TokensCached] > u[costs.TokensIn] {
		return fmt.Errorf("%v of its %v tokens are cached", u[costs.TokensCached], u[costs.TokensIn])
	}
	return nil
}

// knows reports whether a label may be an answer. A network may know classes that no instance has, and where nothing has
// a label every answer is as good as another.
func (c *answerCheck) knows(label string) bool {
	return label == "" || len(c.build.known) == 0 || c.build.known[label] || slices.Contains(c.labels, label)
}

// notProbable is how far probabilities may be outside of 0..1, as those of quantised networks are.
const notProbable = 1e-2

// probabilities checks those of a classifier.
func (c *answerCheck) probabilities(list []float32) error {
	if len(list) != len(c.labels) {
		return fmt.Errorf("it has %d probabilities for %d labels", len(list), len(c.labels))
	}
	for i, v := range list {
		if !(v >= -notProbable && v <= 1+notProbable) {
			return fmt.Errorf("the probability of label %q is %v", c.labels[i], v)
		}
	}
	return nil
}

// isCost reports whether a number can be a loss or a fee.
func isCost(v float32) bool { return v >= 0 && v <= math.MaxFloat32 }
