package look

import (
	"fmt"
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
	switch {
	case found == nil && p.looksWide():
		return false, p.repeated()
	case found == nil:
		if err := p.repeated(); err != nil {
			return false, err
		}
		return false, p.incomplete()
	case t.unique(found.id) && len(t.named(propensityWords, (*Column).complete)) == 0 && p.looksWide():
		return false, nil // what is called model is a property of the request
	}
	l := &Long{Expert: found.expert.Name, Experts: slices.Clone(found.expert.Values)}
	p.ID, p.Long = found.id.Name, l
	used := []string{p.ID, l.Expert}
	if found.advice != nil {
		l.Advice = found.advice.Name
		used = append(used, l.Advice)
		p.advices(found.advice)
	}
	once := t.unique(found.id)
	// A column that says the same of all answers to a request is a property of the request.
	differs := func(c *Column) bool { return once || c.Distinct == 1 || !t.constant(found.id, c) }
	if err := p.value(used, differs); err != nil {
		return true, err
	}
	p.Reason = "several rows have the same one"
	if once {
		return true, p.decisions()
	}
	l.Fee = p.columnOf(feeWords, used, func(c *Column) bool { return c.numeric() && differs(c) })
	l.Prediction = p.columnOf(answerWords, append(used, l.Value), func(c *Column) bool { return c.complete() && differs(c) })
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
	found := append(t.named(expertWords, few), t.named(sureExpertWords, one)...)
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
func (p *Proposal) value(used []string, differs func(*Column) bool) error {
	t, l := p.Outcomes, p.Long
	var found []*Column
	var unread error // about a column with a better name
	var same []string
	for _, w := range valueWords {
		for _, c := range t.named([]string{w.word}, func(c *Column) bool { return c.Kind != Empty }) {
			switch {
			case slices.Contains(used, c.Name) || slices.Contains(found, c):
			case !differs(c):
				same = append(same, c.Name)
			case !c.outcome(w.key):
				if len(found) == 0 && unread == nil {
					unread = t.unreadable([]*Column{c}, w.key)
				}
			default:
				if found = append(found, c); len(found) == 1 {
					l.Key, l.Value = c.read(w.key), c.Name
				}
			}
		}
	}
	switch answer := p.columnOf(answerWords, used, func(c *Column) bool { return c.Kind != Unread && c.Kind != Empty && differs(c) }); {
	case unread != nil && (answer == "" || found != nil):
		return unread
	case unread != nil:
		p.Checks = append(p.Checks, "the answers are graded, because "+unread.Error())
		l.Key, l.Value = "answer", answer
	case found != nil:
		p.scores(l.Key, found[0])
		p.others(found)
	case answer != "":
		l.Key, l.Value = "answer", answer
	case same != nil:
		return unusable(t.File, "add a column such as correct, with 1 or 0 for each answer", "no column says how good an answer was: %s is the same for all answers to a request", strings.Join(same, ", "))
	default:
		return unusable(t.File, "add a column such as correct (1 or 0), score (0 to 1) or loss; docs/import.md lists what it may hold",
			"no column says how good an answer was; it has %s", textfile.Listed(t.names(), 12))
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
	p.worse(p.Long.Key, found[0].Name)
}

// worse says that more of an outcome is taken as worse, unless its name is loss.
func (p *Proposal) worse(key, name string) {
	if key == "loss" && like(name, "loss") == 0 {
		p.Checks = append(p.Checks, "the outcome is "+name+", of which more is worse. Does it say how good an answer was? If it is money or a failed call, add a column correct")
	}
}

// scores sets the range of scores that are not between 0 and 1.
func (p *Proposal) scores(key string, columns ...*Column) {
	if key != "score" {
		return
	}
	p.scales(columns)
	if !slices.ContainsFunc(columns, func(c *Column) bool { return !c.unit() }) {
		return
	}
	worst, best := math.Inf(1), math.Inf(-1)
	for _, c := range columns {
		worst, best = min(worst, c.Min), max(best, c.Max)
	}
	for _, usual := range []float64{1, 5, 10, 100} {
		if worst >= 0 && best <= usual {
			best = usual
			break
		}
	}
	p.Range = []float64{min(worst, 0), best}
	p.Checks = append(p.Checks, "the worst and the best score are guessed from the scores that occur; set score_range")
}

// scales says if scores seem to have different scales.
func (p *Proposal) scales(columns []*Column) {
	least, most := columns[0], columns[0]
	for _, c := range columns {
		if c.Max < least.Max {
			least = c
		}
		if c.Max > most.Max {
			most = c
		}
	}
	if least.Max > 0 && most.Max >= 10*least.Max {
		p.Checks = append(p.Checks, fmt.Sprintf("the scores seem to have different scales: %s is at most %v, %s %v. Bring them to one", least.Name, least.Max, most.Name, most.Max))
	}
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
	chance := func(c *Column) bool { return c.complete() && c.unit() && c.Min > 0 }
	c := t.firstNamed(propensityWords, chance)
	fits := c == nil || p.fits(c)
	if c == nil {
		if c = t.firstNamed(chanceWords, func(c *Column) bool { return slices.Contains(chanceWords, plain(c.Name)) && chance(c) }); c != nil && p.fits(c) {
			p.Checks = append(p.Checks, c.Name+" is taken as the probability with which the expert of the row was chosen: is it that?")
		} else {
			c = nil
		}
	}
	if there := t.firstNamed(propensityWords, func(c *Column) bool { return c.Kind != Empty }); c == nil && there != nil {
		if there.Missing > 0 {
			return t.gaps(there)
		}
		return unusable(t.File, "write the probability with which the expert of the row was chosen, such as 0.9; divide percents by 100", "column %s %s: a probability is above 0 and at most 1",
			there.Name, there.holds())
	}
	if c == nil {
		return unusable(t.File, "record the probability with which the expert of each row was chosen, in a column propensity, and choose at random at times; or let every expert answer some requests. docs/ope.md says more",
			"each request was answered by one expert only (column %s), and no column says how probable that choice was. So nothing says what the other experts would have done", l.Expert)
	}
	if !fits {
		p.Checks = append(p.Checks, "the mean of 1 / "+c.Name+" is not near the number of experts, as that of the probabilities of the choices is: is it the probability of the expert of the row?")
	}
	l.Propensity = c.Name
	return nil
}

// fits reports whether numbers can be the probabilities with which the pairs of the rows were chosen: the mean of 1/p is then near the
// number of pairs that could be.
func (p *Proposal) fits(c *Column) bool {
	t, n := p.Outcomes, float64(p.Outcomes.Rows)
	pairs := float64(len(p.Long.Experts) * (1 + len(p.Long.Advices)))
	var sum, squares float64
	for row := range t.Rows {
		v := 1 / c.at(row)
		sum, squares = sum+v, squares+v*v
	}
	mean := sum / n
	return math.Abs(mean-pairs) <= max(pairs/4, 4*math.Sqrt(max(0, squares/n-mean*mean)/n))
}

// gaps is an error about a column that must be complete.
func (t *Table) gaps(c *Column) error {
	return unusable(t.File, "fill it in, or leave out these rows", "column %s is empty in %d of %d rows", c.Name, c.Missing, t.Rows)
}

// incomplete is an error if a table would be in long form, but for gaps or because it has one expert only.
func (p *Proposal) incomplete() error {
	t := p.Outcomes
	there := func(c *Column) bool { return c.Distinct > 0 }
	expert := t.firstNamed(sureExpertWords, there)
	id := t.firstNamed(idWords, func(c *Column) bool { return there(c) && c != expert })
	switch {
	case expert == nil || id == nil:
		return nil
	case !id.complete():
		return t.gaps(id)
	case !expert.complete():
		return t.gaps(expert)
	case expert.Distinct == 1 && expert.Kind == Text:
		return unusable(t.File, "record what another expert answers to the same requests, or what this one answers with other advice, in a column advice",
			"column %s has one expert only, so there is nothing to choose", expert.Name)
	}
	return nil
}

// repeated is an error if the table has experts and repeated ids, but rows that nothing tells apart.
func (p *Proposal) repeated() error {
	t := p.Outcomes
	for _, expert := range t.named(sureExpertWords, func(c *Column) bool { return c.complete() && c.Values != nil && c.Distinct > 1 }) {
		for _, id := range t.named(idWords, func(c *Column) bool { return c != expert && c.complete() && c.Distinct > 1 }) {
			if !t.unique(id) && !t.unique(id, expert) {
				return unusable(t.File, "keep one row for each of them, such as the mean of several tries; or name what differs in a column advice",
					"several rows have the same %s and %s", id.Name, expert.Name)
			}
		}
	}
	return nil
}
