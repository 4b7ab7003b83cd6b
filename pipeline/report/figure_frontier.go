package report

import (
	"cmp"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/internal/lists"
	"pipe/pipeline/report/figure"
)

// frontierName is the file name of the figure of a frontier.
const frontierName = "frontier"

// frontierFigure is task loss against money: one line per method from its cheapest to its dearest point, over the
// prices that multiply all fees, with a band for the interval of the loss. Methods without several such prices have a point
// per lambda. Every constant is a grey dot, and those that no other one beats have their names.
func frontierFigure(points []FrontierPoint, constants []ConstantPoint, money *costs.Money, ofRows string) *figure.Figure {
	names, others := few(frontierMethods(points), "methods")
	if len(names) == 0 {
		return nil
	}
	p := &figure.Plot{X: figure.Axis{Label: "fees per row, in the unit of the loss"}, Y: figure.Axis{Label: "task loss per row"}}
	for _, method := range names {
		s := figure.Series{Name: method, Joined: true, Band: true}
		for _, point := range points {
			if point.Method == method && (point.Scale != nil || !scaled(points, method)) {
				s.Points = append(s.Points, figure.Point{
					X: point.Money, Y: point.Loss, AcrossX: ends(point.MoneyInterval), Along: ends(point.LossInterval),
					About: fmt.Sprintf("%s at %s: fees %s, loss %s", method, point.price(), fixed(point.Money, 4), fixed(point.Loss, 4)),
				})
			}
		}
		slices.SortStableFunc(s.Points, func(a, b figure.Point) int { return cmp.Compare(a.X, b.X) })
		p.Series = append(p.Series, s)
	}
	if len(constants) > 0 {
		p.Series = append([]figure.Series{constantSeries(constants)}, p.Series...)
	}
	return &figure.Figure{
		Name: frontierName, Title: "Task loss by fees paid: lower left is better", Body: p,
		About: "A curve per method: how much task loss remains for the fees paid. Dots are single pairs used for every row.",
		Note: ofRows + "One point per factor that multiplies all fees; a method without several of these points has one per lambda. The table has all prices. " +
			"The fees are not in the loss" + worthFees(money) + ". Bands or upright bars are 95% intervals of the loss, level bars those of the fees. " +
			"Grey: one pair for every row; those that no other pair equals in both loss and fees are named, as far as there is room." + others,
	}
}

// price says at which prices a point is.
func (p *FrontierPoint) price() string {
	if p.Scale != nil {
		return "fees times " + fixed(*p.Scale, -1)
	}
	return "lambda " + fixed(p.Lambda, -1)
}

// constantSeries has a grey dot per constant.
func constantSeries(constants []ConstantPoint) figure.Series {
	s := figure.Series{Name: "one pair for every row", Rest: true}
	best := cheapestOf(constants)
	for _, c := range constants {
		name := ""
		if slices.ContainsFunc(best, func(b ConstantPoint) bool { return b.Pair == c.Pair }) {
			name = c.Pair
		}
		s.Points = append(s.Points, figure.Point{
			X: c.Money, Y: c.Loss, Name: name, About: fmt.Sprintf("always %s: fees %s, loss %s", c.Pair, fixed(c.Money, 4), fixed(c.Loss, 4)),
		})
	}
	return s
}

// worthFees says what the fees of the figure are worth, if that is known.
func worthFees(m *costs.Money) string {
	if m == nil {
		return ""
	}
	return ". As in the table, they are in the unit of the loss: 1 is worth " + fixed(m.PerLoss, -1) + " " + m.Currency
}

// scaled reports whether a method has points at several prices that multiply all fees. The price of a policy for lambda 1 alone does.
func scaled(points []FrontierPoint, method string) bool {
	return len(lists.Keep(points, func(p FrontierPoint) bool { return p.Method == method && p.Scale != nil })) > 1
}
