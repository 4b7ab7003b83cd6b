package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"regexp"
	"slices"

	"pipe/internal/safetext"
)

//go:embed report.html
var pageText string

var page = template.Must(template.New("report").Parse(pageText))

type pageCell struct {
	Text string
	Word bool
	Bold bool
}

// Class is the cell's style: w for words, b for bold.
func (c pageCell) Class() string {
	switch {
	case c.Word && c.Bold:
		return "w b"
	case c.Word:
		return "w"
	case c.Bold:
		return "b"
	}
	return ""
}

type pageTable struct {
	Title, Caption string
	Head           []pageCell
	Rows           [][]pageCell
}

type pageFigure struct {
	SVG     template.HTML
	Caption string
}

// WriteHTML writes one self-contained page: style and figures are inline, with no scripts and no requests.
func (r *Report) WriteHTML(w io.Writer) error {
	data := struct {
		Title, Benchmark string
		StandIn          string
		Sentences        []string
		Tables           []pageTable
		Figures          []pageFigure
		Albums           []pageAlbum
		AlbumCaption     string
		Methods          []note
		Notes            []string
		Settings         []note
	}{
		Title: r.heading(), Benchmark: r.Benchmark, StandIn: r.standIn(), Sentences: r.sentences(), Methods: r.methodNotes(), Notes: r.Notes,
		Albums: r.albums(), AlbumCaption: r.albumCaption(),
	}
	for _, t := range r.tables() {
		data.Tables = append(data.Tables, t.page())
	}
	for _, f := range r.Figures {
		data.Figures = append(data.Figures, pageFigure{SVG: inlineSVG(f.SVG), Caption: f.Caption})
	}
	for _, key := range slices.Sorted(maps.Keys(r.Settings)) {
		data.Settings = append(data.Settings, note{key, r.Settings[key]})
	}
	if err := page.Execute(safetext.Writer(w), data); err != nil {
		return fmt.Errorf("write report page: %w", err)
	}
	return nil
}

func (t table) page() pageTable {
	p := pageTable{Title: t.title, Caption: t.caption}
	for c, h := range t.head {
		p.Head = append(p.Head, pageCell{Text: h, Word: c < t.left})
	}
	for i, row := range t.rows {
		var cells []pageCell
		for c, cell := range row {
			cells = append(cells, pageCell{Text: cell, Word: c < t.left, Bold: slices.Contains(t.bold(i), c)})
		}
		p.Rows = append(p.Rows, cells)
	}
	return p
}

var svgProlog = regexp.MustCompile(`(?s)^.*?(<svg)`)

// inlineSVG removes the XML prolog, which is not allowed inside HTML. The bytes come from our own plots, whose text is
// escaped by the plotter.
func inlineSVG(svg []byte) template.HTML {
	return template.HTML(svgProlog.ReplaceAll(svg, []byte("$1")))
}
