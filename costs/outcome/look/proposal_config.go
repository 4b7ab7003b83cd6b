package look

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"pipe/internal/storage"
)

// longList is how many columns beside each other are written as a range.
const longList = 8

// Config is the configuration of the import, with what was seen and what is uncertain in comments. path is how it names a file.
func (p *Proposal) Config(path func(storage.Location) string) string {
	var w writer
	w.line(0, "# How `pipe import` reads this table. It was proposed after a look at %d rows, so read it before you trust it.", p.Outcomes.Rows)
	w.line(0, "# docs/import.md describes every key.")
	for _, check := range p.Checks {
		w.line(0, "# CHECK: %s", one(check))
	}
	w.line(0, "outcomes:")
	w.line(1, "file: %s", scalar(path(p.Outcomes.File)))
	w.line(1, "columns:")
	w.line(2, "id: %s  # %s", scalar(p.ID), p.Reason)
	if p.Long != nil {
		p.Long.write(&w, p.Outcomes, cmp.Or(p.None, "none"))
	}
	p.Request.properties(&w, 2)
	if p.Wide != nil {
		p.Wide.write(&w)
	}
	if p.Range != nil {
		w.line(1, "score_range: [%v, %v]  # the worst and the best score", p.Range[0], p.Range[1])
	}
	if p.key() == "answer" {
		w.line(1, "grade: {kind: exact}  # or number, regexp, json, f1, judge (docs/grading.md)")
	}
	p.fees(&w)
	w.line(0, "features:  # what a policy sees of a request: only what is known before it is answered")
	if p.Request.features() {
		w.item = "- "
		p.Request.columns(&w, p.Outcomes)
	}
	p.Request.left(&w)
	if p.Features != nil {
		p.Known.table(&w, p.Features, path(p.Features.File), p.FeaturesID)
	}
	p.rest(&w)
	return w.String()
}

func (l *Long) write(w *writer, t *Table, none string) {
	w.line(2, "expert: %s  # %d: %s", scalar(l.Expert), len(l.Experts), one(listed(l.Experts)))
	if l.Advice != "" {
		w.line(2, "advice: %s  # %s", scalar(l.Advice), one(listed(append([]string{none}, l.Advices...))))
	}
	w.line(2, "%s: %s  # %s", l.Key, scalar(l.Value), t.find(l.Value).seen())
	for _, other := range []struct{ key, column, why string }{
		{"fee", l.Fee, "money of each answer"},
		{"prediction", l.Prediction, "the answer"},
		{"propensity", l.Propensity, "the probability with which the expert of the row was chosen"},
	} {
		if other.column != "" {
			w.line(2, "%s: %s  # %s", other.key, scalar(other.column), other.why)
		}
	}
}

// seen describes the values of a column.
func (c *Column) seen() string {
	switch {
	case c.Kind == Flag, !c.numeric():
		return string(c.Kind)
	default:
		return fmt.Sprintf("%s from %v to %v", c.Kind, c.Min, c.Max)
	}
}

func (f *Wide) write(w *writer) {
	w.line(1, "wide:")
	w.line(2, "value: %s  # what the columns below hold", f.Key)
	w.line(2, "pairs:")
	for _, p := range f.Pairs {
		parts := []string{"expert: " + scalar(p.Expert)}
		for _, other := range []struct{ key, value string }{{"advice", p.Advice}, {"column", p.Column}, {"fee", p.Fee}, {"prediction", p.Prediction}} {
			if other.value != "" {
				parts = append(parts, other.key+": "+scalar(other.value))
			}
		}
		w.line(3, "- {%s}", strings.Join(parts, ", "))
	}
}

func (p *Proposal) fees(w *writer) {
	experts, advice := p.Experts()
	if p.None != "" {
		w.line(0, "none: %s  # the advice that means no advice", scalar(p.None))
	}
	if p.measured() {
		w.line(0, "fees:")
		w.line(1, "fee_scale: 1  # CHANGE: 1 / what a wrong answer costs you, in the money of the fees")
		w.line(1, "currency: USD  # CHANGE, if it is another one")
		return
	}
	if strings.Contains(strings.Join(slices.Concat(experts, advice), " "), "${") {
		w.line(0, "# fees: a name with ${ cannot have one")
		return
	}
	w.line(0, "fees:  # CHANGE: in units of the loss. If a wrong answer costs 1 dollar and a call 15 cents, the fee is 0.15")
	w.line(1, "experts: {%s}", free(experts))
	if len(advice) > 0 {
		w.line(1, "advice: {%s}", free(advice))
	}
}

// free is a map of names to 0.
func free(names []string) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = scalar(n) + ": 0"
	}
	return strings.Join(parts, ", ")
}

