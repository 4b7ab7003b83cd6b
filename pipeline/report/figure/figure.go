package figure

import (
	"bytes"
	"fmt"
	"math"
)

// Figure is a picture with its words. All strings are plain text, which may come from data.
type Figure struct {
	Name  string // of its file, without the ending
	Title string
	About string // what can be seen, for readers who cannot see it
	Note  string // is shown below: of how many rows it is, and what intervals mean
	Body  Body
}

// Body is what a figure shows: a *Plot, a *Stack, a *Flow, a *Rows or a *Tiles.
type Body interface {
	shows() bool // whether anything is known that can be drawn
	paint(*canvas)
}

// Shows reports whether anything is known that the figure can show. Values that are not finite are not known.
func (f *Figure) Shows() bool { return f.Body.shows() }

// finite reports whether a value can be drawn: of larger ones, not even differences are finite.
func finite(v float64) bool { return math.Abs(v) < 1e300 }

// The widths of a figure, in pixels: one for phones, one for all else.
const (
	narrow = 344
	wide   = 720
)

// Wide and Narrow are the figure for a page, whose variables of colours it uses. The page shows the note itself.
func (f *Figure) Wide() []byte { return f.svg(f.draw(wide, true)) }

// Narrow is Wide for a narrow window.
func (f *Figure) Narrow() []byte { return f.svg(f.draw(narrow, true)) }

// SVG is the figure as a file: white, with its note, and without references to anything outside.
func (f *Figure) SVG() []byte {
	c := f.draw(wide, false)
	c.y += 6
	c.paragraph(f.Note, small, "soft", false)
	return f.svg(c)
}

func (f *Figure) draw(width float64, onPage bool) *canvas {
	c := &canvas{width: width, page: onPage, y: 2}
	c.paragraph(f.Title, large, "ink", true)
	c.y += 4
	if f.Shows() {
		f.Body.paint(c)
	} else {
		c.paragraph("Nothing is known to show here.", usual, "soft", false)
	}
	return c
}

// opening ends the first tag of every figure, and no one else's is likely to have it.
const opening = `role="img" font-family="Arial, Helvetica, 'Liberation Sans', sans-serif">`

// svg is the whole picture that was drawn.
func (f *Figure) svg(c *canvas) []byte {
	var b bytes.Buffer
	height := math.Ceil(c.y + 4)
	size, margin := "", 0.0
	if !c.page {
		margin = 12
		size = fmt.Sprintf(` width="%g" height="%g"`, c.width+2*margin, height+2*margin)
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg"%s viewBox="%g %g %g %g" `+opening, size, -margin, -margin, c.width+2*margin, height+2*margin)
	fmt.Fprintf(&b, "<title>%s</title><desc>%s</desc>\n", escaped(f.Title), escaped(f.About))
	if !c.page {
		fmt.Fprintf(&b, `<rect x="%g" y="%g" width="%g" height="%g" fill="%s"/>`+"\n", -margin, -margin, c.width+2*margin, height+2*margin, c.colour("card"))
	}
	b.Write(c.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}
