// Package page writes one self-contained HTML page of sentences, tables and figures. It needs nothing from outside: the
// style, the figures and a short script that sorts tables are inside. Without the script everything can still be read.
package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"pipe/internal/safetext"
	"pipe/pipeline/report/figure"
)

//go:embed page.html
var text string

//go:embed page.css
var style string

//go:embed page.js
var script string

var parsed = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":  func() template.CSS { return template.CSS(style) },
	"script": func() template.JS { return template.JS(script) },
	"drawn":  func(svg []byte) template.HTML { return template.HTML(svg) }, // by this program, with escaped texts
}).Parse(text))

// Page is what a page shows, from top to bottom. All strings are plain text.
type Page struct {
	Title, Kind string // Kind is a line below the title
	Warning     string // is shown first, if it is not empty
	Answers     []Answer
	Sections    []Section
}

// The tones of an answer.
const (
	Good    = "good"    // a change is recommended, or all is well
	Keep    = "keep"    // no change is recommended, or a warning
	Bad     = "bad"     // something is wrong
	Unknown = "unknown" // there is no verdict
)

// Answer is one sentence of the first screen.
type Answer struct {
	Tone string // Good, Keep, Bad or Unknown
	Text string
}

// Section is a part of the page with its own heading. A folded one shows its heading only, until the reader opens it;
// printing opens all.
type Section struct {
	ID, Title string
	Folded    bool
	Blocks    []Block
}

// Block is one of the kinds that a section consists of; the other fields are nil.
type Block struct {
	Table  *Table
	Figure *figure.Figure
	Album  *Album
	Terms  []Term
	List   []string
}

// Table is a table; its title is a heading above it, unless it is empty.
type Table struct {
	Title, Caption string
	Folded         bool // shows its title only, until the reader opens it
	Head           []Cell
	Rows           [][]Cell
}

// Cell is one cell.
type Cell struct {
	Text string
	Word bool // aligned to the left
	Long bool // a text of several words, which is wrapped
	Bold bool
	Row  bool // is the heading of its row
	Bar  Bar  // is drawn before the text
}

// Bar is a share from 0 to 1 that is drawn as a bar; 0 draws nothing.
type Bar float64

// Class is the cell's style: w for words, l for long texts, b for bold.
func (c Cell) Class() string {
	class := ""
	for _, s := range []struct {
		on   bool
		name string
	}{{c.Word, "w"}, {c.Long, "l"}, {c.Bold, "b"}} {
		if !s.on {
			continue
		}
		if class != "" {
			class += " "
		}
		class += s.name
	}
	return class
}

// Pieces are the parts of the text between which a line may break: after the underscores and slashes that join names,
// and before an interval in brackets.
func (c Cell) Pieces() []string { return pieces(c.Text) }

func pieces(s string) []string {
	var out []string
	start := 0
	for i := range s {
		if i > start && (s[i-1] == '_' || s[i-1] == '/' || strings.HasPrefix(s[i-1:], " [")) {
			out = append(out, s[start:i])
			start = i
		}
	}
	return append(out, s[start:])
}

// Album is a set of small pictures under headings.
type Album struct {
	Title, Caption string
	Groups         []Group
}

// Group is a heading with pictures.
type Group struct {
	Title    string
	Pictures []Picture
}

// Picture is a JPEG with what was answered.
type Picture struct {
	JPEG        []byte
	Alt, Answer string
	Wrong       bool
}

// Write writes the section alone, for a page of another frame that has the style of [Assets]. Control characters in its texts are
// made visible.
func (s Section) Write(w io.Writer) error {
	if err := parsed.ExecuteTemplate(safetext.Writer(w), "section", s); err != nil {
		return fmt.Errorf("write section: %w", err)
	}
	return nil
}

// Term is a name with its explanation.
type Term struct{ Name, About string }

// Write writes the page. Control characters in its texts are made visible.
func (p *Page) Write(w io.Writer) error {
	if err := parsed.Execute(safetext.Writer(w), p); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
