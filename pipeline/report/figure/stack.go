package figure

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Stack shows bars made of parts, one bar per place of the horizontal axis.
type Stack struct {
	X, Y Axis
	Keys []Key // of the parts, from the bottom; at most Most, besides those with a colour of their own
	Bars []Bar
	Mark string // what the marks of bars are; "": there are none
	Low  bool   // half as high as usual
}

// Key is a kind of part. Its colour is a name of the page's, such as warn; empty: that of a series.
type Key struct{ Name, Colour string }

// Bar has the parts of a bar. Parts that are not known are NaN, and the bar is then left out.
type Bar struct {
	Parts []float64 // in the order of the names, as shares or amounts of the axis
	Mark  float64   // where the bar has a mark; 0: none
	About string    // is shown by a pointer
}

// Whole spells shares of the whole as per cent.
func Whole(v float64) string {
	return strconv.FormatFloat(math.Round(1e8*v)/1e6, 'f', -1, 64) + "%" // 0.6 of 100 is not 60 in floating point
}

func (s *Stack) colours() []string {
	var out []string
	n := 0
	for _, k := range s.Keys {
		if k.Colour != "" {
			out = append(out, k.Colour)
			continue
		}
		out = append(out, series(n))
		n++
	}
	return out
}

// total is the height of a bar; ok is false if a part is not known.
func (b Bar) total() (sum float64, ok bool) {
	for _, p := range b.Parts {
		if !(p >= 0) {
			return 0, false
		}
		sum += p
	}
	return sum, finite(sum)
}

// mark is where the bar has a mark; 0: none.
func (b Bar) mark() float64 {
	if b.Mark > 0 && finite(b.Mark) {
		return b.Mark
	}
	return 0
}

func (s *Stack) shows() bool {
	return slices.ContainsFunc(s.Bars, func(b Bar) bool { _, ok := b.total(); return ok })
}

func (s *Stack) paint(c *canvas) {
	colours := s.colours()
	var keys []key
	for i, k := range s.Keys {
		keys = append(keys, key{k.Name, colours[i], i, false, false})
	}
	if s.Mark != "" {
		keys = append(keys, key{s.Mark, "ink", 0, true, false})
	}
	c.legend(keys)
	most := 0.0
	for _, b := range s.Bars {
		if total, ok := b.total(); ok {
			most = max(most, total, b.mark())
		}
	}
	if most == 0 {
		most = 1
	}
	height := min(300, max(220, 0.6*c.width))
	if s.Low {
		height /= 2
	}
	y := s.Y
	y.Zero = true
	sx, sy := c.axes(s.X, y, [2]float64{0, float64(len(s.Bars) - 1)}, [2]float64{0, most}, height)
	step := sx.at(1) - sx.at(0)
	half := min(40, 0.38*step)
	if step < 8 {
		half = 0.46 * step
	}
	for i, b := range s.Bars {
		if _, ok := b.total(); !ok {
			continue
		}
		c.bar(b, sx.at(float64(i)), half, sy, colours)
	}
}

// bar draws one bar around x. Thin lines keep its parts apart where their colours are alike.
func (c *canvas) bar(b Bar, x, half float64, sy scale, colours []string) {
	base := 0.0
	if b.About != "" {
		fmt.Fprintf(c, "<g><title>%s</title>\n", escaped(b.About))
	}
	for k, part := range b.Parts {
		low, high := sy.at(base), sy.at(base+part)
		if low-high > 1.6 {
			low -= min(0.8, base*1e9)
		}
		c.rect(box{x - half, high, x + half, low}, colours[k], "")
		base += part
	}
	if v := b.mark(); v > 0 {
		at := sy.at(v)
		c.line(x-half, at, x+half, at, "ink", 2, "")
	}
	if b.About != "" {
		c.WriteString("</g>\n")
	}
}
