package look

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/hint"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// Proposal is how a table may be imported.
type Proposal struct {
	Outcomes *Table
	ID       string
	Long     *Long // one of the two
	Wide     *Wide
	Range    []float64 // worst and best score, if they are not 0 and 1
	Reason   string    // for the id
	None     string    // the advice that is no advice; "": it is called none, or there is no advice
	Request  Request   // the other columns of the table of outcomes

	Features   *Table // another table with what is known of a request; nil: none
	FeaturesID string
	Known      Request // its columns

	Drop   bool     // leave out requests that are not complete
	Checks []string // what is uncertain, or must be decided by the user
}

// Long is a table with a row per request and pair.
type Long struct {
	Expert, Advice string // columns; "": no advice
	Experts        []string
	Advices        []string // besides None
	Key, Value     string   // loss, correct, score or answer, and its column
	Fee            string   // a column, of money for each answer; "": none
	Prediction     string   // a column, of answers; "": none
	Propensity     string   // a column, of probabilities: each row is a decision; "": none
}

// Wide is a table with a row per request and a column per pair.
type Wide struct {
	Key   string // what the columns hold
	Pairs []Pair

	pattern       // of the names of the columns, if they have one
	unmarked bool // only the names of models make them outcomes
}

// Pair is a pair of a wide table: the names of its expert and advice, and its columns of outcomes, fees and answers. "": it has none.
type Pair struct{ Expert, Advice, Column, Fee, Prediction string }

// Request is what the columns of a table say of a request.
type Request struct {
	Numbers, Categorical, Length []string // features
	List                         string   // a feature: a column of lists
	Label, Split, Group          string
	Time, Reference              string
	Left                         []Left

	odd []string // columns that are no features because not all of their values are numbers
}

// Left is a column that is not used, and why.
type Left struct{ Column, Why string }

// features reports whether there is anything that a policy could see.
func (r *Request) features() bool {
	return len(r.Features()) > 0
}

// Features are the columns of the features.
func (r *Request) Features() []string {
	all := slices.Concat(r.Numbers, r.Categorical, r.Length)
	if r.List != "" {
		all = append(all, r.List)
	}
	return all
}

// Propose says what the columns of a table of outcomes are. features, which may be nil, is a table with what is known of each
// request; columns, which may be nil, are the columns of outcomes of a table with a row per request. A table that cannot be used is a
// *costs.DataError with a hint.
func Propose(outcomes, features *Table, columns []string) (*Proposal, error) {
	p := &Proposal{Outcomes: outcomes, Features: features}
	if outcomes.Rows == 0 {
		return nil, unusable(outcomes.File, "give a table with a header and a row for each answer", "has no rows")
	}
	if loss := outcomes.find("loss"); loss != nil && loss.Kind == List && outcomes.find("features") != nil {
		return nil, unusable(outcomes.File, "go on with pipe inspect FILE, or pipe train --in FILE --out policies", "is a cost tensor, so it was imported before")
	}
	isLong, err := false, error(nil)
	if columns == nil {
		isLong, err = p.long()
	}
	if err == nil && !isLong {
		err = p.wide(columns)
	}
	if err != nil {
		return nil, err
	}
	if p.ID == "" {
		return nil, unusable(outcomes.File, `write id, or another name, into the header above it; pandas does with index_label="id"`, "the column that names the requests has no name")
	}
	used := p.used()
	belonging := p.belonging(used)
	p.Request = outcomes.request(outcomes.find(p.ID), used, false, p.leaks())
	p.Request.Left = append(belonging, p.Request.Left...)
	if features != nil {
		if err := p.joined(); err != nil {
			return nil, err
		}
	}
	if err := p.graded(); err != nil {
		return nil, err
	}
	if !p.Request.features() && !p.Known.features() {
		return nil, p.noFeatures()
	}
	p.check()
	return p, nil
}

