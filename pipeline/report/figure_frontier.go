package report

import (
	"cmp"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// frontierName is the file name of the figure of a frontier.
const frontierName = "frontier"

// everyPair is the key of the constants.
const everyPair = "one pair for every row"

// frontierFigure draws task loss against money: one line per method from its cheapest to its dearest point, over the
// prices that multiply all fees, with a band for the interval of the loss. Methods without such a price have a point per
// lambda. Every constant is a grey dot, and those that no other one beats have their names.
func frontierFigure(points []FrontierPoint, constants []ConstantPoint) (Figure, error) {
	p := newPlot("Task loss by fees paid", "fees per row, in the unit of the loss", "task loss")
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color, grid.Horizontal.Width = pale, 0.5
	p.Add(grid)
	var keys []key
	for i, method := range frontierMethods(points) {
		var own []FrontierPoint
		for _, point := range points {
			if point.Method == method && (point.Scale != nil || !scaled(points, method)) {
				own = append(own, point)
			}
		}
		slices.SortStableFunc(own, func(a, b FrontierPoint) int { return cmp.Compare(a.Money, b.Money) })
		if err := addFrontier(p, own, hue(i)); err != nil {
			return Figure{}, err
		}
		keys = append(keys, key{method, hue(i)})
	}
	if len(constants) > 0 {
		if err := addConstants(p, constants); err != nil {
			return Figure{}, err
		}
		keys = append(keys, key{everyPair, grey})
	}
	return drawCurve(frontierName, "Task loss without fees against the fees paid per row, one point per price. The band is the 95% interval of the loss, "+
		"the thin bars are that of the fees. Grey: each pair used for every row; those that no other pair equals in both loss and fees are named.", p, keys)
}

// addFrontier draws the points of one method, which are sorted by money.
func addFrontier(p *plot.Plot, own []FrontierPoint, colour color.NRGBA) error {
	at := frontierPoints(own)
	line, dots, err := plotter.NewLinePoints(at)
	if err != nil {
		return err
	}
	across, err := plotter.NewXErrorBars(at)
	if err != nil {
		return err
	}
	band, err := plotter.NewPolygon(at.band())
	if err != nil {
		return err
	}
	band.Color, band.LineStyle.Width = faint(colour), 0
	line.Color, dots.Color, across.Color = colour, colour, colour
	line.Width, across.Width, across.CapWidth = 1.6, 0.6, 3
	dots.Shape, dots.Radius = draw.CircleGlyph{}, 2.6
	if len(own) == 1 {
		up, err := plotter.NewYErrorBars(at)
		if err != nil {
			return err
		}
		up.Color, up.Width, up.CapWidth = colour, 1, 4
		p.Add(up)
	} else {
		p.Add(band)
	}
	p.Add(line, across, dots)
	return nil
}

// mostNamed is how many constants have a name in the figure.
const mostNamed = 8

func addConstants(p *plot.Plot, constants []ConstantPoint) error {
	var all plotter.XYs
	for _, c := range constants {
		all = append(all, plotter.XY{X: c.Money, Y: c.Loss})
	}
	dots, err := plotter.NewScatter(all)
	if err != nil {
		return err
	}
	dots.Shape, dots.Radius, dots.Color = draw.CircleGlyph{}, 2.2, grey
	var named plotter.XYLabels
	best := cheapestOf(constants)
	for _, c := range best[max(0, len(best)-mostNamed):] {
		named.XYs = append(named.XYs, plotter.XY{X: c.Money, Y: c.Loss})
		named.Labels = append(named.Labels, " "+shortened(c.Pair, 28))
	}
	names, err := plotter.NewLabels(named)
	if err != nil {
		return err
	}
	for i := range names.TextStyle {
		names.TextStyle[i] = textStyle(7.5, draw.XLeft, draw.YBottom)
	}
	p.Add(dots, names)
	return nil
}

// shortened cuts a name that is longer than most characters.
func shortened(name string, most int) string {
	if r := []rune(name); len(r) > most {
		return string(r[:most-1]) + "\u2026"
	}
	return name
}

// band goes along the lower ends of the intervals and back along the upper ones.
func (f frontierPoints) band() plotter.XYs {
	var ends plotter.XYs
	for i := range f {
		low, _ := f.YError(i)
		ends = append(ends, plotter.XY{X: f[i].Money, Y: f[i].Loss - low})
	}
	for i := len(f) - 1; i >= 0; i-- {
		_, high := f.YError(i)
		ends = append(ends, plotter.XY{X: f[i].Money, Y: f[i].Loss + high})
	}
	return ends
}

// scaled reports whether a method has a point at a price that multiplies all fees.
func scaled(points []FrontierPoint, method string) bool {
	return slices.ContainsFunc(points, func(p FrontierPoint) bool { return p.Method == method && p.Scale != nil })
}

// frontierPoints are points with the distances to the ends of their intervals.
type frontierPoints []FrontierPoint

func (f frontierPoints) Len() int                { return len(f) }
func (f frontierPoints) XY(i int) (x, y float64) { return f[i].Money, f[i].Loss }
func (f frontierPoints) XError(i int) (low, high float64) {
	return distances(f[i].Money, f[i].MoneyInterval)
}

func (f frontierPoints) YError(i int) (low, high float64) {
	return distances(f[i].Loss, f[i].LossInterval)
}

func distances(mean float64, v *Interval) (low, high float64) {
	if v == nil {
		return 0, 0
	}
	return mean - v.Low, v.High - mean
}
