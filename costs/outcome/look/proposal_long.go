package look

import (
	"math"
	"slices"
	"strings"

	"pipe/internal/textfile"
)

// long proposes the long form: a row per request and pair. It reports whether the table has it.
func (p *Proposal) long() (bool, error) {
	t := p.Outcomes
	var found *shape
	for _, expert := range t.experts() {
		if found = t.shape(expert); found != nil {
			break
		}
	}
	if found == nil {
		return false, p.repeated()
	}
	l := &Long{Expert: found.expert.Name, Experts: slices.Clone(found.expert.Values)}
	p.ID, p.Long = found.id.Name, l
	used := []string{p.ID, l.Expert}
	if found.advice != nil {
		l.Advice = found.advice.Name
		used = append(used, l.Advice)
		p.advices(found.advice)
	}
	if err := p.value(used); err != nil {
		return true, err
	}
	p.Reason = "several rows have the same one"
	if t.unique(found.id) {
		return true, p.decisions()
	}
	l.Fee = p.columnOf(feeWords, used, (*Column).numeric)
	l.Prediction = p.columnOf(answerWords, append(used, l.Value), (*Column).complete)
	if !likeAny(l.Expert, expertWords) {
		p.Checks = append(p.Checks, "the experts may be in another column than "+l.Expert+": no column has a usual name for them")
	}
	return true, nil
}

// shape is which columns name a row in long form.
type shape struct{ id, expert, advice *Column }

// experts are the columns that may name experts: by their name, else texts with few values.
func (t *Table) experts() []*Column {
	few := func(c *Column) bool {
		return c.complete() && c.Values != nil && c.Distinct > 1 && c.Distinct <= mostValues && c.Distinct < t.Rows && (c.Kind == Text || c.Kind == Integer)
	}
	one := func(c *Column) bool { return c.complete() && c.Kind == Text && c.Distinct == 1 }
	found := append(t.named(expertWords, few), t.named(expertWords[:10], one)...)
	if len(found) > 0 {
		return found
	}
	for _, c := range t.Columns {
		if few(c) && c.Kind == Text && c.Distinct <= 50 && !likeAny(c.Name, slices.Concat(splitWords, labelWords, groupWords, laterWords)) {
			found = append(found, c)
		}
	}
	return found
}

// shape finds the id and the advice that go with a column of experts, nil if there are none.
func (t *Table) shape(expert *Column) *shape {
	ids := t.named(idWords, func(c *Column) bool {
		return c != expert && c.complete() && c.Kind != Number && c.Kind != List && c.Distinct > 1
	})
	named := likeAny(expert.Name, expertWords)
	for _, id := range ids {
		if t.unique(id) && !(named && expert.Distinct > 1) {
			continue // a row per request: the column is a property of it
		}
		if t.unique(id, expert) {
			return &shape{id, expert, nil}
		}
		for _, advice := range t.advice(id, expert) {
			if t.unique(id, expert, advice) {
				return &shape{id, expert, advice}
			}
		}
	}
	return nil
}

// advice are the columns that may name advice.
func (t *Table) advice(id, expert *Column) []*Column {
	few := func(c *Column) bool {
		return c != id && c != expert && c.Values != nil && c.Distinct > 0 && c.Distinct <= 50 && c.Kind == Text
	}
	found := t.named(adviceWords, few)
	for _, c := range t.Columns {
		if few(c) && !slices.Contains(found, c) && !likeAny(c.Name, slices.Concat(laterWords, splitWords, labelWords)) {
			found = append(found, c)
		}
	}
	return found
}

// advices says which advice there is, and which is none.
func (p *Proposal) advices(c *Column) {
	absent := "none" // also for empty fields
	if at := slices.IndexFunc(c.Values, none.MatchString); at >= 0 {
		absent = c.Values[at]
	} else if c.Missing == 0 {
		absent = c.Values[0]
		p.guessNone(absent)
	}
	if absent != "none" {
		p.None = absent
	}
	p.Long.Advices = slices.DeleteFunc(slices.Clone(c.Values), func(v string) bool { return v == absent })
}

// guessNone says that an advice was taken for the absence of advice, because none is called so.
func (p *Proposal) guessNone(absent string) {
	p.None = absent
	p.Checks = append(p.Checks, "no advice is called none: "+absent+", the first one, is taken as the absence of advice, which costs nothing")
}

