package look

import (
	"slices"
	"strings"

	"pipe/internal/textfile"
)

// separators divide the name of an expert from that of a column or of advice.
var separators = []string{"|", "::", ":", "__", "_", ".", "/", " ", "-"}

// wide proposes the wide form: a row per request, with a column per pair. Without names of these columns it looks for them.
func (p *Proposal) wide(columns []string) (err error) {
	t := p.Outcomes
	switch {
	case columns != nil:
		if p.Wide, err = t.given(columns); err == nil {
			p.unnamed(columns)
		}
	default:
		if p.Wide, err = p.families(); p.Wide == nil && err == nil {
			p.Wide, err = p.unmarked()
		}
	}
	if err != nil {
		return err
	}
	p.divide()
	used := p.used()
	id := t.wideID(used)
	if empty := t.firstNamed(sureIDWords, func(c *Column) bool { return c.Missing > 0 && c.Kind != Empty }); empty != nil && (id == nil || !likeAny(id.Name, idWords)) {
		return t.gaps(empty)
	}
	if again := t.firstNamed(sureIDWords, func(c *Column) bool { return c.complete() && !t.unique(c) }); id == nil && again != nil {
		return unusable(t.File, "keep one row for each request, or give it a column with a different value in each row", "several rows have the same %s", again.Name)
	}
	if id == nil {
		return unusable(t.File, "add a column id with a different value in each row", "no column has a different value in each row that could name a request")
	}
	p.ID, p.Reason = id.Name, "different in each row"
	return nil
}

// wideID is the column that names a row: one that is called so, else the first that could.
func (t *Table) wideID(used map[string]bool) *Column {
	fits := func(c *Column) bool {
		return !used[c.Name] && c.complete() && c.Kind != Number && c.Kind != List && c.Kind != Flag && t.unique(c)
	}
	if c := t.firstNamed(idWords, fits); c != nil {
		return c
	}
	for _, kind := range []Kind{Text, Integer, Time} {
		for _, c := range t.Columns {
			if c.Kind == kind && fits(c) {
				return c
			}
		}
	}
	return nil
}

// pattern is how names are made of an expert and a word.
type pattern struct {
	word, sep string
	before    bool // the word is before the expert
}

func (n pattern) stem(name string) (string, bool) { return stem(name, n.word, n.sep, n.before) }

// family is columns that have one word in their names, before or after that of an expert.
type family struct {
	pattern
	experts []string
	columns []*Column
}

// modelled reports whether half of the experts or more are called like models.
func (f *family) modelled() bool {
	n := 0
	for _, e := range f.experts {
		if modelled(e) {
			n++
		}
	}
	return 2*n >= len(f.experts)
}

// family finds the columns whose names are an expert and a word.
func (t *Table) family(words []string, usable func(*Column) bool) (best family) {
	for _, word := range words {
		for _, sep := range separators {
			for _, before := range []bool{false, true} {
				f := family{pattern: pattern{word, sep, before}}
				for _, c := range t.Columns {
					name, ok := f.stem(c.Name)
					if ok && !summary.MatchString(plain(name)) && usable(c) && !slices.Contains(f.experts, name) {
						f.experts, f.columns = append(f.experts, name), append(f.columns, c)
					}
				}
				if len(f.experts) >= 2 && len(f.experts) > len(best.experts) {
					best = f
				}
			}
		}
		if len(best.experts) > 0 {
			return best
		}
	}
	return best
}

// stem is what a name has besides a word.
func stem(name, word, sep string, before bool) (string, bool) {
	lower := strings.ToLower(name)
	if len(lower) != len(name) {
		return "", false
	}
	mark := sep + word
	if before {
		mark = word + sep
		return name[min(len(mark), len(name)):], strings.HasPrefix(lower, mark) && len(name) > len(mark)
	}
	return name[:max(0, len(name)-len(mark))], strings.HasSuffix(lower, mark) && len(name) > len(mark)
}

