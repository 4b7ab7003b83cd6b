package report

import (
	"bytes"
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// DecisionMap has the decisions of one policy on the square [-1,1]^2: Size x Size cells, the first row at the bottom
// and the first column at the left; Action[row*Size+column] is the action at the centre of that cell.
type DecisionMap struct {
	Title  string
	Size   int
	Action []int
}

// CellCentre returns the coordinate of the centre of cell i of size cells over [-1,1].
func CellCentre(i, size int) float64 { return -1 + (2*float64(i)+1)/float64(size) }

// DecisionFigure draws the maps side by side; names are the pairs by action index. A dashed line marks x_1 = 0, where
// the law of the synthetic benchmark changes.
func DecisionFigure(maps []DecisionMap, names []string) (Figure, error) {
	for _, m := range maps {
		if len(m.Action) != m.Size*m.Size {
			return Figure{}, fmt.Errorf("draw decision map %q: %d cells, %d x %d expected", m.Title, len(m.Action), m.Size, m.Size)
		}
		if i := slices.Max(m.Action); i >= len(names) || slices.Min(m.Action) < 0 {
			return Figure{}, fmt.Errorf("draw decision map %q: action %d outside the %d pairs", m.Title, i, len(names))
		}
	}
	var keys []key
	for i, name := range names {
		keys = append(keys, key{name, hue(i)})
	}
	const side, legend = 2.5 * vg.Inch, vg.Length(22)
	caption := "The pair that each method executes over the square; the dashed line is where the cost table changes."
	f, err := render("decisions", caption, side*vg.Length(len(maps)), side+legend+12, func(c draw.Canvas) {
		whole(c)
		for i, m := range maps {
			left := side * vg.Length(i)
			p := m.plot(i == 0)
			p.Draw(draw.Crop(c, left+6, left+side-8-(c.Max.X-c.Min.X), legend+6, -8))
		}
		drawKeys(draw.Crop(c, 20, -20, 0, legend-(c.Max.Y-c.Min.Y)), keys)
	})
	f.SVG = crisp(f.SVG)
	return f, err
}

// crisp keeps renderers from blending the edges of neighbouring cells, which would show as seams.
func crisp(svg []byte) []byte {
	return bytes.Replace(svg, []byte("<svg "), []byte(`<svg shape-rendering="crispEdges" `), 1)
}

func (m DecisionMap) plot(first bool) *plot.Plot {
	p := newPlot(m.Title, "x_1", "x_2")
	if !first {
		p.Y.Label.Text = " " // keeps the panels equally wide
	}
	ticks := plot.ConstantTicks{{Value: -1, Label: "-1"}, {Value: 0, Label: "0"}, {Value: 1, Label: "1"}}
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks, ticks
	p.X.Padding, p.Y.Padding = 2, 2
	border, _ := plotter.NewLine(plotter.XYs{{X: 0, Y: -1}, {X: 0, Y: 1}}) // two finite points: cannot fail
	border.Color, border.Width, border.Dashes = color.Black, 1, []vg.Length{4, 3}
	p.Add(cells{m}, border)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -1, 1, -1, 1
	return p
}

// cells paints a decision map with few rectangles: runs of one action along a row, joined upwards while the run is the
// same. A map with straight borders needs only a few shapes, which keeps the SVG small.
type cells struct{ DecisionMap }

type rectangle struct{ action, row, rows, from, to int }

func (m cells) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	edge := func(i int) float64 { return -1 + 2*float64(i)/float64(m.Size) }
	for _, r := range m.rectangles() {
		x0, x1 := toX(edge(r.from)), toX(edge(r.to))
		y0, y1 := toY(edge(r.row)), toY(edge(r.row+r.rows))
		// A small overlap to the right and upwards hides the seams of anti-aliasing; later cells are painted over it.
		fillBox(c, hue(r.action), x0, y0, min(x1+0.3, toX(1)), min(y1+0.3, toY(1)))
	}
}

func (m cells) rectangles() []rectangle {
	var done, open []rectangle
	for row := range m.Size {
		runs := m.runs(row)
		var next []rectangle
		for _, run := range runs {
			i := slices.IndexFunc(open, func(o rectangle) bool {
				return o.action == run.action && o.from == run.from && o.to == run.to
			})
			if i >= 0 {
				run.row, run.rows = open[i].row, open[i].rows+1
				open = slices.Delete(open, i, i+1)
			}
			next = append(next, run)
		}
		done, open = append(done, open...), next
	}
	return append(done, open...)
}

// runs splits one row into stretches of equal action.
func (m cells) runs(row int) []rectangle {
	line := m.Action[row*m.Size : (row+1)*m.Size]
	var runs []rectangle
	for from := 0; from < m.Size; {
		to := from + 1
		for to < m.Size && line[to] == line[from] {
			to++
		}
		runs = append(runs, rectangle{line[from], row, 1, from, to})
		from = to
	}
	return runs
}
