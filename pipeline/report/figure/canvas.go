package figure

import (
	"bytes"
	"fmt"
	"html"
	"strconv"

	"pipe/internal/safetext"
)

// Most is the largest number of series in a figure. More cannot be told apart.
const Most = 6

// Others is the name of what is left of more than Most series, where they can be added up.
const Others = "others"

// Rest is the colour of what is not a series: others, and single pairs beside policies.
const Rest = "rest"

// files are the colours of files, by the name of the variable that a page has for them. Those of the series were searched for: each two
// differ with every common deficiency of colour vision, all differ in brightness, and each can be seen on white.
var files = map[string]string{
	"ink": "#1c2430", "soft": "#566171", "line": "#dfe4ea", "card": "#ffffff", "rest": "#848c97", "mark": "#0b6e5f", "keep": "#8a5a00", "warn": "#c2410c",
	"s0": "#395dd3", "s1": "#a89040", "s2": "#368c76", "s3": "#720265", "s4": "#3d291e", "s5": "#1b5a00",
}

// colour is a colour as a page or a file has it.
func (c *canvas) colour(name string) string {
	if c.page {
		return "var(--" + name + ")"
	}
	return files[name]
}

// series is the colour of the i-th series.
func series(i int) string { return "s" + strconv.Itoa(i%Most) }

// The sizes of text.
const (
	small = 11.5
	usual = 12
	large = 14
)

// canvas is a picture that is being drawn from top to bottom: y is where the next part begins.
type canvas struct {
	bytes.Buffer
	width float64
	y     float64
	page  bool
	texts []box // what texts cover
	marks []box // what markers cover, where names of points are not written
	paths []box // small pieces of the lines of series and of intervals, where names are only written if no other place is free
	spans []box // intervals, for the test of the frame
	frame box
	keys  int // series in the legend
	// missing counts texts for which there was no room, for the test that there is.
	missing int
}

func escaped(s string) string { return html.EscapeString(safetext.Line(s)) }

// box is a rectangle.
type box struct{ x0, y0, x1, y1 float64 }

func (b box) overlaps(o box) bool {
	return b.x0 < o.x1 && o.x0 < b.x1 && b.y0 < o.y1 && o.y0 < b.y1
}

// covers counts those of some boxes that a box overlaps.
func (b box) covers(others []box) (n int) {
	for _, o := range others {
		if b.overlaps(o) {
			n++
		}
	}
	return n
}

func (b box) within(o box) bool {
	return b.x0 >= o.x0 && b.y0 >= o.y0 && b.x1 <= o.x1 && b.y1 <= o.y1
}

func (b box) grown(by float64) box { return box{b.x0 - by, b.y0 - by, b.x1 + by, b.y1 + by} }

// anchors of texts
const (
	start  = "start"
	middle = "middle"
	end    = "end"
)

// label is a text at a place; y is its base line.
type label struct {
	x, y   float64
	anchor string
	size   float64
	colour string
	bold   bool
	text   string
	full   string // is shown by a pointer, if the text was cut
}

// box is what the text covers.
func (l label) box() box {
	w := textWidth(l.text, l.size, l.bold)
	x := l.x
	switch l.anchor {
	case middle:
		x -= w / 2
	case end:
		x -= w
	}
	return box{x, l.y - 0.78*l.size, x + w, l.y + 0.24*l.size}
}

// free reports whether a box is inside of the picture and covers no text.
func (c *canvas) free(b box) bool {
	for _, t := range c.texts {
		if b.overlaps(t) {
			return false
		}
	}
	return b.x0 >= 0 && b.x1 <= c.width
}

// text draws a label for which there is room. Callers that may leave one out ask free first.
func (c *canvas) text(l label) {
	b := l.box()
	if l.text == "" {
		return
	}
	if !c.free(b) {
		c.missing++
		return
	}
	c.texts = append(c.texts, b)
	weight, anchor := "", ""
	if l.bold {
		weight = ` font-weight="bold"`
	}
	if l.anchor != start && l.anchor != "" {
		anchor = fmt.Sprintf(` text-anchor="%s"`, l.anchor)
	}
	// The outline keeps the text readable on lines and bands.
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" font-size="%g"%s%s fill="%s" stroke="%s" stroke-width="3" stroke-linejoin="round" paint-order="stroke">`,
		l.x, l.y, l.size, anchor, weight, c.colour(l.colour), c.colour("card"))
	if l.full != "" {
		fmt.Fprintf(c, "<title>%s</title>", escaped(l.full))
	}
	fmt.Fprintf(c, "%s</text>\n", escaped(l.text))
}

// cut is the label with its text shortened to a width.
func (l label) cut(width float64) label {
	if short := shortened(l.text, width, l.size, l.bold); short != l.text {
		l.text, l.full = short, l.text
	}
	return l
}

// paragraph writes lines across the picture and moves y below them.
func (c *canvas) paragraph(s string, size float64, colour string, bold bool) {
	for _, line := range wrapped(s, c.width-4, size, bold) {
		c.y += 1.25 * size
		c.text(label{x: 2, y: c.y, size: size, colour: colour, bold: bold, text: line})
	}
}

// rect draws a rectangle with an optional text for pointers.
func (c *canvas) rect(b box, colour, about string) {
	if !(b.x1 > b.x0 && b.y1 > b.y0) {
		return
	}
	fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"`, b.x0, b.y0, b.x1-b.x0, b.y1-b.y0, c.colour(colour))
	c.closed("rect", about)
}

// closed ends an element, with a text for pointers inside of it.
func (c *canvas) closed(element, about string) {
	if about == "" {
		c.WriteString("/>\n")
		return
	}
	fmt.Fprintf(c, "><title>%s</title></%s>\n", escaped(about), element)
}

// line draws a straight line.
func (c *canvas) line(x0, y0, x1, y1 float64, colour string, width float64, dashes string) {
	fmt.Fprintf(c, `<path d="M%.1f %.1fL%.1f %.1f" stroke="%s" stroke-width="%g"`, x0, y0, x1, y1, c.colour(colour), width)
	if dashes != "" {
		fmt.Fprintf(c, ` stroke-dasharray="%s"`, dashes)
	}
	c.WriteString("/>\n")
}
