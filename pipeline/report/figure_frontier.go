package report

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// frontierName is the file name of the figure of a frontier.
const frontierName = "frontier"

// frontierFigure draws task loss against money, one line per method from its cheapest to its dearest point, over the prices
// that multiply all fees. Methods without such a price have a point per lambda.
func frontierFigure(points []FrontierPoint) (Figure, error) {
	p := newPlot("Task loss by money spent", "money per row", "task loss")
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color, grid.Horizontal.Width = pale, 0.5
	p.Add(grid)
	var keys []series
	for i, method := range frontierMethods(points) {
		var own []FrontierPoint
		for _, point := range points {
			if point.Method == method && (point.Scale != nil || !scaled(points, method)) {
				own = append(own, point)
			}
		}
		slices.SortStableFunc(own, func(a, b FrontierPoint) int { return cmp.Compare(a.Money, b.Money) })
		at := frontierPoints(own)
		line, dots, err := plotter.NewLinePoints(at)
		if err != nil {
			return Figure{}, err
		}
		up, err := plotter.NewYErrorBars(at)
		if err != nil {
			return Figure{}, err
		}
		across, err := plotter.NewXErrorBars(at)
		if err != nil {
			return Figure{}, err
		}
		line.Color, dots.Color, up.Color, across.Color = hue(i), hue(i), hue(i), hue(i)
		line.Width, up.Width, across.Width, up.CapWidth, across.CapWidth = 1.6, 0.8, 0.8, 4, 4
		dots.Shape, dots.Radius = draw.CircleGlyph{}, 2.6
		p.Add(line, up, across, dots)
		keys = append(keys, series{method: method})
	}
	return drawCurve(frontierName, "Task loss without fees against money per row, one point per price; bars are 95% intervals.", p, keys)
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
