package dashboard

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strconv"

	"pipe/internal/safetext"
)

// chart draws SVG in the colours of the page. Texts are escaped.
type chart struct{ bytes.Buffer }

func newChart(width, height int, about string) *chart {
	c := &chart{}
	fmt.Fprintf(c, `<svg width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`, width, height, width, height, escaped(about))
	return c
}

func escaped(s string) string { return html.EscapeString(safetext.Line(s)) }

// text writes a text; anchor is start, middle or end.
func (c *chart) text(x, y float64, anchor, class, s string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" text-anchor="%s" class="%s">%s</text>`, x, y, anchor, class, escaped(s))
}

func (c *chart) rect(x, y, width, height float64, fill string) {
	if height > 0 && width > 0 {
		fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="var(--%s)"/>`, x, y, width, height, fill)
	}
}

func (c *chart) line(x1, y1, x2, y2 float64) {
	fmt.Fprintf(c, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="var(--line)"/>`, x1, y1, x2, y2)
}

func (c *chart) svg() []byte {
	c.WriteString("</svg>")
	return c.Bytes()
}

// trafficChart draws a bar per span for served, refused and failed requests, and a line for decisions.
func trafficChart(t *TrafficState, minutes int) []byte {
	const width, height, left, bottom, top = 900, 170, 46, 24, 12
	perSecond := func(n int64, b Bar) float64 {
		if b.Seconds <= 0 {
			return 0
		}
		return float64(n) / b.Seconds
	}
	most := 0.0
	for _, b := range t.Bars {
		most = max(most, perSecond(max(b.Requests, b.Decisions), b))
	}
	most = roundUp(most)
	c := newChart(width, height, fmt.Sprintf("Requests and decisions per second over the last %d minutes, at most %s", minutes, rate(most)))
	scale := (height - bottom - top) / most
	for i := range 3 {
		y := float64(top) + float64(i)*(height-bottom-top)/2
		c.line(left, y, width, y)
		c.text(left-6, y+4, "end", "tick", strconv.FormatFloat(most*float64(2-i)/2, 'g', 3, 64))
	}
	step := float64(width-left) / float64(len(t.Bars))
	for i, b := range t.Bars {
		x, y, wide := left+float64(i)*step+0.5, float64(height-bottom), max(1, step-1)
		for _, part := range []struct {
			n    int64
			fill string
		}{{b.Failed, "warn"}, {b.Refused, "keep"}, {b.Requests - b.Failed - b.Refused, "mark"}} {
			high := perSecond(part.n, b) * scale
			y -= high
			c.rect(x, y, wide, high, part.fill)
		}
		if d := perSecond(b.Decisions, b) * scale; d > 0 {
			c.rect(x, float64(height-bottom)-d-1, wide, 2, "ink")
		}
	}
	for i := range 4 {
		x := left + float64(width-left)*float64(i)/3
		label, anchor := fmt.Sprintf("%.3g min ago", float64(minutes)*float64(3-i)/3), "middle"
		switch i {
		case 0:
			anchor = "start"
		case 3:
			label, anchor = "now", "end"
		}
		c.text(x, height-6, anchor, "tick", label)
	}
	return c.svg()
}

// roundUp rounds up to 1, 2, 5, 10, 20 and so on. It returns 1 for values that are not positive.
func roundUp(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5, 10} {
		if v <= m*base*(1+1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// axis maps values to the pixels from a to b.
type axis struct{ low, high, a, b float64 }

func newAxis(low, high, a, b float64) axis {
	if !(high > low) {
		high = low + max(math.Abs(low)*0.2, 0.01)
	}
	pad := (high - low) * 0.06
	return axis{low - pad, high + pad, a, b}
}

func (x axis) at(v float64) float64 { return x.a + (v-x.low)/(x.high-x.low)*(x.b-x.a) }

// ticks returns about five round values on the axis.
func (x axis) ticks() []float64 {
	step := roundUp((x.high - x.low) / 7)
	var out []float64
	for i := math.Ceil(x.low / step); i*step <= x.high; i++ {
		out = append(out, i*step+0) // + 0 avoids negative zero
	}
	return out
}
