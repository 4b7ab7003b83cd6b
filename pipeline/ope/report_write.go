package ope

import (
	"fmt"
	"io"
	"strings"

	"pipe/internal/safetext"
	"pipe/models"
	"pipe/pipeline/report/page"
)

// table is a table as it is printed; the first column is words.
type table struct {
	title string
	head  []string
	rows  [][]string
}

// tables are those with rows.
func (r *Report) tables() (all []table) {
	for _, t := range []table{r.estimates(), r.weights(), r.unsupported(), r.outcomes(), r.propensities(), r.loggers(), r.leftOut()} {
		for _, row := range t.rows {
			for i := range row {
				row[i] = safetext.Line(row[i])
			}
		}
		if len(t.rows) > 0 {
			all = append(all, t)
		}
	}
	return all
}

func (r *Report) estimates() table {
	t := table{title: fmt.Sprintf("Estimates per request, with intervals of %g%%", 100*r.Level), head: []string{"estimator", r.Policy, r.Against, "gain", "share"}}
	for _, e := range r.Estimates {
		row := []string{e.Name, interval(e.Policy), interval(e.Against), interval(e.Gain), ""}
		if e.Share != nil {
			row[4] = fmt.Sprintf("%.1f%% [%.1f, %.1f]", 100*e.Share.Mean, 100*e.Share.Low, 100*e.Share.High)
		}
		t.rows = append(t.rows, row)
	}
	switch a := r.Anytime; {
	case a == nil:
	case a.Why != "":
		t.rows = append(t.rows, []string{"exact, at any time", "not known: " + a.Why, "", "", ""})
	default:
		t.rows = append(t.rows, []string{"exact, at any time", interval(*a.Policy), "", interval(*a.Gain), ""})
	}
	return t
}

func interval(v models.Interval) string {
	return fmt.Sprintf("%.4f [%.4f, %.4f]", v.Mean, v.Low, v.High)
}

func (r *Report) weights() table {
	t := table{title: "Rows that count most", head: []string{"row", "pair", "probability", "weight"}}
	if r.Support != nil {
		for _, w := range r.Support.Largest {
			t.rows = append(t.rows, []string{w.ID, w.Pair, fmt.Sprintf("%.4g", w.Propensity), fmt.Sprintf("%.4g", w.Weight)})
		}
	}
	return t
}

func (r *Report) unsupported() table {
	t := table{title: "Choices that the log never tried", head: []string{"policy", "pair", "rows", "share of the choices"}}
	add := func(name string, s *Support) {
		if s == nil {
			return
		}
		for _, p := range s.Pairs {
			t.rows = append(t.rows, []string{name, p.Pair, fmt.Sprint(p.Rows), share(p.Share)})
		}
	}
	add(r.Policy, r.Support)
	add(r.Against, r.Baseline)
	return t
}

func (r *Report) outcomes() table {
	t := table{title: "Outcomes", head: []string{"pair", "known", "missing", "median delay", "a tenth is later than"}}
	seconds := func(v *float64) string {
		if v == nil {
			return ""
		}
		return fmt.Sprintf("%.3g s", *v)
	}
	for _, p := range r.Outcomes.Pairs {
		t.rows = append(t.rows, []string{p.Pair, fmt.Sprint(p.Known), fmt.Sprint(p.Missing), seconds(p.Delay), seconds(p.Late)})
	}
	return t
}

func (r *Report) propensities() table {
	t := table{title: "Probabilities of the log", head: []string{"pair", "executed", "expected", "standard errors apart"}}
	for i := range r.Logged.Parts {
		t.head = append(t.head, fmt.Sprintf("mean in part %d of the time", i+1))
	}
	for _, p := range r.Logged.Pairs {
		row := []string{p.Pair, fmt.Sprintf("%.4f", p.Executed), "", ""}
		if p.Expected != nil {
			row[2] = fmt.Sprintf("%.4f", *p.Expected)
		}
		if p.Z != nil {
			row[3] = fmt.Sprintf("%.1f", *p.Z)
		}
		for i := range r.Logged.Parts {
			cell := ""
			if i < len(p.Parts) {
				cell = fmt.Sprintf("%.4f", p.Parts[i])
			}
			row = append(row, cell)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func (r *Report) loggers() table {
	t := table{title: "Policies that decided", head: []string{"policy", "rows"}}
	for _, l := range r.Loggers {
		t.rows = append(t.rows, []string{l.Policy, fmt.Sprint(l.Rows)})
	}
	return t
}

func (r *Report) leftOut() table {
	t := table{title: "Left out", head: []string{"why", "rows"}}
	for _, l := range r.Left {
		t.rows = append(t.rows, []string{l.Reason, fmt.Sprint(l.Rows)})
	}
	return t
}

// lines say what is in no table.
func (r *Report) lines() []string {
	lines := []string{
		fmt.Sprintf("%d rows%s of %s; all costs are at prices: %s, lambda %g.", r.Rows, safetext.Counted(" of %d users", r.Clusters), r.File, r.Prices, r.Lambda),
		fmt.Sprintf("The two choose differently on %s of the rows; %s effective rows tell them apart.", share(r.Differ), count(r.Decisive)),
	}
	if s := r.Support; s != nil {
		lines = append(lines, fmt.Sprintf("%s: the executed pair is its choice on %d rows, which count as %s rows of equal weight; %s of its choices were never tried.", r.Policy, s.Same, count(s.Effective), share(s.Untried)))
	}
	if o := r.Outcomes; o.P != nil {
		lines = append(lines, fmt.Sprintf("The outcome of %d answered decisions is missing (%s). Whether it is missing %s on the pair (p = %.2g).", o.Missing, share(o.Share), map[bool]string{true: "depends", false: "does not visibly depend"}[o.Depends], *o.P))
	}
	if a := r.Anytime; a != nil && a.Why == "" {
		lines = append(lines, fmt.Sprintf("The exact interval holds for costs from %g to %g, however often the log is looked at.", a.Low, a.High))
	}
	return append(lines, r.Cautions...)
}

// WriteText writes the report for a terminal; the first line is the sentence.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", safetext.Line(r.Sentence))
	for _, line := range r.lines() {
		fmt.Fprintf(&b, "%s\n", safetext.Line(line))
	}
	for _, t := range r.tables() {
		fmt.Fprintf(&b, "\n%s\n%s", t.title, safetext.Table(append([][]string{t.head}, t.rows...)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteHTML writes the report as one self-contained page.
func (r *Report) WriteHTML(w io.Writer) error {
	tone := map[string]string{Saves: page.Good, Costs: page.Bad, Unknown: page.Unknown}[r.Verdict]
	p := &page.Page{
		Title: r.Policy + " against " + r.Against, Kind: "What another policy would have cost, from " + r.File,
		Answers:  []page.Answer{{Tone: tone, Text: r.Sentence}},
		Sections: []page.Section{{ID: "about", Title: "What this is based on", Blocks: []page.Block{{List: r.lines()}}}},
	}
	for i, t := range r.tables() {
		p.Sections = append(p.Sections, page.Section{ID: fmt.Sprintf("table%d", i+1), Title: t.title, Blocks: []page.Block{{Table: t.page()}}})
	}
	return p.Write(w)
}

func (t table) page() *page.Table {
	cells := func(row []string) (out []page.Cell) {
		for i, text := range row {
			out = append(out, page.Cell{Text: text, Word: i == 0})
		}
		return out
	}
	p := &page.Table{Head: cells(t.head)}
	for _, row := range t.rows {
		p.Rows = append(p.Rows, cells(row))
	}
	return p
}
