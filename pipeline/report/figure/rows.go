package figure

import (
	"fmt"

	"pipe/internal/lists"
)

// Rows shows one interval per line, with names beside or above them, around a line at zero.
type Rows struct {
	X     Axis
	Lines []Row
}

// Row is one of them.
type Row struct {
	Name   string
	Mean   float64
	Across *Interval // nil: not known
	Colour string    // of a page, such as mark or warn; Rest: nothing was found
}

// known are the lines whose values are known, without intervals that are not.
func (r *Rows) known() []Row {
	lines := lists.Keep(r.Lines, func(l Row) bool { return r.X.has(l.Mean) })
	for i := range lines {
		lines[i].Across = lines[i].Across.known(r.X)
	}
	return lines
}

func (r *Rows) shows() bool { return len(r.known()) > 0 }

func (r *Rows) paint(c *canvas) {
	lines := r.known()
	const high = 20
	above := c.width < 500 // names are above their lines
	step, left := float64(high), 0.0
	if above {
		step = 2*high + 2
	} else {
		for _, l := range lines {
			left = max(left, textWidth(l.Name, usual, false))
		}
		left = min(left, 0.46*c.width) + 12
	}
	low, high0 := 0.0, 0.0
	for _, l := range lines {
		low, high0 = min(low, l.Mean), max(high0, l.Mean)
		if l.Across != nil {
			low, high0 = min(low, l.Across.Low), max(high0, l.Across.High)
		}
	}
	top := c.y + 8
	c.frame = box{left + 8, top, c.width - 14, top + step*float64(len(lines)) + 4}
	sx := newScale(r.X, low, high0, c.frame.x0, c.frame.x1)
	zero, from := sx.at(0), top
	height := func(i int) float64 { return top + step*(float64(i)+1) - high/2 }
	for i, l := range lines {
		y := height(i)
		name := label{x: left, y: y + 4, anchor: end, size: usual, colour: "ink", text: l.Name}
		room := left - 2
		if above {
			name.x, name.y, name.anchor, room = 2, y-high/2, start, c.width-4
		}
		name = name.cut(room)
		c.text(name)
		if b := name.box().grown(2); b.x0 < zero && zero < b.x1 { // the line at zero is broken there
			c.line(zero, from, zero, b.y0, "soft", 1, "4 3")
			from = b.y1
		}
	}
	c.line(zero, from, zero, c.frame.y1, "soft", 1, "4 3")
	for i, l := range lines {
		y := height(i)
		if l.Across != nil {
			c.span(box{sx.at(l.Across.Low), y, sx.at(l.Across.High), y}, l.Colour)
		}
		fmt.Fprintf(c, `<path d="%s" fill="%s"/>`+"\n", marker(0, sx.at(l.Mean), y, 3.6), c.colour(l.Colour))
	}
	c.xAxis(sx)
}
