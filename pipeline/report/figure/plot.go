package figure

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pipe/internal/lists"
)

// Plot shows points and curves against two axes.
type Plot struct {
	X, Y     Axis
	Series   []Series // at most Most, besides those of the colour Rest
	Lines    []Line
	Diagonal bool // a line on which both values are equal
	Quiet    bool // the axes have no numbers, because they mean nothing
}

// Series is a set of points of one kind.
type Series struct {
	Name   string
	Rest   bool // is grey: what the others are compared with
	Joined bool // by a line
	Band   bool // intervals of Y are a band if few series have one, else bars
	Small  bool // many points: small markers
	Points []Point
}

// Point is a value with its intervals.
type Point struct {
	X, Y           float64
	AcrossX, Along *Interval // of X, and of Y; nil: not known
	Name           string    // is written beside it, if there is room
	About          string    // is shown by a pointer
}

// Interval has the ends of an interval.
type Interval struct{ Low, High float64 }

// Line is a value that the points are compared with.
type Line struct {
	Name     string
	At       float64
	Vertical bool // at a value of X
	Alert    bool // something is wrong beyond it
}

// has reports whether an axis has a place for all values.
func (a Axis) has(values ...float64) bool {
	for _, v := range values {
		if !finite(v) || a.Log && v <= 0 {
			return false
		}
	}
	return true
}

// known is the interval, or nil if an axis has no place for its ends.
func (i *Interval) known(a Axis) *Interval {
	if i == nil || !a.has(i.Low, i.High) {
		return nil
	}
	return i
}

// known is the plot without what it has no place for: points, intervals, and lines.
func (p *Plot) known() *Plot {
	out := *p
	out.Series = slices.Clone(p.Series)
	for i := range out.Series {
		s := &out.Series[i]
		s.Points = lists.Keep(s.Points, func(at Point) bool { return p.X.has(at.X) && p.Y.has(at.Y) })
		for k := range s.Points {
			at := &s.Points[k]
			at.AcrossX, at.Along = at.AcrossX.known(p.X), at.Along.known(p.Y)
		}
	}
	out.Lines = lists.Keep(p.Lines, func(l Line) bool { return l.Vertical && p.X.has(l.At) || !l.Vertical && p.Y.has(l.At) })
	return &out
}

func (p *Plot) shows() bool {
	return slices.ContainsFunc(p.known().Series, func(s Series) bool { return len(s.Points) > 0 })
}

// ranges are those of all points with their intervals, and of lines.
func (p *Plot) ranges() (xs, ys [2]float64) {
	xs, ys = [2]float64{math.Inf(1), math.Inf(-1)}, [2]float64{math.Inf(1), math.Inf(-1)}
	see := func(r *[2]float64, values ...float64) {
		for _, v := range values {
			r[0], r[1] = min(r[0], v), max(r[1], v)
		}
	}
	for _, s := range p.Series {
		for _, at := range s.Points {
			see(&xs, at.X)
			see(&ys, at.Y)
			if at.AcrossX != nil {
				see(&xs, at.AcrossX.Low, at.AcrossX.High)
			}
			if at.Along != nil {
				see(&ys, at.Along.Low, at.Along.High)
			}
		}
	}
	for _, l := range p.Lines {
		if l.Vertical {
			see(&xs, l.At)
		} else {
			see(&ys, l.At)
		}
	}
	if p.Diagonal {
		see(&xs, ys[:]...)
		ys = xs
	}
	return xs, ys
}

func (p *Plot) paint(c *canvas) {
	p = p.known()
	colours, styles := p.styles()
	var keys []key
	for i, s := range p.Series {
		if s.Name != "" && len(s.Points) > 0 {
			keys = append(keys, key{s.Name, colours[i], styles[i], s.Joined, !s.Joined || !s.Small})
		}
	}
	c.legend(keys)
	xs, ys := p.ranges()
	height := min(300, max(220, 0.6*c.width))
	x, y := p.X, p.Y
	if p.Quiet {
		x.At, y.At = []float64{}, []float64{}
	}
	sx, sy := c.axes(x, y, xs, ys, height)
	p.reference(c, sx, sy)
	for i, s := range p.Series {
		if p.banded(s) {
			c.band(s.Points, sx, sy, colours[i])
		}
	}
	for i, s := range p.Series {
		c.series(s, p.banded(s), sx, sy, colours[i], styles[i])
	}
	p.names(c, sx, sy)
}

