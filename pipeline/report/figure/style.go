package figure

import (
	"fmt"
	"strings"
)

// dashes of the lines of series.
var dashes = [Most]string{"", "7 3", "2 3", "9 3 2 3", "4 2", "12 4"}

// shapes are the outlines of markers around 0 0, of radius r: a circle, a square, a triangle, a diamond, a cross and a star.
var shapes = [Most]func(r float64) [][2]float64{
	nil,
	func(r float64) [][2]float64 { r *= 0.88; return [][2]float64{{-r, -r}, {r, -r}, {r, r}, {-r, r}} },
	func(r float64) [][2]float64 { r *= 1.2; return [][2]float64{{0, -r}, {r, 0.8 * r}, {-r, 0.8 * r}} },
	func(r float64) [][2]float64 { r *= 1.3; return [][2]float64{{0, -r}, {r, 0}, {0, r}, {-r, 0}} },
	func(r float64) [][2]float64 {
		a, b := 1.2*r, 0.4*r
		return [][2]float64{{-b, -a}, {b, -a}, {b, -b}, {a, -b}, {a, b}, {b, b}, {b, a}, {-b, a}, {-b, b}, {-a, b}, {-a, -b}, {-b, -b}}
	},
	func(r float64) [][2]float64 {
		r *= 1.15
		return [][2]float64{{-r, -0.8 * r}, {r, -0.8 * r}, {0, r}}
	},
}

// marker is the outline of the marker of a series, as a part of a path.
func marker(i int, x, y, r float64) string {
	shape := shapes[i%Most]
	if shape == nil {
		return fmt.Sprintf("M%.1f %.1fa%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 %.1f 0z", x-r, y, r, r, 2*r, r, r, -2*r)
	}
	var b strings.Builder
	for n, p := range shape(r) {
		letter := "L"
		if n == 0 {
			letter = "M"
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", letter, x+p[0], y+p[1])
	}
	return b.String() + "z"
}

// key is an entry of a legend.
type key struct {
	name, colour string
	series       int // of its dashes and marker
	line, dot    bool
}

// legend draws the keys in lines and moves y below them.
func (c *canvas) legend(keys []key) {
	const sample, gap, high = 26.0, 16.0, 18.0
	if len(keys) == 0 {
		return
	}
	c.keys = len(keys)
	x := 2.0
	c.y += high
	for _, k := range keys {
		swatch := sample
		if !k.line {
			swatch = 12
		}
		l := label{size: usual, colour: "ink", text: k.name}.cut(c.width - swatch - 8)
		w := swatch + 5 + textWidth(l.text, usual, false)
		if x > 2 && x+w > c.width-2 {
			x = 2
			c.y += high
		}
		y := c.y - 4.2
		switch {
		case k.line:
			c.line(x, y, x+sample, y, k.colour, 2, dashes[k.series%Most])
		case !k.dot:
			c.rect(box{x, y - 5, x + 11, y + 5}, k.colour, "")
		}
		if k.dot {
			fmt.Fprintf(c, `<path d="%s" fill="%s"/>`+"\n", marker(k.series, x+swatch/2, y, 3.4), c.colour(k.colour))
		}
		l.x, l.y = x+swatch+5, c.y
		c.text(l)
		x += w + gap
	}
	c.y += 4
}
