package propose

import (
	"fmt"
	"io"
	"strings"

	"pipe/costs/outcome"
	"pipe/costs/outcome/look"
	"pipe/internal/safetext"
)

// Report says what was found in a table and what to do next. It is the JSON object of pipe init.
type Report struct {
	Format   int       `json:"format"`
	File     string    `json:"file"` // the configuration
	Table    string    `json:"table"`
	Rows     int       `json:"rows"`
	Form     string    `json:"form"` // long, wide or decisions
	ID       string    `json:"id"`
	Experts  []string  `json:"experts"`
	Advice   []string  `json:"advice,omitempty"` // besides none
	Outcome  string    `json:"outcome"`          // the key, such as correct, and its column in long form
	Features []string  `json:"features"`         // columns
	Left     []Left    `json:"left,omitempty"`
	Checks   []string  `json:"checks"` // what is uncertain, or to be decided
	Kept     int       `json:"kept"`   // requests that an import keeps
	Of       int       `json:"of"`
	Next     []Command `json:"next"`
}

// Left is a column that is not used.
type Left struct {
	Column string `json:"column"`
	Why    string `json:"why"`
}

// Command is a command line to run next.
type Command struct {
	Line string `json:"line"`
	Why  string `json:"why"`
}

func newReport(o Options, p *look.Proposal, tried outcome.Report) *Report {
	experts, advice := p.Experts()
	r := &Report{
		Format: 1, File: o.Out.String(), Table: o.In.String(), Rows: p.Outcomes.Rows, Form: "wide", ID: p.ID,
		Experts: experts, Advice: advice, Checks: p.Checks, Kept: tried.Kept, Of: tried.Instances,
	}
	if p.Long != nil {
		r.Form, r.Outcome = "long", p.Long.Key+" ("+p.Long.Value+")"
		if p.Long.Propensity != "" {
			r.Form = "decisions"
		}
	} else {
		r.Outcome = fmt.Sprintf("%s (%d columns)", p.Wide.Key, len(p.Wide.Pairs))
	}
	for _, known := range []look.Request{p.Request, p.Known} {
		r.Features = append(r.Features, known.Features()...)
		for _, l := range known.Left {
			r.Left = append(r.Left, Left(l))
		}
	}
	r.Next = next(r, tried.Splits)
	return r
}

// next are the commands from the configuration to a verdict.
func next(r *Report, splits map[string]int) []Command {
	list := []Command{
		{"pipe import --config " + safetext.Shell(r.File) + " --out costs.parquet", "makes a table of costs"},
		{"pipe train --in costs.parquet --out policies", "learns who should answer what"},
	}
	if r.Form == "decisions" {
		return append(list, Command{"pipe ope --costs costs.parquet --policy policies/auto-lambda1.onnx", "says what the policy would have cost"})
	}
	split := ""
	if splits["val"] == 0 && splits["test"] > 0 {
		split = " --split test"
	}
	return append(list, Command{"pipe eval --in costs.parquet --policy policies" + split + " --out report", "says whether that is worth it"})
}

// WriteText writes the report for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	f := safetext.Titled(r.File, "configuration for an import")
	f.Add("table", "%s, %s", r.Table, safetext.Counted("%d rows", r.Rows))
	f.Add("form", "%s", map[string]string{
		"long": "a row per request and expert", "wide": "a row per request, a column per expert", "decisions": "a row per request, answered by one expert",
	}[r.Form])
	f.Add("request", "%s", r.ID)
	f.Add("experts", "%s", short(r.Experts))
	if len(r.Advice) > 0 {
		f.Add("advice", "none, %s", short(r.Advice))
	}
	f.Add("outcome", "%s", r.Outcome)
	f.Add("features", "%s", short(r.Features))
	for _, l := range r.Left {
		f.Add("not used", "%s, which %s", l.Column, l.Why)
	}
	f.Add("tried", "an import keeps %d of %d requests", r.Kept, r.Of)
	for _, c := range r.Checks {
		f.Add("check", "%s", c)
	}
	if err := f.WriteText(w); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nRead %s, then run:\n", safetext.Line(r.File))
	width := 0
	for _, c := range r.Next {
		width = max(width, len(c.Line))
	}
	for _, c := range r.Next {
		fmt.Fprintf(&b, "  %-*s # %s\n", width, safetext.Line(c.Line), c.Why)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// short is a list of names, cut after the first ones.
func short(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
