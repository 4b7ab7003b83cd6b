package report

import (
	"io"
	"maps"
	"slices"
	"strings"

	"pipe/internal/safetext"
	"pipe/pipeline/report/page"
)

// parts are the sections in reading order: the answer first, then what supports it, and all methods at the end.
var parts = []struct {
	place     place
	id, title string
}{
	{onVerdict, "savings", "Verdict"},
	{onCascades, "cascades", "Cascades"},
	{onFrontier, "frontier", "Quality against money"},
	{onSegments, "segments", "Where it helps and harms"},
	{onUse, "experts", "What each expert gets"},
	{onExamples, "examples", "Examples"},
	{onCalibration, "calibration", "Calibration"},
	{onLearning, "learning", "Learning curve"},
	{onMethods, "methods", "All methods and controls"},
}

// WriteHTML writes one self-contained page: style, figures and a script that sorts tables are inline, and it requests
// nothing.
func (r *Report) WriteHTML(w io.Writer) error { return r.page().Write(w) }

// page is the report as a page. Without a verdict, the methods are its result, so they come first.
func (r *Report) page() *page.Page {
	p := &page.Page{Title: r.heading(), Kind: "pipe report · " + r.Benchmark, Warning: r.standIn()}
	for _, v := range r.Verdicts() {
		p.Answers = append(p.Answers, page.Answer{Tone: v.tone(), Text: safetext.Line(v.Sentence)})
	}
	for _, c := range r.cascades() {
		p.Answers = append(p.Answers, page.Answer{Tone: c.tone(), Text: safetext.Line(c.Sentence)})
	}
	blocks := r.blocks()
	for _, s := range parts {
		if len(blocks[s.place]) > 0 {
			untitled(blocks[s.place], s.title)
			p.Sections = append(p.Sections, page.Section{ID: s.id, Title: s.title, Blocks: blocks[s.place]})
		}
	}
	if last := len(p.Sections) - 1; last >= 0 && p.Sections[last].ID == "methods" {
		p.Sections[last].Folded = true
		if len(r.Verdict) == 0 {
			p.Sections[last].Folded, p.Sections[last].Title = false, "Methods"
			p.Sections = slices.Concat(p.Sections[last:], p.Sections[:last])
		}
	}
	p.Sections = append(p.Sections, r.remarks()...)
	return p
}

// untitled removes the titles of tables that repeat that of their section.
func untitled(blocks []page.Block, title string) {
	for _, b := range blocks {
		if b.Table != nil && b.Table.Title == title && !b.Table.Folded {
			b.Table.Title = ""
		}
	}
}

// tone is how the sentence of a verdict is marked.
func (v *Verdict) tone() string {
	switch v.Deploy {
	case DeployPolicy:
		return page.Good
	case DeployConstant:
		return page.Keep
	}
	return page.Unknown
}

// tone is good where the cascade is certain to cost less than all that decides once, and unknown where there is nothing to compare.
func (c *Cascade) tone() string {
	tone := page.Unknown
	for _, o := range c.Others {
		switch {
		case o.Role == CascadeOracle:
		case o.Diff == nil || o.Diff.High >= 0:
			return page.Keep
		default:
			tone = page.Good
		}
	}
	return tone
}

// blocks are the contents of the parts: figures before tables, except that the table of methods comes before its figures.
func (r *Report) blocks() map[place][]page.Block {
	out := map[place][]page.Block{}
	for _, l := range r.taught() {
		out[onLearning] = append(out[onLearning], page.Block{List: []string{safetext.Line(l.Sentence)}})
	}
	draw := func(wanted func(place) bool) {
		for _, f := range r.Figures {
			if at := placeOfFigure(f.Name); wanted(at) {
				out[at] = append(out[at], page.Block{Figure: &f})
			}
		}
	}
	draw(func(at place) bool { return at != onMethods })
	for _, t := range r.tables() {
		out[t.place] = append(out[t.place], page.Block{Table: t.page()})
		if t.title == methodsTitle {
			draw(func(at place) bool { return at == onMethods })
		}
	}
	if len(r.SettingNames()) > 1 {
		draw(func(at place) bool { return at == onMethods })
	}
	for _, a := range append(r.exampleAlbum(), r.albums()...) {
		out[onExamples] = append(out[onExamples], page.Block{Album: &a})
	}
	if terms := r.methodNotes(); len(terms) > 0 {
		out[onMethods] = append(out[onMethods], page.Block{Terms: terms})
	}
	return out
}

// placeOfFigure is where the figure of that name is shown.
func placeOfFigure(figure string) place {
	for name, at := range map[string]place{
		frontierName: onFrontier, calibrationName: onCalibration, learningName: onLearning, segmentsName: onSegments,
		pairsName: onUse, flowName: onUse, mapName: onUse,
	} {
		if figure == name || strings.HasPrefix(figure, name+"_") {
			return at
		}
	}
	return onMethods
}

// remarks are the sections with notes and settings.
func (r *Report) remarks() []page.Section {
	var out []page.Section
	if len(r.Notes) > 0 {
		out = append(out, page.Section{ID: "notes", Title: "Notes", Blocks: []page.Block{{List: r.Notes}}})
	}
	var terms []page.Term
	for _, key := range slices.Sorted(maps.Keys(r.Settings)) {
		terms = append(terms, page.Term{Name: key, About: r.Settings[key]})
	}
	if len(terms) > 0 {
		out = append(out, page.Section{ID: "settings", Title: "Settings", Folded: true, Blocks: []page.Block{{Terms: terms}}})
	}
	return out
}

func (t table) page() *page.Table {
	p := &page.Table{Title: t.title, Caption: t.caption, Folded: t.folded}
	cell := func(c int, text string) page.Cell {
		return page.Cell{Text: text, Word: c < t.left || t.head[c] == t.long, Long: t.long != "" && t.head[c] == t.long}
	}
	for c, h := range t.head {
		p.Head = append(p.Head, cell(c, h))
	}
	for i, row := range t.rows {
		var cells []page.Cell
		for c, text := range row {
			at := cell(c, text)
			at.Bold = slices.Contains(t.bold(i), c)
			cells = append(cells, at)
		}
		p.Rows = append(p.Rows, cells)
	}
	return p
}