// styles are the colours and the markers of the series.
func (p *Plot) styles() (colours []string, styles []int) {
	n := 0
	for _, s := range p.Series {
		if s.Rest {
			colours, styles = append(colours, Rest), append(styles, 0)
			continue
		}
		colours, styles = append(colours, series(n)), append(styles, n)
		n++
	}
	return colours, styles
}

// reference draws the lines that points are compared with.
func (p *Plot) reference(c *canvas, sx, sy scale) {
	if p.Diagonal {
		c.line(sx.a, sy.a, sx.b, sy.b, "soft", 1, "4 3")
	}
	for _, l := range p.Lines {
		colour := "soft"
		if l.Alert {
			colour = "warn"
		}
		if l.Vertical {
			at := sx.at(l.At)
			c.line(at, c.frame.y0, at, c.frame.y1, colour, 1.5, "4 3")
		} else {
			at := sy.at(l.At)
			c.line(c.frame.x0, at, c.frame.x1, at, colour, 1.5, "4 3")
		}
	}
}

// mostBands is the largest number of bands through which lines can be told apart.
const mostBands = 2

// banded reports whether the intervals of a series are a band. Of many series, they are bars.
func (p *Plot) banded(s Series) bool {
	bands := 0
	for _, o := range p.Series {
		if o.Band && o.Joined && len(o.Points) > 1 {
			bands++
		}
	}
	return s.Band && s.Joined && len(s.Points) > 1 && bands <= mostBands
}

// band fills the space between the ends of intervals.
func (c *canvas) band(points []Point, sx, sy scale, colour string) {
	var path strings.Builder
	letter := "M"
	add := func(x, y float64) {
		fmt.Fprintf(&path, "%s%.1f %.1f", letter, x, y)
		letter = "L"
	}
	for _, p := range points {
		if p.Along != nil {
			add(sx.at(p.X), sy.at(p.Along.Low))
		}
	}
	for i := range points {
		if p := points[len(points)-1-i]; p.Along != nil {
			add(sx.at(p.X), sy.at(p.Along.High))
		}
	}
	if letter == "L" {
		fmt.Fprintf(c, `<path d="%sz" fill="%s" fill-opacity="0.18"/>`+"\n", path.String(), c.colour(colour))
	}
}

// series draws a line, the intervals and the markers.
func (c *canvas) series(s Series, banded bool, sx, sy scale, colour string, style int) {
	points := s.Points
	if s.Joined && len(points) > 1 {
		var path strings.Builder
		for i, p := range points {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], sx.at(p.X), sy.at(p.Y))
		}
		fmt.Fprintf(c, `<path d="%s" fill="none" stroke="%s" stroke-width="2" stroke-linejoin="round"`, path.String(), c.colour(colour))
		if d := dashes[style%Most]; d != "" && colour != Rest {
			fmt.Fprintf(c, ` stroke-dasharray="%s"`, d)
		}
		c.WriteString("/>\n")
		for i := range points[1:] {
			c.avoid(sx.at(points[i].X), sy.at(points[i].Y), sx.at(points[i+1].X), sy.at(points[i+1].Y))
		}
	}
	radius := 3.6
	switch {
	case s.Small:
		radius = 2.6
	case len(points) == 1 && !s.Rest:
		radius = 5.5 // the one point that matters
	}
	var many strings.Builder
	for _, p := range points {
		x, y := sx.at(p.X), sy.at(p.Y)
		if p.AcrossX != nil {
			c.span(box{sx.at(p.AcrossX.Low), y, sx.at(p.AcrossX.High), y}, colour)
		}
		if p.Along != nil && !banded {
			c.span(box{x, sy.at(p.Along.High), x, sy.at(p.Along.Low)}, colour)
		} else if p.Along != nil {
			c.spans = append(c.spans, box{x, sy.at(p.Along.High), x, sy.at(p.Along.Low)})
		}
		c.marks = append(c.marks, box{x, y, x, y}.grown(radius))
		if s.Small && p.About == "" {
			many.WriteString(marker(style, x, y, radius))
			continue
		}
		fmt.Fprintf(c, `<path d="%s" fill="%s" stroke="%s" stroke-width="0.8"`, marker(style, x, y, radius), c.colour(colour), c.colour("card"))
		c.closed("path", p.About)
	}
	if many.Len() > 0 {
		fmt.Fprintf(c, `<path d="%s" fill="%s"/>`+"\n", many.String(), c.colour(colour))
	}
}

