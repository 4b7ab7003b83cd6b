package look

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"pipe/internal/textfile"
)

// What follows from the outcomes by chance in fewer requests is no evidence.
const (
	fewRepeats = 20 // requests that have the same outcomes as another one
	fewSums    = 10 // requests
)

// leaks returns a function that says why a column may give the outcomes away, "" if it does not seem so. The columns of which it
// says something are in one check.
func (p *Proposal) leaks() func(*Column) string {
	answers, check := p.answers(), -1
	experts, _ := p.Experts()
	return func(c *Column) (why string) {
		switch {
		case valued(c.Name):
			why = "is named like an outcome"
		case summaries.MatchString(plain(c.Name)):
			why = "is named like a comparison of answers"
		case p.Wide != nil && c.Values != nil && c.Distinct > 1 && !slices.ContainsFunc(c.Values, func(v string) bool { return !slices.Contains(experts, v) }):
			why = "names experts"
		case answers.decide(c):
			why = "follows from the outcomes"
		default:
			return ""
		}
		if check < 0 {
			check = len(p.Checks)
			p.Checks = append(p.Checks, "not used as features, because they may give the answer away (if one is known before it, add it to the columns): "+c.Name)
		} else {
			p.Checks[check] += ", " + c.Name
		}
		return why
	}
}

// answers are the outcomes of each request.
type answers struct {
	first   []int     // a row of each request
	columns []*Column // of each pair, or in long form one
	rows    []int32   // in long form, of each request and pair: the row and 1, or 0
	pairs   int
}

func (p *Proposal) answers() *answers {
	a, t := &answers{}, p.Outcomes
	if p.Wide != nil {
		for _, w := range p.Wide.Pairs {
			a.columns = append(a.columns, t.find(w.Column))
		}
		a.pairs = len(a.columns)
		for row := range t.Rows {
			a.first = append(a.first, row)
		}
		return a
	}
	id, expert, advice := t.find(p.ID), t.find(p.Long.Expert), t.find(p.Long.Advice)
	levels := 1
	if advice != nil {
		levels = advice.Distinct + 1
	}
	a.columns, a.pairs = []*Column{t.find(p.Long.Value)}, expert.Distinct*levels
	requests := min(id.Distinct, max(1, mostCells/a.pairs)) // the first ones
	a.first, a.rows = make([]int, requests), make([]int32, requests*a.pairs)
	for row := range t.Rows {
		n, pair := int(id.codes[row])-1, (int(expert.codes[row])-1)*levels
		if n >= requests {
			continue
		}
		if advice != nil {
			pair += int(advice.codes[row])
		}
		a.first[n], a.rows[n*a.pairs+pair] = row, int32(row+1)
	}
	return a
}

// Rarest is the expert with the fewest outcomes, in how many requests it has one, and in how many another has.
func (p *Proposal) Rarest() (expert string, has, of int) {
	count := func(name string, c *Column) {
		if n := p.Outcomes.Rows - c.Missing; expert == "" || n < has {
			expert, has = name, n
		}
	}
	if p.Wide != nil {
		for _, w := range p.Wide.Pairs {
			count(w.Expert, p.Outcomes.find(w.Column))
		}
		return expert, has, p.Outcomes.Rows
	}
	value, by := p.Outcomes.find(p.Long.Value), p.Outcomes.find(p.Long.Expert)
	counts := make([]int, by.Distinct)
	for row, code := range by.codes {
		if value.codes[row] > 0 {
			counts[code-1]++
		}
	}
	for i, n := range counts {
		if of = max(of, n); expert == "" || n < has {
			expert, has = p.Long.Experts[i], n
		}
	}
	return expert, has, of
}

// cell is where the outcome of a request and pair is. Its row is -1 if there is none.
func (a *answers) cell(n, pair int) (*Column, int) {
	if a.rows == nil {
		return a.columns[pair], n
	}
	return a.columns[0], int(a.rows[n*a.pairs+pair]) - 1
}

// decide reports whether the outcomes of a request say the value of a column: it has one value for each combination of them, or is
// their sum, mean, smallest or largest, or one of them.
func (a *answers) decide(c *Column) bool {
	return c.Distinct > 1 && (a.combined(c) || c.numeric() && a.columns[0].numeric() && len(a.first) >= fewSums && a.summed(c))
}

func (a *answers) combined(c *Column) bool {
	values, seed, repeats := map[uint64]uint32{}, maphash.MakeSeed(), 0
	key := make([]byte, 4*a.pairs)
	for n, row := range a.first {
		for pair := range a.pairs {
			code := uint32(0)
			if of, at := a.cell(n, pair); at >= 0 {
				code = of.codes[at]
			}
			binary.LittleEndian.PutUint32(key[4*pair:], code)
		}
		hash := maphash.Bytes(seed, key)
		value, again := values[hash]
		switch {
		case again && value != c.codes[row]:
			return false
		case again:
			repeats++
		}
		values[hash] = c.codes[row]
	}
	return repeats >= fewRepeats
}

func (a *answers) summed(c *Column) bool {
	could := make([]bool, 4+a.pairs) // sum, mean, smallest, largest, and each of them
	for i := range could {
		could[i] = true
	}
	all := make([]float64, len(could))
	for n, row := range a.first {
		count := 0.0
		all[0], all[2], all[3] = 0, math.Inf(1), math.Inf(-1)
		for pair := range a.pairs {
			of, at := a.cell(n, pair)
			v := math.NaN()
			if at >= 0 {
				v = of.at(at)
			}
			if all[4+pair] = v; v == v {
				count++
				all[0] += v
				all[2], all[3] = min(all[2], v), max(all[3], v)
			}
		}
		all[1] = all[0] / count
		for i, v := range all {
			could[i] = could[i] && math.Abs(v-c.at(row)) <= 1e-6*(1+math.Abs(v))
		}
		if !slices.Contains(could, true) {
			return false
		}
	}
	return true
}

// odd says what a column holds that is named like the outcomes of a wide table but is none of them, "" if it is not named so.
func (p *Proposal) odd(c *Column) string {
	w := p.Wide
	named := w.unmarked && modelled(c.Name) && c.mostlyFlags()
	if w.pattern.word != "" {
		var of string
		of, named = w.pattern.stem(c.Name)
		named = named && !summary.MatchString(plain(of))
	}
	switch {
	case !named || c.Kind == Empty:
		return ""
	case c.outcome(w.Key):
		return "and not among them. If it is one, name it with --outcomes"
	}
	return "but " + c.holds() + ": its expert is left out. Write 1, 0 or nothing into it, or remove it"
}

// mostlyFlags reports whether a column that is no outcome has few values, with 0 and 1 or the like among them.
func (c *Column) mostlyFlags() bool {
	return c.Values != nil && c.Distinct <= 6 && slices.ContainsFunc(c.Values, func(v string) bool {
		return slices.Contains([]string{"0", "1", "0.0", "1.0", "true", "false", "yes", "no"}, strings.ToLower(v))
	})
}

// holds says what of a column is no outcome.
func (c *Column) holds() string {
	switch {
	case c.Kind == Unread:
		return c.Why
	case c.numeric():
		return "has " + c.seen()
	case c.Values == nil:
		return "has " + string(c.Kind)
	}
	var odd []string
	for _, v := range c.Values {
		if !slices.Contains([]string{"0", "1", "0.0", "1.0", "true", "false"}, strings.ToLower(v)) {
			odd = append(odd, textfile.Quoted(v))
		}
	}
	if odd == nil {
		return "has " + string(c.Kind)
	}
	return "has " + textfile.Listed(odd, 3)
}
