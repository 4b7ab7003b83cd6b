package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// adviceFigure draws, for one method, a panel for all rows and one per expert: a stacked bar per lambda with the
// share of every advice, and above it the share of rows routed to the expert.
func adviceFigure(shares []AdviceShares, methodName string) (Figure, error) {
	mine := slices.DeleteFunc(slices.Clone(shares), func(s AdviceShares) bool { return s.Method != methodName })
	if len(mine) == 0 {
		return Figure{}, fmt.Errorf("draw advice of %q: no shares of that method", methodName)
	}
	var experts []string
	for _, s := range mine {
		if !slices.Contains(experts, s.Expert) {
			experts = append(experts, s.Expert)
		}
	}
	var keys []key
	for k, name := range mine[0].Advice {
		keys = append(keys, key{name, hue(k)})
	}
	columns := min(len(experts), 4)
	lines := (len(experts) + columns - 1) / columns
	const width, height, legend = 2.5 * vg.Inch, 2.3 * vg.Inch, vg.Length(24)
	caption := fmt.Sprintf("Advice bought by %s, per cost regime and routed expert; the figure above a bar is the share of rows routed there, in %%.", methodName)
	w, h := width*vg.Length(columns), height*vg.Length(lines)+legend
	return render(adviceName(methodName), caption, w, h, func(c draw.Canvas) {
		whole(c)
		for i, expert := range experts {
			left, top := width*vg.Length(i%columns), height*vg.Length(i/columns)
			p := advicePanel(mine, expert, i%columns == 0)
			p.Draw(draw.Crop(c, left+6, left+width-8-w, h-top-height+4, -top-6))
		}
		drawKeys(draw.Crop(c, 20, -20, 0, legend-4-h), keys)
	})
}

func adviceName(method string) string { return "advice_" + method }

func advicePanel(shares []AdviceShares, expert string, first bool) *plot.Plot {
	mine := slices.DeleteFunc(slices.Clone(shares), func(s AdviceShares) bool { return s.Expert != expert })
	slices.SortStableFunc(mine, func(a, b AdviceShares) int { return compareLambda(&a.Lambda, &b.Lambda) })
	title, label := expert, "share"
	if expert == "" {
		title = "all rows"
	}
	if !first {
		label = " "
	}
	p := newPlot(title, "lambda", label)
	var ticks []plot.Tick
	for i, s := range mine {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: Number(&s.Lambda)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.5, Label: "0.5"}, {Value: 1, Label: "1"}}
	p.X.Tick.LineStyle.Width = 0
	p.Add(stack(mine))
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.6, float64(len(mine))-0.4, 0, 1.12
	return p
}

// stack paints one stacked bar per entry at x = 0, 1, ...
type stack []AdviceShares

func (s stack) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	style := textStyle(7.5, draw.XCenter, draw.YBottom)
	for i, bar := range s {
		x0, x1, base := toX(float64(i)-0.36), toX(float64(i)+0.36), 0.0
		for k, share := range bar.Share {
			if share > 0 {
				fillBox(c, hue(k), x0, toY(base), x1, toY(base+share))
			}
			base += share
		}
		c.FillText(style, vg.Point{X: (x0 + x1) / 2, Y: toY(max(base, 0)) + 2}, fmt.Sprintf("%.0f", 100*bar.Routed))
	}
}
