package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"pipe/internal/safetext"
	"pipe/pipeline/report"
	"pipe/pipeline/report/page"
)

// table is a table as it is printed: the first left columns are words.
type table struct {
	title string
	left  int
	head  []string
	rows  [][]string
}

// tables are those with rows. A column setting is left out if no row has one.
func (c *Comparison) tables() []table {
	all := []table{c.savingTable(), c.methodTable(), c.constantTable(), c.calibrationTable(), c.settingTable()}
	all = slices.DeleteFunc(all, func(t table) bool { return len(t.rows) == 0 })
	for i := range all {
		all[i].dropSetting()
		for _, row := range all[i].rows {
			for k := range row {
				row[k] = safetext.Line(row[k])
			}
		}
	}
	return all
}

func (t *table) dropSetting() {
	if t.head[0] != "setting" || slices.ContainsFunc(t.rows, func(row []string) bool { return row[0] != "" }) {
		return
	}
	t.head, t.left = t.head[1:], t.left-1
	for i := range t.rows {
		t.rows[i] = t.rows[i][1:]
	}
}

func (c *Comparison) savingTable() table {
	t := table{
		title: "Saved against the best fixed pair of the training rows", left: 4,
		head: []string{"setting", "lambda", "A deploys", "B deploys", "A saves (95%)", "B saves (95%)"},
	}
	for _, v := range c.Verdicts {
		row := []string{v.Setting, report.Number(&v.Lambda), "", "", "", ""}
		for i, a := range []*Advice{v.A, v.B} {
			if a != nil {
				row[2+i] = a.What
				if a.Saved != nil {
					row[4+i] = report.Amount(*a.Saved)
				}
			}
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func (c *Comparison) methodTable() table {
	t := table{title: "True loss by method", left: 3, head: []string{"setting", "lambda", "method", "A", "B", "B - A", "pair in A", "pair in B"}}
	for _, m := range c.Methods {
		t.rows = append(t.rows, []string{m.Setting, report.Number(m.Lambda), m.Method, number(m.A), number(m.B), signed(m.Change), m.PairA, m.PairB})
	}
	return t
}

func (c *Comparison) constantTable() table {
	t := table{title: "One pair for every row", left: 2, head: []string{"setting", "pair", "loss A", "loss B", "B - A", "fees A", "fees B", "B - A"}}
	for _, p := range c.Constants {
		t.rows = append(t.rows, []string{p.Setting, p.Pair, number(p.LossA), number(p.LossB), signed(p.Loss), number(p.MoneyA), number(p.MoneyB), signed(p.Money)})
	}
	return t
}

func (c *Comparison) calibrationTable() table {
	t := table{title: "Calibration error", left: 2, head: []string{"setting", "policy", "A", "B", "B - A"}}
	for _, p := range c.Calibration {
		t.rows = append(t.rows, []string{p.Setting, p.Policy, number(p.A), number(p.B), signed(p.Change)})
	}
	return t
}

func (c *Comparison) settingTable() table {
	t := table{title: "Settings that differ", left: 3, head: []string{"name", "A", "B"}}
	for _, s := range c.Settings {
		t.rows = append(t.rows, []string{s.Name, s.A, s.B})
	}
	return t
}

func number(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%.4f", *v)
}

func signed(v *float64) string {
	if v == nil {
		return ""
	}
	if s := fmt.Sprintf("%+.4f", *v); s != "-0.0000" && s != "+0.0000" {
		return s
	}
	return "0.0000"
}

// sentences say what both reports recommend at a lambda, B's last.
func (v *Verdict) sentences() []string {
	say := func(name string, a *Advice) string {
		if a == nil {
			return name + " has no verdict for lambda " + report.Number(&v.Lambda) + "."
		}
		return name + ": " + safetext.Line(a.Sentence)
	}
	return []string{say("A", v.A), say("B", v.B)}
}

// WriteText writes the comparison for a terminal.
func (c *Comparison) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "A: %s, %s\nB: %s, %s\n\n", safetext.Line(c.A.Title), safetext.Line(c.A.File), safetext.Line(c.B.Title), safetext.Line(c.B.File))
	for _, v := range c.Verdicts {
		for _, s := range v.sentences() {
			fmt.Fprintf(&b, "%s\n", s)
		}
		if v.Changed {
			fmt.Fprintf(&b, "Changed at lambda %s: another recommendation.\n", report.Number(&v.Lambda))
		}
		b.WriteByte('\n')
	}
	for _, t := range c.tables() {
		fmt.Fprintf(&b, "%s\n%s\n", t.title, safetext.Table(append([][]string{t.head}, t.rows...)))
	}
	for _, note := range c.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteHTML writes the comparison as one self-contained page.
func (c *Comparison) WriteHTML(w io.Writer) error {
	p := &page.Page{Title: "Comparison of two reports", Kind: fmt.Sprintf("A: %s (%s). B: %s (%s).", c.A.Title, c.A.File, c.B.Title, c.B.File)}
	for _, v := range c.Verdicts {
		tone := page.Keep
		if v.Changed {
			tone = page.Good
		}
		for _, s := range v.sentences() {
			p.Answers = append(p.Answers, page.Answer{Tone: tone, Text: s})
		}
	}
	for i, t := range c.tables() {
		p.Sections = append(p.Sections, page.Section{ID: fmt.Sprintf("table%d", i+1), Title: t.title, Blocks: []page.Block{{Table: t.page()}}})
	}
	p.Sections = append(p.Sections, page.Section{ID: "notes", Title: "Notes", Blocks: []page.Block{{List: c.Notes}}})
	return p.Write(w)
}

func (t table) page() *page.Table {
	p := &page.Table{}
	cells := func(row []string) (out []page.Cell) {
		for i, text := range row {
			out = append(out, page.Cell{Text: text, Word: i < t.left})
		}
		return out
	}
	p.Head = cells(t.head)
	for _, row := range t.rows {
		p.Rows = append(p.Rows, cells(row))
	}
	return p
}