// families proposes columns such as small_correct and large_correct, with those of fees and predictions beside them. Those of models
// come first. It returns nil if no columns are clear.
func (p *Proposal) families() (*Wide, error) {
	t := p.Outcomes
	var unclear *Wide
	for _, w := range valueWords {
		if w.word == "cost" {
			continue // beside scores it is money, and alone it is not clear
		}
		f := t.family([]string{w.word}, func(c *Column) bool { return c.outcome(w.key) })
		if len(f.experts) < 2 {
			if f = t.family([]string{w.word}, func(c *Column) bool { return c.Kind != Empty }); len(f.experts) >= 2 && f.modelled() && unclear == nil {
				return nil, t.unreadable(f.columns, w.key)
			}
			continue
		}
		fees := t.family(feeWords, func(c *Column) bool { return c.numeric() && c.Min >= 0 && !slices.Contains(f.columns, c) })
		answers := t.family(answerWords, func(c *Column) bool { return c.complete() && !slices.Contains(f.columns, c) })
		found := &Wide{Key: f.columns[0].read(w.key), Pairs: pairs(f, fees, answers), pattern: f.pattern}
		switch {
		case w.key == "correct", f.modelled() && !slices.ContainsFunc(f.experts, func(e string) bool { return !modelled(e) }):
			p.scores(found.Key, f.columns...)
			p.worse(found.Key, f.columns[0].Name)
			return found, nil
		case f.modelled():
			return p.unclear(found), nil
		case unclear == nil:
			unclear = found
		}
	}
	if f := t.family(answerWords, func(c *Column) bool { return c.Kind != Empty && c.Kind != Unread }); len(f.experts) >= 2 && (f.modelled() || unclear == nil) {
		return &Wide{Key: "answer", Pairs: pairs(f, family{}, family{}), pattern: f.pattern}, nil
	}
	if chosen, _ := t.modelled(); unclear == nil || len(chosen) >= 2 {
		return nil, nil
	}
	return p.unclear(unclear), nil
}

// unclear says that some columns may be no outcomes.
func (p *Proposal) unclear(w *Wide) *Wide {
	var columns []*Column
	var names []string
	for _, pair := range w.Pairs {
		columns, names = append(columns, p.Outcomes.find(pair.Column)), append(names, pair.Column)
	}
	p.Checks = append(p.Checks, "taken as outcomes of experts, although not all are called like models: "+textfile.Listed(names, 12)+". If one is none, name the outcomes with --outcomes")
	p.scores(w.Key, columns...)
	p.worse(w.Key, names[0])
	return w
}

// outcome reports whether a column can be read as a kind of outcome.
func (c *Column) outcome(key string) bool {
	switch key {
	case "correct":
		return c.unit() || c.spelled()
	case "loss":
		return c.numeric() && !c.boolean()
	}
	return c.numeric()
}

// read is the kind of outcome as which a column is read: a score that is true or false is whether an answer was right.
func (c *Column) read(key string) string {
	if key == "score" && c.boolean() {
		return "correct"
	}
	return key
}

// boolean reports whether a column has true and false in place of numbers.
func (c *Column) boolean() bool {
	return c.Kind == Flag && slices.ContainsFunc(c.Values, func(v string) bool { return v == "true" || v == "false" })
}

// unreadable is the error for columns of which one is named like an outcome and cannot be read as such.
func (t *Table) unreadable(columns []*Column, key string) error {
	c := columns[slices.IndexFunc(columns, func(c *Column) bool { return !c.outcome(key) })]
	do := "write numbers into it, and nothing where an outcome is unknown. If it is no outcome, give it another name"
	if key == "loss" {
		do = "write 1 for a wrong answer, 0 for a right one, and nothing where that is unknown. If it is no outcome, give it another name"
	}
	if key == "correct" {
		do = "write 1 for a right answer, 0 for a wrong one, and nothing where that is unknown; divide percents by 100. If it is no outcome, give it another name"
	}
	return unusable(t.File, do, "column %s is named like an outcome, but %s", textfile.Quoted(c.Name), c.holds())
}

// looksWide reports whether a table has columns of several experts.
func (p *Proposal) looksWide() bool {
	q := &Proposal{Outcomes: p.Outcomes}
	w, err := q.families()
	chosen, _ := p.Outcomes.modelled()
	return w != nil || err != nil || len(chosen) >= 2
}

// pairs are the experts of a family. Those of the others count if they are of the same experts.
func pairs(f, fees, answers family) (all []Pair) {
	column := func(of family, expert string) string {
		for _, e := range f.experts {
			if !slices.Contains(of.experts, e) {
				return "" // of all experts or of none
			}
		}
		return of.columns[slices.Index(of.experts, expert)].Name
	}
	for i, e := range f.experts {
		all = append(all, Pair{Expert: e, Column: f.columns[i].Name, Fee: column(fees, e), Prediction: column(answers, e)})
	}
	return all
}

