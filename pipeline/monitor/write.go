package monitor

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"pipe/internal/atomicfile"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/report/figure"
	"pipe/pipeline/report/page"
	"pipe/pipeline/stage"
)

// Patterns match the files that Write writes.
var Patterns = append([]string{"monitor.json", "monitor.html"}, figurePatterns...)

var figurePatterns = []string{"drift.svg", "shares.svg"}

// Write writes the status into a folder, as monitor.json, as the page monitor.html, and its figures as drift.svg and shares.svg.
func Write(ctx context.Context, folder storage.Location, s *Status) error {
	if err := atomicfile.WriteAt(ctx, folder.Join("monitor.json"), stage.Indented(s)); err != nil {
		return err
	}
	if err := atomicfile.WriteAt(ctx, folder.Join("monitor.html"), s.WriteHTML); err != nil {
		return err
	}
	return figure.Write(ctx, folder, figurePatterns, s.figures())
}

// WriteHTML writes the status as one self-contained page.
func (s *Status) WriteHTML(w io.Writer) error { return s.page().Write(w) }

// mostOnPage is the number of features on the page.
const mostOnPage = 1000

// page returns the page: a sentence per family, then the tables.
func (s *Status) page() *page.Page {
	p := &page.Page{
		Title: "Monitor: " + string(s.Verdict),
		Kind: fmt.Sprintf("%s (%s at lambda %g, %s) · %d new rows%s · baseline %s, %d rows of %s",
			s.Policy.File, s.Policy.Method, s.Policy.Lambda, s.Policy.Digest, s.New.Rows, safetext.After(" of ", s.New.File), s.Baseline.File, s.Baseline.Rows, s.Baseline.Splits),
	}
	if s.New.First != "" {
		p.Kind += fmt.Sprintf(" · outcomes from %s to %s", s.New.First, s.New.Last)
	}
	for _, f := range s.families() {
		text := fmt.Sprintf("%s: %s. %s.", f.Name, f.Verdict, strings.Join(f.Lines, ". "))
		p.Answers = append(p.Answers, page.Answer{Tone: tones[f.Verdict], Text: text})
	}
	if f := s.Outcomes.figure(); f != nil {
		p.Sections = append(p.Sections, page.Section{ID: "drift", Title: "Drift", Blocks: []page.Block{{Figure: f}}})
	}
	for i, t := range s.tables(mostOnPage) {
		blocks := []page.Block{{Table: t.page()}}
		if f := s.Decisions.figure(); f != nil && t.Title == sharesTitle {
			blocks = append([]page.Block{{Figure: f}}, blocks...)
		}
		p.Sections = append(p.Sections, page.Section{ID: fmt.Sprintf("table%d", i+1), Title: t.Title, Blocks: blocks})
	}
	if len(s.Notes) > 0 {
		p.Sections = append(p.Sections, page.Section{ID: "notes", Title: "Notes", Blocks: []page.Block{{List: s.Notes}}})
	}
	return p
}

var tones = map[Verdict]string{OK: page.Good, Warning: page.Keep, Alarm: page.Bad, Untested: page.Unknown}

