package dashboard

import (
	"fmt"
	"math"
	"strings"
)

// frontierChart draws mean expected losses against mean fees: for the policy as a curve, for the policy at the chosen
// prices, and for every pair alone.
func frontierChart(f *Frontier) []byte {
	const width, height, left, bottom, top, right = 720, 380, 66, 46, 18, 24
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	see := func(fee, loss float64) {
		low, high = [2]float64{min(low[0], fee), min(low[1], loss)}, [2]float64{max(high[0], fee), max(high[1], loss)}
	}
	for _, p := range f.Pairs {
		see(p.Fee, p.Loss)
	}
	for _, p := range f.Curve {
		see(p.Fee, p.Loss)
	}
	see(f.Chosen.Fee, f.Chosen.Loss)
	if f.File != nil {
		see(f.File.Fee, f.File.Loss)
	}
	x, y := newAxis(low[0], high[0], left, width-right), newAxis(low[1], high[1], height-bottom, top)
	c := newChart(width, height, fmt.Sprintf("Mean expected loss against mean fees. The policy: fee %s, loss %s. The table below has every pair.", cost(f.Chosen.Fee), cost(f.Chosen.Loss)))
	for _, v := range y.ticks() {
		c.line(left, y.at(v), width-right, y.at(v))
		c.text(left-8, y.at(v)+4, "end", "tick", fmt.Sprintf("%.4g", v))
	}
	for _, v := range x.ticks() {
		c.text(x.at(v), height-bottom+18, "middle", "tick", fmt.Sprintf("%.4g", v))
	}
	c.text((left+width-right)/2, height-8, "middle", "axis", "mean fees at these prices")
	fmt.Fprintf(c, `<text transform="translate(14 %d) rotate(-90)" text-anchor="middle" class="axis">mean expected loss</text>`, (height-bottom+top)/2)
	c.curve(f.Curve, x, y)
	c.pairPoints(f, x, y)
	if f.File != nil {
		c.mark(`<rect x="%.1f" y="%.1f" width="10" height="10" fill="var(--card)" stroke="var(--keep)" stroke-width="2.5">%s</rect>`, x.at(f.File.Fee)-5, y.at(f.File.Loss)-5,
			fmt.Sprintf("decided at the prices of the file: fee %s, loss %s", cost(f.File.Fee), cost(f.File.Loss)))
	}
	c.mark(`<circle cx="%.1f" cy="%.1f" r="7" fill="var(--mark)" stroke="var(--card)" stroke-width="2">%s</circle>`, x.at(f.Chosen.Fee), y.at(f.Chosen.Loss),
		fmt.Sprintf("the policy at these prices: fee %s, loss %s", cost(f.Chosen.Fee), cost(f.Chosen.Loss)))
	return c.svg()
}

// mark draws a shape with a title.
func (c *chart) mark(shape string, x, y float64, title string) {
	fmt.Fprintf(c, shape, x, y, "<title>"+escaped(title)+"</title>")
}

// curve draws the line through the points of the policy.
func (c *chart) curve(points []Point, x, y axis) {
	if len(points) < 2 {
		return
	}
	var path strings.Builder
	for i, p := range points {
		letter := "L"
		if i == 0 {
			letter = "M"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", letter, x.at(p.Fee), y.at(p.Loss))
	}
	fmt.Fprintf(c, `<path d="%s" fill="none" stroke="var(--mark)" stroke-width="2.5" stroke-linejoin="round"/>`, path.String())
	for _, p := range points {
		c.mark(`<circle cx="%.1f" cy="%.1f" r="3" fill="var(--mark)">%s</circle>`, x.at(p.Fee), y.at(p.Loss), fmt.Sprintf("fees times %.3g: fee %s, loss %s", p.Scale, cost(p.Fee), cost(p.Loss)))
	}
}

// pairPoints draws the pairs. Only pairs that are not dominated are labelled, if there is room.
func (c *chart) pairPoints(f *Frontier, x, y axis) {
	type place struct{ x, y float64 }
	var taken []place
	for i, p := range f.Pairs {
		at := place{x.at(p.Fee), y.at(p.Loss)}
		c.mark(`<circle cx="%.1f" cy="%.1f" r="4.5" fill="var(--card)" stroke="var(--soft)" stroke-width="1.8">%s</circle>`, at.x, at.y,
			fmt.Sprintf("always %s: fee %s, loss %s", p.Pair, cost(p.Fee), cost(p.Loss)))
		if isDominated(f.Pairs, i) {
			continue
		}
		free := true
		for _, t := range taken {
			free = free && (math.Abs(t.y-at.y) > 14 || math.Abs(t.x-at.x) > 150)
		}
		if !free {
			continue
		}
		taken = append(taken, at)
		if at.x > (x.a+x.b)/2 {
			c.text(at.x-9, at.y-7, "end", "label", p.Pair)
		} else {
			c.text(at.x+9, at.y-7, "start", "label", p.Pair)
		}
	}
}

// isDominated reports whether another pair is at least as good in both fee and loss. Of equal pairs, the first is not.
func isDominated(pairs []pairPoint, i int) bool {
	for j, p := range pairs {
		if j != i && p.Fee <= pairs[i].Fee && p.Loss <= pairs[i].Loss && (p.Fee < pairs[i].Fee || p.Loss < pairs[i].Loss || j < i) {
			return true
		}
	}
	return false
}