// given takes the columns that the user names.
func (t *Table) given(columns []string) (*Wide, error) {
	w := &Wide{Key: "correct", pattern: common(columns)}
	if len(columns) < 2 {
		return nil, unusable(t.File, "give the columns of all experts to --outcomes", "the outcomes of one expert leave nothing to choose")
	}
	for _, name := range columns {
		c := t.find(name)
		switch {
		case c == nil:
			return nil, unusable(t.File, "give names of columns to --outcomes", "has no column %s; it has %s", textfile.Quoted(name), textfile.ListedNear(t.names(), name, 12))
		case !c.unit() && !c.spelled():
			return nil, unusable(t.File, "write 1 for a right answer and 0 for a wrong one, or a score from 0 to 1; docs/import.md has other forms", "column %s has %s", textfile.Quoted(name), c.seen())
		case c.unit() && c.Kind != Flag:
			w.Key = "score"
		}
		w.Pairs = append(w.Pairs, Pair{Expert: name, Column: name})
	}
	w.unmarked = w.pattern.word == ""
	if slices.ContainsFunc(valueWords, func(v valueWord) bool { return v.word == w.pattern.word && v.key == "loss" }) {
		w.Key = "loss"
		for _, name := range columns {
			if c := t.find(name); !c.outcome("loss") {
				return nil, t.unreadable([]*Column{c}, "loss")
			}
		}
	}
	return w, nil
}

// unnamed says how the columns are read that the user named as outcomes, and which others may be outcomes, too.
func (p *Proposal) unnamed(columns []string) {
	p.worse(p.Wide.Key, columns[0])
	if p.Wide.unmarked && p.Wide.Key == "correct" {
		p.Checks = append(p.Checks, "1 is taken as a right answer in the columns of --outcomes")
	}
	_, rest := p.Outcomes.modelled()
	if rest = slices.DeleteFunc(rest, func(name string) bool { return slices.Contains(columns, name) }); len(rest) > 0 {
		p.Checks = append(p.Checks, "if these are outcomes and not known before, name them with --outcomes, too: "+textfile.Listed(rest, 12))
	}
}

// common is the pattern that all of some names have, one without a word if there is none.
func common(names []string) pattern {
	for _, w := range valueWords {
		for _, sep := range separators {
			for _, before := range []bool{false, true} {
				n := pattern{w.word, sep, before}
				if !slices.ContainsFunc(names, func(name string) bool { _, ok := n.stem(name); return !ok }) {
					return n
				}
			}
		}
	}
	return pattern{}
}

// unmarked proposes columns of numbers from 0 to 1 that are named like models. Nothing else tells outcomes from features.
func (p *Proposal) unmarked() (*Wide, error) {
	t := p.Outcomes
	chosen, rest := t.modelled()
	could := append(slices.Clone(chosen), rest...)
	switch word := affix(chosen); {
	case len(chosen) >= 2 && word != "":
		return nil, unusable(t.File, "if 1 is a right answer there, name these columns with --outcomes; if it is a wrong one, call them small_wrong, large_wrong and so on",
			"columns are called like models with %s, and nothing says whether 1 is good: %s", textfile.Quoted(word), textfile.Listed(chosen, 12))
	case len(chosen) >= 2:
		check := "taken as outcomes, because they are called like models: " + textfile.Listed(chosen, 12) + ". If one is not, name the outcomes with --outcomes"
		if len(rest) > 0 {
			check += "; if these are outcomes too, name all: " + strings.Join(rest, ", ")
		}
		p.Checks = append(p.Checks, check)
		w, err := t.given(chosen)
		if err == nil {
			w.unmarked, w.pattern = true, pattern{}
		}
		return w, err
	}
	if odd := t.oddModels(); len(odd) >= 2 {
		return nil, t.unreadable(odd, "correct")
	}
	if len(could) >= 2 {
		return nil, unusable(t.File, "name those that say how well each expert answered, and no others, with --outcomes COLUMN,COLUMN",
			"no column is named like an expert; these could be outcomes: %s", textfile.Listed(could, 12))
	}
	return nil, unusable(t.File, "give one row per request and expert, with columns such as id, expert, correct; or one row per request, with a column per expert that has 1 for a right answer and 0 for a wrong one, named with --outcomes; or one row per request with the expert that answered, correct and propensity. docs/import.md shows them",
		"no columns look like the outcomes of several experts; it has %s", textfile.Listed(t.names(), 12))
}