// unusable is about a table from which no policy can be learned as it is. do is what to record or to change.
func unusable(file storage.Location, do, format string, args ...any) error {
	return hint.With(&dataerror.Error{File: file.String(), Msg: fmt.Sprintf(format, args...)}, do)
}

// joined looks at the table of features.
func (p *Proposal) joined() error {
	id := p.Features.find(p.ID)
	fits := func(c *Column) bool { return c.complete() && c.Kind != Number && p.Features.unique(c) }
	if id == nil || !fits(id) {
		id = p.Features.firstNamed(idWords, fits)
	}
	if id == nil {
		return unusable(p.Features.File, "give it a column with the ids of "+textfile.Quoted(p.ID)+" in "+p.Outcomes.File.String()+", each once",
			"no column has a different id in each row")
	}
	p.FeaturesID = id.Name
	used := map[string]bool{}
	for _, name := range p.Request.Features() {
		used[name] = true // a column of both tables is one feature
	}
	p.Known = p.Features.request(id, used, true, p.leaksOf(id))
	if late := slices.DeleteFunc(p.Known.Features(), func(name string) bool {
		return !later(name) && !p.Features.valued(name) && !summaries.MatchString(plain(name))
	}); len(late) > 0 {
		p.Checks = append(p.Checks, "used as features, but are they known before the answer? "+strings.Join(late, ", "))
	}
	for _, both := range []struct{ outcomes, features *string }{
		{&p.Request.Label, &p.Known.Label}, {&p.Request.Split, &p.Known.Split}, {&p.Request.Group, &p.Known.Group}, {&p.Request.Time, &p.Known.Time}, {&p.Request.Reference, &p.Known.Reference},
	} {
		if *both.outcomes != "" && *both.features != "" {
			*both.features = ""
		}
	}
	return nil
}

// used are the columns of the outcomes.
func (p *Proposal) used() map[string]bool {
	used := map[string]bool{p.ID: true}
	if l := p.Long; l != nil {
		for _, name := range []string{l.Expert, l.Advice, l.Value, l.Fee, l.Prediction, l.Propensity} {
			used[name] = true
		}
	} else {
		for _, w := range p.Wide.Pairs {
			used[w.Column], used[w.Fee], used[w.Prediction] = true, true, true
		}
	}
	delete(used, "")
	return used
}

// belonging finds other columns that have the name of an expert, such as small_latency, and marks them as used.
func (p *Proposal) belonging(used map[string]bool) (left []Left) {
	if p.Wide == nil {
		return nil
	}
	for _, c := range p.Outcomes.Columns {
		why := p.ofExpert(c)
		if odd := p.odd(c); odd != "" && !used[c.Name] {
			why = "is named like the outcomes"
			p.Checks = append(p.Checks, c.Name+" is named like the outcomes, "+odd)
		}
		if why != "" && !used[c.Name] && !p.Outcomes.divided(c) {
			used[c.Name] = true
			left = append(left, Left{c.Name, why})
		}
	}
	return left
}

// ofExpert says of which expert a column is, by its name; "" if of none.
func (p *Proposal) ofExpert(c *Column) string {
	if p.Wide == nil {
		return ""
	}
	experts, _ := p.Experts()
	for _, e := range experts {
		for _, sep := range separators {
			_, begins := stem(c.Name, strings.ToLower(e), sep, true)
			if _, ends := stem(c.Name, strings.ToLower(e), sep, false); begins || ends {
				return "seems to belong to the answers of " + e
			}
		}
	}
	return ""
}

// key is what the outcomes are.
func (p *Proposal) key() string {
	if p.Long != nil {
		return p.Long.Key
	}
	return p.Wide.Key
}

// graded drops what only graders need, or reports that they lack it.
func (p *Proposal) graded() error {
	if p.key() != "answer" {
		p.Request.Reference, p.Known.Reference = "", ""
		return nil
	}
	if p.Request.Reference+p.Known.Reference == "" {
		return unusable(p.Outcomes.File, "add a column of 1 and 0, a column of scores, or a column with the right answer called reference",
			"it has answers, but nothing says whether they are right")
	}
	p.Checks = append(p.Checks, "answers count as right if they equal the reference; docs/grading.md has other graders: number, regexp, f1, a judge")
	return nil
}

