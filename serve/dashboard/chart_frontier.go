package dashboard

import (
	"fmt"

	"pipe/pipeline/report/figure"
)

// frontierChart has mean expected losses against mean fees: of the policy as a curve, of the policy at the chosen prices, and of every
// pair alone. Only pairs that are not dominated are named.
func frontierChart(f *Frontier, note string) *figure.Figure {
	pairs := figure.Series{Name: "one pair for every row", Rest: true}
	for i, p := range f.Pairs {
		at := figure.Point{X: p.Fee, Y: p.Loss, About: fmt.Sprintf("always %s: fee %s, loss %s", p.Pair, cost(p.Fee), cost(p.Loss))}
		if !isDominated(f.Pairs, i) {
			at.Name = p.Pair
		}
		pairs.Points = append(pairs.Points, at)
	}
	all := []figure.Series{pairs}
	if len(f.Curve) > 0 {
		curve := figure.Series{Name: "the policy, all fees multiplied", Joined: true, Small: true}
		for _, p := range f.Curve {
			curve.Points = append(curve.Points, figure.Point{X: p.Fee, Y: p.Loss, About: fmt.Sprintf("fees times %.3g: fee %s, loss %s", p.Scale, cost(p.Fee), cost(p.Loss))})
		}
		all = append(all, curve)
	}
	if f.File != nil {
		all = append(all, single("decided at the prices of the file", *f.File))
	}
	all = append(all, single("the policy at these prices", f.Chosen))
	return &figure.Figure{
		Name: "frontier", Title: "Expected loss by fees: lower left is better", Note: note,
		About: fmt.Sprintf("Mean expected loss against mean fees. The policy: fee %s, loss %s. The table below has every pair.", cost(f.Chosen.Fee), cost(f.Chosen.Loss)),
		Body:  &figure.Plot{X: figure.Axis{Label: "mean fee at these prices"}, Y: figure.Axis{Label: "mean expected loss"}, Series: all},
	}
}

// single is a series of one point.
func single(name string, p Point) figure.Series {
	return figure.Series{Name: name, Points: []figure.Point{{X: p.Fee, Y: p.Loss, About: fmt.Sprintf("%s: fee %s, loss %s", name, cost(p.Fee), cost(p.Loss))}}}
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
