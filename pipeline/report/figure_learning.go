package report

import (
	"maps"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// learningName is the file name of the learning curve.
const learningName = "learning"

// learningFigure draws the cost on the reported rows against the number of training rows, one line per lambda, with a
// band for its interval.
func learningFigure(curves []Learning) (Figure, error) {
	p := newPlot("Cost by number of training rows", "training rows (log scale)", "cost")
	p.X.Scale = plot.LogScale{}
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color, grid.Horizontal.Width = pale, 0.5
	p.Add(grid)
	shown, others := curves, ""
	if len(curves) > mostSeries {
		shown, others = curves[:mostSeries], " The table has the other lambdas."
	}
	var keys []key
	ticks := map[int]bool{}
	for i, l := range shown {
		if err := addLearning(p, l.Points, i); err != nil {
			return Figure{}, err
		}
		for _, at := range l.Points {
			ticks[at.Rows] = true
		}
		keys = append(keys, key{"lambda " + fixed(l.Lambda, -1), hue(i)})
	}
	var marks plot.ConstantTicks
	for _, rows := range slices.Sorted(maps.Keys(ticks)) {
		marks = append(marks, plot.Tick{Value: float64(rows), Label: strconv.Itoa(rows)})
	}
	p.X.Tick.Marker = marks
	return drawCurve(learningName, "Mean cost on the reported rows of policies that learned from some of the training rows; the band is the 95% interval."+others, p, keys)
}

func addLearning(p *plot.Plot, points []LearningPoint, i int) error {
	var line, ends plotter.XYs
	for _, at := range points {
		line = append(line, plotter.XY{X: float64(at.Rows), Y: at.Cost.Mean})
		ends = append(ends, plotter.XY{X: float64(at.Rows), Y: at.Cost.Low})
	}
	for k := len(points) - 1; k >= 0; k-- {
		ends = append(ends, plotter.XY{X: float64(points[k].Rows), Y: points[k].Cost.High})
	}
	band, err := plotter.NewPolygon(ends)
	if err != nil {
		return err
	}
	curve, dots, err := plotter.NewLinePoints(line)
	if err != nil {
		return err
	}
	band.Color, band.LineStyle.Width = faint(hue(i)), 0
	curve.Color, dots.Color, curve.Width = hue(i), hue(i), 1.6
	dots.Shape, dots.Radius = draw.CircleGlyph{}, 2.6
	p.Add(band, curve, dots)
	return nil
}