// affix is a word that all names begin or end with, and that is no name of a model or a size; "" if there is none.
func affix(names []string) string {
	if len(names) == 0 {
		return ""
	}
	for _, sep := range separators {
		for _, before := range []bool{false, true} {
			parts := strings.Split(names[0], sep)
			word := parts[len(parts)-1]
			if before {
				if word = parts[0]; sep == "." {
					continue // a field that has the outcomes in it
				}
			}
			all := !slices.ContainsFunc(names, func(name string) bool { _, ok := stem(name, strings.ToLower(word), sep, before); return !ok })
			if all && !modelled(word) && !sizes.MatchString(word) {
				return word
			}
		}
	}
	return ""
}

// oddModels are the columns with few values that are called like models, if some are no outcomes.
func (t *Table) oddModels() []*Column {
	var found []*Column
	odd := false
	for _, c := range t.Columns {
		if modelled(c.Name) && c.Values != nil && c.Distinct > 0 && c.Distinct <= 6 && !t.aside(c) {
			found = append(found, c)
			odd = odd || !c.outcome("correct")
		}
	}
	if !odd {
		return nil
	}
	return found
}

// aside reports whether a column is called like something else than an outcome or a feature.
func (t *Table) aside(c *Column) bool {
	return t.divided(c) || likeAny(c.Name, slices.Concat(labelWords, splitWords, laterWords, propensityWords, chanceWords))
}

// modelled are columns of numbers from 0 to 1: those that are called like models, and the others.
func (t *Table) modelled() (chosen, rest []string) {
	for _, c := range t.Columns {
		if !(c.unit() || c.spelled()) || c.Distinct == 0 || t.aside(c) || t.valued(c.Name) {
			continue
		}
		if modelled(c.Name) {
			chosen = append(chosen, c.Name)
		} else {
			rest = append(rest, c.Name)
		}
	}
	return chosen, rest
}

// divide finds experts and advice in names such as small, small_docs, large, large_docs.
func (p *Proposal) divide() {
	w := p.Wide
	for _, sep := range separators {
		if divided := product(w.Pairs, sep); divided != nil {
			w.Pairs = divided
			if !slices.ContainsFunc(divided, func(d Pair) bool { return d.Advice == "none" }) {
				p.guessNone(divided[0].Advice)
			}
			p.Checks = append(p.Checks, "names of columns are read as an expert and its advice, such as "+divided[len(divided)-1].Expert+" with "+divided[len(divided)-1].Advice)
			return
		}
	}
}

// product divides the names of all pairs by a separator, if every expert has the same advice; nil if not.
func product(pairs []Pair, sep string) []Pair {
	names := make([]string, len(pairs))
	for i, p := range pairs {
		names[i] = p.Expert
	}
	divided := slices.Clone(pairs)
	advice := map[string][]string{} // of an expert
	for i, name := range names {
		expert, shown := name, "none"
		if base := longestBase(names, name, sep); base != "" {
			expert, shown = base, name[len(base)+len(sep):]
		} else if at := strings.LastIndex(name, sep); at > 0 && !isBase(names, name, sep) {
			expert, shown = name[:at], name[at+len(sep):]
		}
		if sizes.MatchString(shown) || slices.Contains(advice[expert], shown) {
			return nil
		}
		if none.MatchString(shown) {
			shown = "none"
		}
		divided[i].Expert, divided[i].Advice = expert, shown
		advice[expert] = append(advice[expert], shown)
	}
	var first []string
	for _, list := range advice {
		slices.Sort(list)
		if first == nil {
			first = list
		}
		if len(list) < 2 || !slices.Equal(list, first) {
			return nil
		}
	}
	if len(advice) < 2 {
		return nil
	}
	return divided
}

// longestBase is the longest other name that a name begins with.
func longestBase(names []string, name, sep string) (base string) {
	for _, other := range names {
		if strings.HasPrefix(name, other+sep) && len(other) > len(base) {
			base = other
		}
	}
	return base
}

func isBase(names []string, name, sep string) bool {
	return slices.ContainsFunc(names, func(other string) bool { return strings.HasPrefix(other, name+sep) })
}