// avoid notes that names should not be on a straight line.
func (c *canvas) avoid(x0, y0, x1, y1 float64) {
	const step = 4
	n := math.Ceil(math.Hypot(x1-x0, y1-y0)/step) + 1
	for i := range int(n) {
		x, y := x0+(x1-x0)*float64(i)/n, y0+(y1-y0)*float64(i)/n
		c.paths = append(c.paths, box{x, y, x, y}.grown(1))
	}
}

// span draws an interval with caps.
func (c *canvas) span(b box, colour string) {
	const cap = 3
	c.spans = append(c.spans, b)
	c.avoid(b.x0, b.y0, b.x1, b.y1)
	if b.x0 == b.x1 && b.y0 == b.y1 {
		return
	}
	if b.x0 == b.x1 {
		fmt.Fprintf(c, `<path d="M%.1f %.1fV%.1fM%.1f %.1fh%dM%.1f %.1fh%d"`, b.x0, b.y0, b.y1, b.x0-cap, b.y0, 2*cap, b.x0-cap, b.y1, 2*cap)
	} else {
		fmt.Fprintf(c, `<path d="M%.1f %.1fH%.1fM%.1f %.1fv%dM%.1f %.1fv%d"`, b.x0, b.y0, b.x1, b.x0, b.y0-cap, 2*cap, b.x1, b.y0-cap, 2*cap)
	}
	fmt.Fprintf(c, ` stroke="%s" stroke-width="1.2" fill="none"/>`+"\n", c.colour(colour))
}

// names writes the names of lines and points where there is room: beside, above or below them.
func (p *Plot) names(c *canvas, sx, sy scale) {
	for _, l := range p.Lines {
		colour := "soft"
		if l.Alert {
			colour = "warn"
		}
		text := label{size: small, colour: colour, text: l.Name}.cut(c.frame.x1 - c.frame.x0)
		if l.Vertical {
			at := sx.at(l.At)
			c.place(text, []label{{x: at + 4, y: c.frame.y0 + 9, anchor: start}, {x: at - 4, y: c.frame.y0 + 9, anchor: end}, {x: at + 4, y: c.frame.y1 - 6, anchor: start}, {x: at - 4, y: c.frame.y1 - 6, anchor: end}}, false)
		} else {
			at := sy.at(l.At)
			c.place(text, []label{{x: c.frame.x1, y: at - 4, anchor: end}, {x: c.frame.x0 + 4, y: at - 4, anchor: start}, {x: c.frame.x1, y: at + 13, anchor: end}, {x: c.frame.x0 + 4, y: at + 13, anchor: start}}, false)
		}
	}
	for _, s := range p.Series {
		for _, at := range s.Points {
			if at.Name == "" {
				continue
			}
			x, y := sx.at(at.X), sy.at(at.Y)
			c.place(label{size: small, colour: "ink", text: at.Name}.cut(0.4*c.width), []label{
				{x: x + 6, y: y - 5, anchor: start},
				{x: x - 6, y: y - 5, anchor: end},
				{x: x + 6, y: y + 13, anchor: start},
				{x: x - 6, y: y + 13, anchor: end},
				{x: x, y: y - 9, anchor: middle},
				{x: x, y: y + 17, anchor: middle},
				{x: x + 9, y: y + 4, anchor: start},
				{x: x - 9, y: y + 4, anchor: end},
			}, true)
		}
	}
}

// place writes a label at one of some places that is inside of the frame, and at a distance from other texts: the first one that covers
// fewest markers, and of these, fewest lines. If uncovered, the label is left out rather than cover a marker.
func (c *canvas) place(l label, places []label, uncovered bool) {
	const apart = 3
	best, fewest := -1, math.MaxInt
	for i, p := range places {
		l.x, l.y, l.anchor = p.x, p.y, p.anchor
		b := l.box()
		if !b.within(c.frame.grown(4)) || !c.free(b.grown(apart).inside(c.width)) {
			continue
		}
		covered := b.covers(c.marks) * (len(c.paths) + 1)
		if uncovered && covered > 0 {
			continue
		}
		if covered += b.covers(c.paths); covered < fewest {
			best, fewest = i, covered
		}
	}
	if best >= 0 {
		l.x, l.y, l.anchor = places[best].x, places[best].y, places[best].anchor
		c.text(l)
	}
}
