package look

import (
	"cmp"
	"encoding/binary"
	"fmt"
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

// How much of the right and of the wrong answers of a pair one column has to tell, so that it is no feature, and so that it is doubtful.
const (
	tellsAll  = 0.999
	tellsMost = 0.95
)

// leaks returns a function that says why a column may give the outcomes away, "" if it does not seem so. The columns of which it
// says something are in one check.
func (p *Proposal) leaks() func(*Column) string {
	answers := p.answers()
	experts, _ := p.Experts()
	return p.noted(func(c *Column) (why string) {
		switch {
		case p.Outcomes.valued(c.Name):
			why = "is named like an outcome"
		case summaries.MatchString(plain(c.Name)):
			why = "is named like a comparison of answers"
		case p.Wide != nil && c.Values != nil && c.Distinct > 1 && !slices.ContainsFunc(c.Values, func(v string) bool { return !slices.Contains(experts, v) }):
			why = "names experts"
		default:
			why = p.evidence(answers, c)
		}
		return why
	})
}

// leaksOf is the same for the table of features, whose id is given. Its names are no evidence, as the user says that it is known before.
func (p *Proposal) leaksOf(id *Column) func(*Column) string {
	answers, ids := p.answers(), p.Outcomes.find(p.ID)
	rows := make(map[uint64]int, id.Distinct)
	for row, code := range id.codes {
		rows[id.hashes[code-1]] = row
	}
	leak := p.noted(func(c *Column) string {
		beside := *c // as a column of the outcomes
		beside.codes = make([]uint32, p.Outcomes.Rows)
		for _, first := range answers.first {
			if row, known := rows[ids.hashes[ids.codes[first]-1]]; known {
				beside.codes[first] = c.codes[row]
			}
		}
		return p.evidence(answers, &beside)
	})
	return func(c *Column) string {
		if why := p.ofExpert(c); why != "" {
			return why
		}
		return leak(c)
	}
}

// evidence says how a column and the outcomes depend on each other, "" if they do not seem to. What is only likely is a check.
func (p *Proposal) evidence(answers *answers, c *Column) string {
	if answers.decide(c) {
		return "follows from the outcomes"
	}
	share := answers.told(c)
	switch {
	case share >= tellsAll:
		return "says alone which answers are right"
	case share >= tellsMost:
		p.Checks = append(p.Checks, fmt.Sprintf("%s says almost alone whether an expert is right (%.0f%%): is it known before the answer?", c.Name, 100*share))
	}
	return ""
}

// noted puts the columns of which leak says something into one check.
func (p *Proposal) noted(leak func(*Column) string) func(*Column) string {
	check := -1
	return func(c *Column) string {
		why := leak(c)
		if why == "" {
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

// told is how much a column says of one pair: the mean of the shares of its right and of its wrong answers that the best threshold of the
// column, or its values where they repeat, tell apart. It is 0 where there are few answers, or outcomes that are not right or wrong.
func (a *answers) told(c *Column) (most float64) {
	order := c.order()
	for pair := range a.pairs {
		counts := make([][2]int, c.Distinct+1) // wrong and right answers by value
		all := [2]int{}
		for n, row := range a.first {
			of, at := a.cell(n, pair)
			if at < 0 || of.codes[at] == 0 || c.codes[row] == 0 || of.Distinct > 2 || !of.outcome("correct") {
				continue
			}
			right := 0
			if of.spelled() && strings.EqualFold(strings.TrimSpace(of.Values[of.codes[at]-1]), "true") || of.numeric() && of.at(at) >= 0.5 {
				right = 1
			}
			counts[c.codes[row]][right]++
			all[right]++
		}
		if min(all[0], all[1]) >= fewRepeats {
			most = max(most, told(order, counts[1:], all))
		}
	}
	return most
}

// order are the numbers of the values, less 1, from the smallest value on; nil if the values are no numbers.
func (c *Column) order() []int {
	if !c.numeric() {
		return nil
	}
	order := make([]int, c.Distinct)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(c.numbers[i], c.numbers[j]) })
	return order
}

// told is that of the counts of one pair by value. order is nil where values have no order.
func told(order []int, counts [][2]int, all [2]int) (most float64) {
	share := func(wrong, right int) float64 {
		s := (float64(wrong)/float64(all[0]) + float64(right)/float64(all[1])) / 2
		return max(s, 1-s)
	}
	if 10*len(counts) <= all[0]+all[1] {
		wrong, right := 0, 0 // in values where they are in the majority
		for _, n := range counts {
			if n[0]*all[1] > n[1]*all[0] {
				wrong += n[0]
			} else {
				right += n[1]
			}
		}
		most = share(wrong, right)
	}
	below := [2]int{}
	for _, i := range order {
		below[0] += counts[i][0]
		below[1] += counts[i][1]
		most = max(most, share(below[0], all[1]-below[1]))
	}
	return most
}

// odd says what a column holds that is named like the outcomes of a wide table but is none of them, "" if it is not named so.
func (p *Proposal) odd(c *Column) string {
	w := p.Wide
	named := w.unmarked && modelled(c.Name) && (c.mostlyFlags() || c.unit())
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
	case c.boolean():
		return "has true and false"
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
