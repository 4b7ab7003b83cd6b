package figure

import (
	"math"
	"strconv"
)

// Axis says how a plot measures one direction.
type Axis struct {
	Label  string    // with its unit
	Names  []string  // of the places 0, 1, 2, ...; nil: numbers
	Log    bool      // all values are positive
	At     []float64 // where to mark values; nil: at round ones
	Zero   bool      // includes 0
	Format func(float64) string
}

// scale maps values to pixels from a to b.
type scale struct {
	axis      Axis
	low, high float64
	a, b      float64
}

// newScale covers the values from low to high with some air.
func newScale(axis Axis, low, high, a, b float64) scale {
	if axis.Names != nil {
		return scale{axis, -0.5, float64(len(axis.Names)) - 0.5, a, b}
	}
	if axis.Zero {
		low, high = min(low, 0), max(high, 0)
	}
	s := scale{axis: axis, a: a, b: b}
	low, high = s.warped(low), s.warped(high)
	if largest := max(math.Abs(low), math.Abs(high)); !(high-low > 1e-9*largest) { // all are the same
		switch {
		case axis.Log:
			low, high = low-0.15, high+0.15
		case largest == 0:
			high = 1
		default:
			low, high = low-0.1*largest, high+0.1*largest
		}
	}
	air := (high - low) * 0.05
	s.low, s.high = low-air, high+air
	if axis.Zero && low == 0 {
		s.low = 0
	}
	return s
}

func (s scale) warped(v float64) float64 {
	if s.axis.Log {
		return math.Log10(v)
	}
	return v
}

func (s scale) at(v float64) float64 {
	return s.a + (s.warped(v)-s.low)/(s.high-s.low)*(s.b-s.a)
}

// tick is a value with its label.
type tick struct {
	v    float64
	text string
}

// ticks are about n marks.
func (s scale) ticks(n int) []tick {
	var out []tick
	switch {
	case s.axis.Names != nil:
		for i, name := range s.axis.Names {
			out = append(out, tick{float64(i), name})
		}
	case s.axis.At != nil:
		for _, v := range s.axis.At {
			out = append(out, tick{v, s.axis.format(v, 0)})
		}
	case s.axis.Log:
		for e := math.Floor(s.low); e <= s.high; e++ {
			for _, m := range []float64{1, 2, 5} {
				if v := m * math.Pow(10, e); s.warped(v) >= s.low && s.warped(v) <= s.high {
					out = append(out, tick{v, s.axis.format(v, 0)})
				}
			}
		}
		if len(out) < 2 { // a narrow range
			out = s.axis.even(math.Pow(10, s.low), math.Pow(10, s.high), n)
		}
	default:
		out = s.axis.even(s.low, s.high, n)
	}
	return out
}

// even are about n marks at equal distances.
func (a Axis) even(low, high float64, n int) (out []tick) {
	step := roundUp((high - low) / float64(n))
	for i := math.Ceil(low/step - 1e-9); i*step <= high+1e-9*step && len(out) <= 2*n; i++ {
		v := i*step + 0 // + 0 avoids negative zero
		out = append(out, tick{v, a.format(v, step)})
	}
	if len(out) < 2 && n < 100 {
		return a.even(low, high, 2*n)
	}
	return out
}

// format spells a value with as many digits as tell it from its neighbours, a step away. A step of 0 means that there are none.
func (a Axis) format(v, step float64) string {
	size := math.Abs(v)
	short := v == 0 || size >= 1e-4 && size < 1e6
	switch {
	case a.Format != nil:
		return a.Format(v)
	case step == 0 && short:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case step == 0:
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	decimals := int(-math.Floor(math.Log10(step) + 1e-9))
	switch {
	case short && decimals <= 5:
		return strconv.FormatFloat(v, 'f', max(0, decimals), 64)
	case v == 0:
		return "0"
	}
	digits := 1 + int(math.Floor(math.Log10(size)+1e-9)) + decimals
	return strconv.FormatFloat(v, 'g', max(1, digits), 64)
}

// roundUp rounds up to 1, 2, 5, 10, 20 and so on. It returns 1 for values that are not positive.
func roundUp(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 1) {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*base*(1+1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// axes draws the label of the vertical axis, grid lines with their values, the values of the horizontal axis and its label. height is
// that of the frame. It moves y below all of that, and returns the scales.
func (c *canvas) axes(x, y Axis, xs, ys [2]float64, height float64) (sx, sy scale) {
	c.y += 1.25 * usual
	c.text(label{x: 2, y: c.y, size: usual, colour: "soft", text: y.Label}.cut(c.width - 4))
	top := c.y + 12
	bottom := top + height
	sy = newScale(y, ys[0], ys[1], bottom, top)
	marks := sy.ticks(max(4, int(height/35)))
	left := 0.0
	for _, t := range marks {
		left = max(left, textWidth(t.text, usual, false))
	}
	left = min(left, c.width/4) + 12
	c.frame = box{left, top, c.width - 14, bottom}
	for _, t := range marks {
		at := sy.at(t.v)
		c.line(left, at, c.frame.x1, at, "line", 1, "")
		c.text(label{x: left - 7, y: at + 0.36*usual, anchor: end, size: usual, colour: "soft", text: t.text}.cut(left - 9))
	}
	sx = newScale(x, xs[0], xs[1], left, c.frame.x1)
	c.xAxis(sx)
	return sx, sy
}

// xAxis draws the horizontal axis at the lower edge of the frame.
func (c *canvas) xAxis(sx scale) {
	bottom := c.frame.y1
	c.line(c.frame.x0, bottom, c.frame.x1, bottom, "soft", 1, "")
	marks := sx.ticks(max(3, int((c.frame.x1-c.frame.x0)/90)))
	room := (c.frame.x1 - c.frame.x0) / float64(max(1, len(marks))) * 2
	for _, t := range marks {
		if t.text == "" {
			continue
		}
		at := sx.at(t.v)
		l := label{x: at, y: bottom + 17, anchor: middle, size: usual, colour: "soft", text: t.text}.cut(max(40, room))
		if b := l.box(); b.x1 > c.width {
			l.x, l.anchor = c.width, end
		} else if b.x0 < 0 {
			l.x, l.anchor = 0, start
		}
		if b := l.box(); c.free(box{b.x0 - 4, b.y0, b.x1 + 4, b.y1}.inside(c.width)) {
			c.text(l)
			c.line(at, bottom, at, bottom+4, "soft", 1, "")
		}
	}
	c.y = bottom + 20
	if sx.axis.Label != "" {
		c.y += 1.25 * usual
		c.text(label{x: (c.frame.x0 + c.frame.x1) / 2, y: c.y, anchor: middle, size: usual, colour: "soft", text: sx.axis.Label}.cut(c.frame.x1 - c.frame.x0))
	}
}

// inside is the box without what is left and right of the picture.
func (b box) inside(width float64) box { return box{max(0, b.x0), b.y0, min(width, b.x1), b.y1} }
