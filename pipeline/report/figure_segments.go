package report

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// segmentsName is how the file names of the figures of segments begin.
const segmentsName = "segments"

// mostSegments is how many segments a figure has.
const mostSegments = 16

// segmentsFigure draws what a policy saves in each segment: a dot with its interval per line, the largest effect at the
// top. Those that are wholly above or below 0 are in colour.
func segmentsFigure(name string, s Segments) (Figure, error) {
	shown := s.Segments[:min(len(s.Segments), mostSegments)]
	p := newPlot(fmt.Sprintf("Saved by segment, lambda %s", fixed(s.Lambda, -1)), "saved per request", "")
	var ticks plot.ConstantTicks
	for i, g := range shown {
		ticks = append(ticks, plot.Tick{Value: float64(-i), Label: fmt.Sprintf("%s (%d)", shortened(g.label(), 44), g.Rows)})
		if err := addSegment(p, g, float64(-i)); err != nil {
			return Figure{}, err
		}
	}
	zero, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0.6}, {X: 0, Y: 0.4 - float64(len(shown))}})
	if err != nil {
		return Figure{}, err
	}
	zero.Color, zero.Width, zero.Dashes = ink, 0.8, []vg.Length{4, 3}
	p.Add(zero)
	p.Y.Tick.Marker, p.Y.Tick.LineStyle.Width, p.Y.LineStyle.Width = ticks, 0, 0
	p.Y.Min, p.Y.Max = 0.4-float64(len(shown)), 0.6
	caption := fmt.Sprintf("%s against always %s, with 95%% intervals that hold for all segments together; the number of rows in brackets.", s.Policy, s.Pair)
	if n := len(s.Segments) - len(shown); n > 0 {
		caption += fmt.Sprintf(" The table has %d more.", n)
	}
	width, height := 6.6*vg.Inch, vg.Length(90+17*len(shown))
	return render(name, caption, width, height, func(c draw.Canvas) {
		whole(c)
		p.Draw(draw.Crop(c, 8, -14, 8, -8))
	})
}

// label is the name of the segment in the figure: labels are often single digits.
func (g Segment) label() string {
	if g.By == ByLabel {
		return "label " + g.Name
	}
	return g.Name
}

func addSegment(p *plot.Plot, g Segment, y float64) error {
	colour := map[string]color.NRGBA{Helps: hue(2), Harms: hue(3)}[g.Finding]
	if g.Finding == "" {
		colour = grey
	}
	dot, err := plotter.NewScatter(plotter.XYs{{X: g.Mean, Y: y}})
	if err != nil {
		return err
	}
	dot.Shape, dot.Radius, dot.Color = draw.CircleGlyph{}, 3, colour
	p.Add(dot)
	if g.Saved == nil {
		return nil
	}
	line, err := plotter.NewLine(plotter.XYs{{X: g.Saved.Low, Y: y}, {X: g.Saved.High, Y: y}})
	if err != nil {
		return err
	}
	line.Color, line.Width = colour, 1.6
	p.Add(line)
	return nil
}