// page is the table with its first column as words, and what is found in bold.
func (t table) page() *page.Table {
	out := &page.Table{}
	for i, h := range t.Head {
		out.Head = append(out.Head, page.Cell{Text: h, Word: i == 0})
	}
	for _, row := range t.Rows {
		var cells []page.Cell
		for i, text := range row {
			cells = append(cells, page.Cell{Text: text, Word: i == 0, Bold: i == len(row)-1})
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

// mostListed is the number of features in the text form.
const mostListed = 10

// WriteText writes the status for a terminal.
func (s *Status) WriteText(w io.Writer) error {
	b := &safetext.Fields{}
	fmt.Fprintf(b, "Monitor: %s\n", s.Verdict)
	b.Add("policy", "%s (%s at lambda %g)", s.Policy.File, s.Policy.Method, s.Policy.Lambda)
	if s.Baseline.Rows > 0 {
		b.Add("baseline", "%s, %d rows of %s", s.Baseline.File, s.Baseline.Rows, s.Baseline.Splits)
	}
	b.Add("new rows", "%d%s", s.New.Rows, safetext.After(" of ", s.New.File))
	if s.New.First != "" {
		b.Add("outcomes", "from %s to %s", s.New.First, s.New.Last)
	}
	for _, f := range s.families() {
		fmt.Fprintf(b, "\n%s: %s\n", f.Name, f.Verdict)
		for _, line := range f.Lines {
			fmt.Fprintf(b, "  %s\n", safetext.Line(line))
		}
	}
	for _, t := range s.tables(mostListed) {
		fmt.Fprintf(b, "\n%s\n%s", t.Title, safetext.Table(append([][]string{t.Head}, t.Rows...)))
	}
	for i, n := range s.Notes {
		fmt.Fprintf(b, "%snote: %s\n", strings.Repeat("\n", max(0, 1-i)), safetext.Line(n))
	}
	return b.WriteText(w)
}

// family is a family of tests in words.
type family struct {
	Name    string
	Verdict Verdict
	Lines   []string
}

// table is one of the tables.
type table struct {
	Title string
	Head  []string
	Rows  [][]string
}

func (s *Status) families() (list []family) {
	if g := s.Guarantee; g != nil {
		list = append(list, family{"Guarantee", g.Verdict, g.lines()})
	}
	if s.Baseline == (BaselineInfo{}) {
		return list
	}
	return append(list,
		family{"Outcomes", s.Outcomes.Verdict, s.Outcomes.lines()},
		family{"Decisions", s.Decisions.Verdict, s.Decisions.lines()},
		family{"Inputs", s.Inputs.Verdict, s.Inputs.lines()})
}

// Alarms returns the families whose verdict is an alarm.
func (s *Status) Alarms() (names []string) {
	for _, f := range s.families() {
		if f.Verdict == Alarm {
			names = append(names, strings.ToLower(f.Name))
		}
	}
	return names
}

func (o OutcomesStatus) lines() (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if a := o.Alarm; a != nil {
		add("baseline mean %s (%d rows), with %.4g%% confidence at most %s; with the tolerance %g the level is %s",
			digits(a.Baseline), a.Rows, 100*(1-a.Alpha/2), digits(a.Upper), a.Tolerance, digits(a.Level))
	}
	if o.Mean == nil {
		return append(lines, "no outcome is known")
	}
	add("mean of %d outcomes %s", o.Known, digits(*o.Mean))
	if a := o.Alarm; a != nil && a.Possible {
		where := "has not risen"
		if a.Risen > 0 {
			where = fmt.Sprintf("rose at outcome %d%s", a.Risen, safetext.After(", ", a.Time))
		}
		add("alarm: %s; evidence %.3g, at most %.3g so far, it rises at %g (false with a probability of at most %g, ever)", where, a.Evidence, a.Peak, a.RisesAt, a.Alpha)
	}
	if a := o.ADWIN; a != nil {
		text := fmt.Sprintf("residual %s against %s; ADWIN found %d changes", signed(*o.Residual), a.Expected, a.Changes)
		if n := len(a.Latest); n > 0 {
			text += fmt.Sprintf(", the latest at %d%s; since then the mean is %s", a.Latest[n-1].Value, safetext.After(", ", a.Latest[n-1].Time), signed(a.Residual))
		}
		lines = append(lines, text)
	}
	return lines
}

func (g *GuaranteeStatus) lines() []string {
	what := "accepted decisions"
	if g.Joint {
		what = "decisions, where those that are not accepted count as 0,"
	}
	if g.Mean == nil {
		return []string{fmt.Sprintf("the promised risk is %g; no loss of an accepted decision is known", g.Risk)}
	}
	where := "has not risen"
	if g.Risen > 0 {
		where = fmt.Sprintf("rose at decision %d%s", g.Risen, safetext.After(", ", g.Time))
	}
	return []string{
		fmt.Sprintf("mean loss of %d %s %s; promised is at most %g", g.Accepted, what, digits(*g.Mean), g.Risk),
		fmt.Sprintf("alarm: %s; evidence %.3g, it rises at %g (false with a probability of at most %g, ever)", where, g.Evidence, g.RisesAt, g.Alpha),
	}
}

// digits formats a number for a sentence.
func digits(v float64) string { return decisionlog.Digits(v) }

// signed formats a number with its sign.
func signed(v float64) string {
	if math.Signbit(v) {
		return digits(v)
	}
	return "+" + digits(v)
}

func (d DecisionsStatus) lines() []string {
	if d.Verdict == Untested {
		return []string{"no decision was added"}
	}
	changed := 0
	for _, p := range d.Pairs {
		if p.Changed {
			changed++
		}
	}
	return []string{fmt.Sprintf("%s over all pairs: p = %.3g (level %g); %d of %d pairs have another share", d.Test, d.P, d.Level, changed, len(d.Pairs))}
}

func (i InputsStatus) lines() []string {
	if i.Verdict == Untested {
		return []string{"no row was added"}
	}
	lines := []string{fmt.Sprintf("%d of %d features changed (adjusted p at most %g)", i.Changed, len(i.Features), i.Level/2)}
	if m := i.MMD; m != nil {
		lines = append(lines, fmt.Sprintf("whole vectors: MMD %.4f, p = %.3g (level %g)", m.MMD, m.P, i.Level/2))
	}
	return lines
}

// sharesTitle is the title of the table of pairs.
const sharesTitle = "Shares of pairs"

// tables returns the tables of the pairs, and of the features with the smallest p-values.
func (s *Status) tables(most int) (list []table) {
	if len(s.Decisions.Pairs) > 0 {
		t := table{Title: sharesTitle, Head: []string{"pair", "baseline", "now", fmt.Sprintf("change (%g%%, all together)", 100*(1-s.Decisions.Level)), ""}}
		for _, p := range s.Decisions.Pairs {
			t.Rows = append(t.Rows, []string{
				p.Pair, fmt.Sprintf("%.4f", p.Baseline), fmt.Sprintf("%.4f", p.Now), fmt.Sprintf("%+.4f to %+.4f", p.Low, p.High), mark(p.Changed),
			})
		}
		list = append(list, t)
	}
	if len(s.Inputs.Features) == 0 {
		return list
	}
	features := slices.Clone(s.Inputs.Features)
	slices.SortStableFunc(features, func(a, b FeatureStatus) int { return compareFeatures(a, b) })
	t := table{Title: "Features", Head: []string{"feature", "test", "statistic", "p", "adjusted p", ""}}
	if len(features) > most {
		t.Title = fmt.Sprintf("Features, %d of %d with the smallest p", most, len(features))
		features = features[:most]
	}
	for _, f := range features {
		t.Rows = append(t.Rows, []string{f.Name, f.Test, fmt.Sprintf("%.4f", f.Statistic), fmt.Sprintf("%.3g", f.P), fmt.Sprintf("%.3g", f.Adjusted), mark(f.Changed)})
	}
	return append(list, t)
}

// compareFeatures orders by p-value, then, where that is 0, by the statistic.
func compareFeatures(a, b FeatureStatus) int {
	switch {
	case a.P < b.P:
		return -1
	case a.P > b.P:
		return 1
	case a.Statistic > b.Statistic:
		return -1
	case a.Statistic < b.Statistic:
		return 1
	}
	return 0
}

func mark(changed bool) string {
	if changed {
		return "changed"
	}
	return ""
}