func (p *Proposal) noFeatures() error {
	do := "add columns with what is known before the answer (length, language, product, the text of the request)"
	if p.Features == nil {
		do += ", or name a table of them with --features"
	}
	if odd := slices.Concat(p.Request.odd, p.Known.odd); odd != nil {
		do = "write a number into each row of " + strings.Join(odd, ", ")
	}
	var left []string
	for _, l := range slices.Concat(p.Request.Left, p.Known.Left) {
		left = append(left, l.Column+" "+l.Why)
	}
	says := "nothing in it is known of a request before it is answered, so no policy can tell requests apart"
	if len(left) > 0 {
		says += ": " + textfile.Listed(left, 6)
	}
	return unusable(p.Outcomes.File, do, "%s", says)
}

// fewRows are too few to learn from.
const fewRows = 100

// check adds what every user has to decide.
func (p *Proposal) check() {
	if !p.measured() {
		p.Checks = append(p.Checks, "fees are 0: set what each expert and advice costs, in units of the loss")
	} else {
		p.Checks = append(p.Checks, "fee_scale is 1: a wrong answer is worth 1 in the money of the fees; set yours")
	}
	if l := p.Outcomes.find(p.Request.Label); l != nil && p.Wide != nil && slices.ContainsFunc(p.Wide.Pairs, func(w Pair) bool {
		c := p.Outcomes.find(w.Column)
		return p.Wide.Key == "correct" && l.Kind == Flag && c.Kind == Flag && c.Distinct == l.Distinct
	}) {
		p.Checks = append(p.Checks, "the label "+l.Name+" is 0 or 1 like the outcomes. If these are predictions of it and not 1 for a right answer, set value: answer and reference: "+l.Name)
	}
	for _, r := range []Request{p.Request, p.Known} {
		if len(r.Length) > 0 {
			p.Checks = append(p.Checks, "of texts only the length is used: an encoder sees what they say ("+strings.Join(r.Length, ", ")+")")
		}
	}
	if made := slices.Concat(p.Request.Categorical, p.Request.Length, p.Known.Categorical, p.Known.Length); len(made) > 0 {
		p.Checks = append(p.Checks, "who asks a policy for a decision sends numbers, also for these: 1 or 0 for each value of a category, the number of characters of a text ("+textfile.Listed(made, 12)+")")
	}
	if odd := slices.Concat(p.Request.odd, p.Known.odd); odd != nil {
		p.Checks = append(p.Checks, "no features, because not all of their values are numbers: "+textfile.Listed(odd, 12)+". Fill the others in")
	}
	if p.Outcomes.Rows < fewRows {
		p.Checks = append(p.Checks, "there are few rows: a clear verdict takes hundreds of requests")
	}
	if p.Outcomes.More {
		p.Checks = append(p.Checks, "only the first rows were looked at")
	}
}

// measured reports whether the fee of each answer is in the table.
func (p *Proposal) measured() bool {
	if p.Long != nil {
		return p.Long.Fee != ""
	}
	return p.Wide.Pairs[0].Fee != ""
}

// Experts are the experts, and the advice besides the absence of advice, in order of appearance.
func (p *Proposal) Experts() (experts, advice []string) {
	if p.Long != nil {
		return p.Long.Experts, p.Long.Advices
	}
	for _, w := range p.Wide.Pairs {
		if !slices.Contains(experts, w.Expert) {
			experts = append(experts, w.Expert)
		}
		if w.Advice != "" && w.Advice != cmp.Or(p.None, "none") && !slices.Contains(advice, w.Advice) {
			advice = append(advice, w.Advice)
		}
	}
	return experts, advice
}
