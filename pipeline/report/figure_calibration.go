package report

import (
	"math"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// calibrationName is the file name of the reliability diagram.
const calibrationName = "calibration"

// calibrationFigure draws the mean observed loss of every bin against the mean expected one, one line per policy.
func calibrationFigure(policies []Calibration) (Figure, error) {
	policies, others := differing(policies), ""
	if len(policies) > mostSeries {
		policies, others = policies[:mostSeries], " The table has the other policies."
	}
	p := newPlot("Reliability of expected losses", "expected loss", "mean observed loss")
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color, grid.Horizontal.Width = pale, 0.5
	p.Add(grid)
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range policies {
		for _, b := range c.Bins {
			low, high = min(low, b.Estimate), max(high, b.Estimate)
		}
	}
	diagonal, err := plotter.NewLine(plotter.XYs{{X: low, Y: low}, {X: high, Y: high}})
	if err != nil {
		return Figure{}, err
	}
	diagonal.Color, diagonal.Width, diagonal.Dashes = ink, 0.8, []vg.Length{4, 3}
	p.Add(diagonal)
	var keys []key
	for _, c := range policies {
		if len(c.Bins) == 0 {
			continue
		}
		var at plotter.XYs
		for _, b := range c.Bins {
			at = append(at, plotter.XY{X: b.Estimate, Y: b.Loss})
		}
		line, dots, err := plotter.NewLinePoints(at)
		if err != nil {
			return Figure{}, err
		}
		line.Color, dots.Color = hue(len(keys)), hue(len(keys))
		line.Width = 1.6
		dots.Shape, dots.Radius = draw.CircleGlyph{}, 2.6
		p.Add(line, dots)
		keys = append(keys, key{c.Policy, hue(len(keys))})
	}
	return drawCurve(calibrationName, "Mean observed loss against mean expected loss, in bins with the same number of estimates; on the dashed line they are equal."+others, p, keys)
}
