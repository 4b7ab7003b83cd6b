package figure

import (
	"fmt"
	"math"
	"slices"

	"pipe/internal/lists"
)

// Flow shows how a whole is divided, and divided again: columns of nodes, and bands between them that are as high as their shares.
type Flow struct {
	Columns [][]Node
	Bands   []Band
}

// Node is a part of the whole; its share is that of the bands that end or begin there.
type Node struct {
	Name   string
	Colour int // of a series; -1: grey
}

// Band goes from a node of a column to one of the next column.
type Band struct {
	Column, From, To int
	Share            float64 // of the whole
}

// placed is a node in the picture; in and out are where the next bands end and begin.
type placed struct {
	Node
	share, y, in, out float64
}

// known reports whether a band can be drawn.
func (b Band) known() bool { return b.Share > 0 && finite(b.Share) }

func (f *Flow) shows() bool { return slices.ContainsFunc(f.Bands, Band.known) }

func (f *Flow) paint(c *canvas) {
	const bar, least, air = 12, 3, 15
	height := min(300, max(240, 0.5*c.width)) - 2*air
	top := c.y + 8
	nodes := f.shares()
	lower := top
	for _, column := range nodes {
		y := top
		for i := range column {
			n := &column[i]
			n.y, n.in, n.out = y, y, y
			y += max(least, n.share*height) + air
		}
		lower = max(lower, y)
	}
	c.frame = box{0, top, c.width, lower}
	step, last := c.columns(nodes, bar)
	for _, b := range f.Bands {
		from, to := &nodes[b.Column][b.From], &nodes[b.Column+1][b.To]
		if !b.known() {
			continue
		}
		x0, x1, thick := 2+step*float64(b.Column)+bar, 2+step*float64(b.Column+1), b.Share*height
		colour := from.Colour
		if colour < 0 {
			colour = to.Colour
		}
		c.ribbon(x0, from.out, x1, to.in, thick, colour, fmt.Sprintf("%s, %s: %s", from.Name, to.Name, perCent(b.Share)))
		from.out += thick
		to.in += thick
	}
	for k, column := range nodes {
		x, room := 2+step*float64(k), step
		if k == len(nodes)-1 {
			room = last
		}
		for _, n := range column {
			thick := max(least, n.share*height)
			c.rect(box{x, n.y, x + bar, n.y + thick}, nodeColour(n.Colour), "")
			c.text(label{x: x + bar + 4, y: n.y + thick/2 + 4, size: usual, colour: "ink", text: n.Name + " " + perCent(n.share)}.named(n.Name, perCent(n.share), room-bar-8))
		}
	}
	c.y = lower
}

// columns are the distance of the columns, and the width of the last one. Names are to the right of bars, so the last column is as wide
// as its names need, and at most as wide as the others.
func (c *canvas) columns(nodes [][]placed, bar float64) (step, last float64) {
	n := float64(len(nodes))
	for _, at := range nodes[len(nodes)-1] {
		last = max(last, textWidth(at.Name+" "+perCent(at.share), usual, false)+bar+10)
	}
	last = min(last, (c.width-2)/n)
	return (c.width - 2 - last) / (n - 1), last
}

// named shortens the name, not the share behind it.
func (l label) named(name, share string, width float64) label {
	room := width - textWidth(" "+share, l.size, l.bold)
	if short := shortened(name, room, l.size, l.bold); short != name {
		l.full, l.text = l.text, short+" "+share
	}
	return l
}

func nodeColour(i int) string {
	if i < 0 {
		return Rest
	}
	return series(i)
}

// perCent spells a share; what is hardly anything is not 0.
func perCent(share float64) string {
	if v := 100 * share; v > 0 && v < 0.5 {
		return "<1%"
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}

// shares adds up the bands of every node.
func (f *Flow) shares() [][]placed {
	out := make([][]placed, len(f.Columns))
	for k, column := range f.Columns {
		for _, n := range column {
			out[k] = append(out[k], placed{Node: n})
		}
	}
	for _, b := range lists.Keep(f.Bands, Band.known) {
		if b.Column == 0 {
			out[0][b.From].share += b.Share
		}
		out[b.Column+1][b.To].share += b.Share
	}
	return out
}

// ribbon draws a band that bends from one height to another.
func (c *canvas) ribbon(x0, y0, x1, y1, thick float64, colour int, about string) {
	half := (x0 + x1) / 2
	thick = math.Max(thick, 0.5)
	fmt.Fprintf(c, `<path d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1fV%.1fC%.1f %.1f %.1f %.1f %.1f %.1fz" fill="%s" fill-opacity="0.45"`,
		x0, y0, half, y0, half, y1, x1, y1, y1+thick, half, y1+thick, half, y0+thick, x0, y0+thick, c.colour(nodeColour(colour)))
	c.closed("path", about)
}