// value finds the column of outcomes in long form.
func (p *Proposal) value(used []string) error {
	t, l := p.Outcomes, p.Long
	var found []*Column
	for _, w := range valueWords {
		for _, c := range t.named([]string{w.word}, (*Column).numeric) {
			if !slices.Contains(used, c.Name) && (w.key != "correct" || c.unit()) && !slices.Contains(found, c) {
				if found = append(found, c); len(found) == 1 {
					l.Key, l.Value = w.key, c.Name
				}
			}
		}
	}
	if len(found) > 0 {
		p.scores(found[0])
		p.others(found)
		return nil
	}
	// True and False in letters that are no number are outcomes too.
	if c := t.spelledValue(used); c != nil {
		l.Key, l.Value = "correct", c.Name
		return nil
	}
	if answer := p.columnOf(answerWords, used, func(c *Column) bool { return c.Kind != Unread && c.Kind != Empty }); answer != "" {
		l.Key, l.Value = "answer", answer
		return nil
	}
	return unusable(t.File, "add a column such as correct (1 or 0), score (0 to 1) or loss; docs/import.md lists what it may hold",
		"no column says how good an answer was; it has %s", textfile.Listed(t.names(), 12))
}

func (t *Table) spelledValue(used []string) *Column {
	for _, w := range valueWords {
		if c := t.firstNamed([]string{w.word}, (*Column).spelled); c != nil && w.key == "correct" && !slices.Contains(used, c.Name) {
			return c
		}
	}
	return nil
}

// others says which other columns may be meant.
func (p *Proposal) others(found []*Column) {
	var names []string
	for _, c := range found[1:] {
		if !likeAny(c.Name, feeWords) {
			names = append(names, c.Name)
		}
	}
	if len(names) > 0 {
		p.Checks = append(p.Checks, "the outcome is "+found[0].Name+"; it may also be "+strings.Join(names, ", "))
	}
}

// scores sets the range of scores that are not between 0 and 1.
func (p *Proposal) scores(c *Column) {
	if p.Long.Key != "score" || c.unit() {
		return
	}
	best := c.Max
	for _, usual := range []float64{1, 5, 10, 100} {
		if c.Min >= 0 && c.Max <= usual {
			best = usual
			break
		}
	}
	p.Range = []float64{math.Min(c.Min, 0), best}
	p.Checks = append(p.Checks, "the worst and the best score are guessed from the scores that occur; set score_range")
}

// columnOf is the best column of some names that is not used, "" if there is none.
func (p *Proposal) columnOf(words, used []string, usable func(*Column) bool) string {
	c := p.Outcomes.firstNamed(words, func(c *Column) bool { return !slices.Contains(used, c.Name) && c.Name != p.valueName() && usable(c) })
	if c == nil {
		return ""
	}
	return c.Name
}

func (p *Proposal) valueName() string {
	if p.Long == nil {
		return ""
	}
	return p.Long.Value
}

// decisions proposes a log with one answer per request. Only the probability of each choice makes it one to learn from.
func (p *Proposal) decisions() error {
	t, l := p.Outcomes, p.Long
	p.Reason = "different in each row: each request was answered once"
	c := t.firstNamed(propensityWords, func(c *Column) bool { return c.complete() && c.unit() && c.Min > 0 })
	if c == nil {
		return unusable(t.File, "record the probability with which the expert of each row was chosen, in a column propensity, and choose at random at times; or let every expert answer some requests. docs/ope.md says more",
			"each request was answered by one expert only (column %s), and no column says how probable that choice was. So nothing says what the other experts would have done", l.Expert)
	}
	l.Propensity = c.Name
	return nil
}

// repeated is an error if the table has experts and repeated ids, but rows that nothing tells apart.
func (p *Proposal) repeated() error {
	t := p.Outcomes
	for _, expert := range t.named(expertWords[:10], func(c *Column) bool { return c.complete() && c.Values != nil && c.Distinct > 1 }) {
		for _, id := range t.named(idWords, func(c *Column) bool { return c != expert && c.complete() && c.Distinct > 1 }) {
			if !t.unique(id) && !t.unique(id, expert) {
				return unusable(t.File, "keep one row for each of them, such as the mean of several tries; or name what differs in a column advice",
					"several rows have the same %s and %s", id.Name, expert.Name)
			}
		}
	}
	return nil
}