// properties are the columns of a request that are no features.
func (r *Request) properties(w *writer, depth int) {
	for _, role := range []struct{ key, column, why string }{
		{"reference", r.Reference, "the right answer"},
		{"label", r.Label, "of the request; no feature, because it may be the right answer"},
		{"split", r.Split, "which rows train"},
		{"group", r.Group, "rows of one group stay in one split"},
		{"time", r.Time, "when it was recorded"},
	} {
		if role.column != "" {
			w.line(depth, "%s: %s  # %s", role.key, scalar(role.column), role.why)
		}
	}
}

// table writes the features of a table of features.
func (r *Request) table(w *writer, t *Table, file, id string) {
	w.line(1, "- file: %s", scalar(file))
	w.line(2, "id: %s", scalar(id))
	r.columns(w, t)
	r.properties(w, 2)
	r.left(w)
}

func (r *Request) columns(w *writer, t *Table) {
	if len(r.Numbers) > 0 {
		w.line(2, "columns: [%s]", flow(ranges(t.names(), r.Numbers)))
	}
	if len(r.Categorical) > 0 {
		w.line(2, "categorical: [%s]  # one feature for each value", flow(r.Categorical))
	}
	if r.List != "" {
		w.line(2, "list: %s", scalar(r.List))
	}
	if len(r.Length) > 0 {
		w.line(2, "length: [%s]  # the number of characters", flow(r.Length))
		w.line(2, "# instead of length, what the texts say: text: {columns: [%s], encoder: FOLDER OR org/name}", one(flow(r.Length)))
	}
}

func (r *Request) left(w *writer) {
	for _, l := range r.Left {
		w.line(2, "# not used: %s, which %s", one(scalar(l.Column)), one(l.Why))
	}
}

// rest writes the split and what happens to missing values.
func (p *Proposal) rest(w *writer) {
	for _, r := range []struct {
		*Request
		*Table
	}{{&p.Request, p.Outcomes}, {&p.Known, p.Features}} {
		if r.Split == "" {
			continue
		}
		names := splits(r.find(r.Split).Values)
		var parts []string
		for _, word := range slices.Sorted(maps.Keys(names)) {
			parts = append(parts, scalar(word)+": "+names[word])
		}
		w.line(0, "split: {names: {%s}}", strings.Join(parts, ", "))
	}
	if p.Request.Split+p.Known.Split == "" {
		w.line(0, "split: {validation: 0.25}  # a quarter of the requests judges the policy, the others train it")
		if p.Request.Time+p.Known.Time != "" {
			w.line(0, "# split: {kind: time, validation: 0.25}  # instead: the latest quarter judges")
		}
	}
	switch {
	case p.Long != nil && p.Long.Propensity != "":
		w.line(0, "missing: keep  # what the other experts would have cost is unknown")
	case p.Drop:
		w.line(0, "missing: drop  # leave out requests without an outcome of every pair or with an empty feature; keep: their other outcomes are unknown")
	}
}

// ranges writes many columns that are beside each other as FIRST..LAST.
func ranges(all, names []string) (out []string) {
	for i := 0; i < len(names); {
		at, n := slices.Index(all, names[i]), 1
		for i+n < len(names) && at+n < len(all) && all[at+n] == names[i+n] {
			n++
		}
		if n >= longList && !strings.Contains(names[i]+names[i+n-1], "..") && !slices.Contains(all, names[i]+".."+names[i+n-1]) {
			out = append(out, names[i]+".."+names[i+n-1])
		} else {
			out = append(out, names[i:i+n]...)
		}
		i += n
	}
	return out
}

// writer writes lines of YAML.
type writer struct {
	strings.Builder
	item string // begins the next line, in place of two spaces, if that is the first of an item of a list
}

func (w *writer) line(depth int, format string, args ...any) {
	indent := strings.Repeat("  ", depth)
	if w.item != "" {
		indent, w.item = indent[2:]+w.item, ""
	}
	fmt.Fprintf(w, indent+format+"\n", args...)
}

// word is a text that YAML reads as itself.
var word = regexp.MustCompile(`^(\.\./|\./)*[A-Za-z_/][\w./+-]*$`)

// scalar is a text as YAML that a configuration reads as it is.
func scalar(text string) string {
	if word.MatchString(text) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(text)) {
		return text
	}
	b, _ := json.Marshal(strings.ReplaceAll(text, "${", "$${")) // the marshaller of a string has no error
	return string(b)
}

func flow(names []string) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = scalar(n)
	}
	return strings.Join(parts, ", ")
}

// listed is the beginning of a list for a comment.
func listed(names []string) string {
	if len(names) > 12 {
		names = append(slices.Clone(names[:12]), "...")
	}
	return strings.Join(names, ", ")
}

// one is a text on one line, for a comment: a name of a column may have any character.
func one(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, text)
}
