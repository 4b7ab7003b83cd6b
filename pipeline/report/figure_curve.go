package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"pipe/internal/lists"
	"pipe/models"
	"pipe/pipeline/methods"
)

// The file names of the curves.
const (
	excessName = "excess"
	lossName   = "loss"
)

// series is one method's line: means with an optional spread.
type series struct {
	method string
	xs     []float64
	mean   []float64
	std    []float64
}

// ExcessFigure draws excess risk against the number of training rows (logarithmic) with one standard deviation over
// seeds, one line per method with more than one size in the rows.
func ExcessFigure(rows []Row) (Figure, error) {
	r := Report{Rows: rows}
	lines, others := mostImportant(excessSeries(rows))
	p := newPlot("Excess risk by number of training rows", "training rows n (log scale)", "excess true loss over Bayes")
	p.X.Scale = plot.LogScale{}
	var ticks []plot.Tick
	for _, n := range r.sizes() {
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: strconv.Itoa(n)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	// A shift of a few percent keeps the error bars of methods with equal risk apart.
	spread := func(x float64, i int) float64 { return x * math.Pow(1.035, float64(i)-float64(len(lines)-1)/2) }
	if err := addLines(p, lines, spread); err != nil {
		return Figure{}, err
	}
	if ns := r.sizes(); len(ns) > 0 {
		p.X.Min, p.X.Max = float64(ns[0])*0.85, float64(ns[len(ns)-1])*1.18
	}
	return drawCurve(excessName, "Excess true loss over the Bayes risk against the number of training rows; bars are one standard deviation over seeds."+others, p, keysOf(lines))
}

// excessSeries are the lines of ExcessFigure.
func excessSeries(rows []Row) []series {
	return collect(rows, func(row Row) (x, y float64, std *float64, ok bool) {
		if row.N == 0 || row.ExcessMean == nil {
			return 0, 0, nil, false
		}
		return float64(row.N), *row.ExcessMean, row.ExcessStd, true
	})
}

// lossFigure draws true loss against lambda, one line per method with more than one regime. The regimes are equally
// spaced, because typical grids are far from evenly spaced.
func lossFigure(rows []Row) (Figure, error) {
	lambdas := (&Report{Rows: rows}).Lambdas()
	lines := collect(rows, func(row Row) (x, y float64, std *float64, ok bool) {
		if row.Lambda == nil {
			return 0, 0, nil, false
		}
		return float64(slices.Index(lambdas, *row.Lambda)), row.TrueLossMean, row.TrueLossStd, true
	})
	lines, others := mostImportant(lines)
	p := newPlot("True loss by lambda", "lambda (regimes at equal distances)", "true loss")
	var ticks []plot.Tick
	for i, l := range lambdas {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: Number(&l)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	spread := func(x float64, i int) float64 { return x + 0.03*(float64(i)-float64(len(lines)-1)/2) }
	if err := addLines(p, lines, spread); err != nil {
		return Figure{}, err
	}
	p.X.Min, p.X.Max = -0.3, float64(len(lambdas))-0.7
	return drawCurve(lossName, "True loss in every cost regime; bars are one standard deviation over seeds."+others, p, keysOf(lines))
}

// collect groups rows by method, keeps the methods with several points and sorts each by x.
func collect(rows []Row, point func(Row) (x, y float64, std *float64, ok bool)) []series {
	var lines []series
	for _, name := range (&Report{Rows: rows}).methods() {
		s := series{method: name}
		sorted := slices.Clone(rows)
		slices.SortStableFunc(sorted, func(a, b Row) int {
			xa, _, _, _ := point(a)
			xb, _, _, _ := point(b)
			return cmp.Compare(xa, xb)
		})
		for _, row := range sorted {
			if x, y, std, ok := point(row); ok && row.Method == name {
				s.xs, s.mean, s.std = append(s.xs, x), append(s.mean, y), append(s.std, value(std))
			}
		}
		if len(s.xs) > 1 {
			lines = append(lines, s)
		}
	}
	return lines
}

// addLines draws every series as a line with points and error bars, over a pale grid.
func addLines(p *plot.Plot, lines []series, spread func(x float64, i int) float64) error {
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color, grid.Horizontal.Width = pale, 0.5
	p.Add(grid)
	for i, s := range lines {
		points := errorPoints{XYs: make(plotter.XYs, len(s.xs)), YErrors: make(plotter.YErrors, len(s.xs))}
		for n := range s.xs {
			points.XYs[n] = plotter.XY{X: spread(s.xs[n], i), Y: s.mean[n]}
			points.YErrors[n].Low, points.YErrors[n].High = s.std[n], s.std[n]
		}
		line, dots, err := plotter.NewLinePoints(points.XYs)
		if err != nil {
			return err
		}
		bars, err := plotter.NewYErrorBars(points)
		if err != nil {
			return err
		}
		line.Color, dots.Color, bars.Color = hue(i), hue(i), hue(i)
		line.Width, bars.Width, bars.CapWidth = 1.6, 1, 5
		dots.Shape, dots.Radius = draw.CircleGlyph{}, 2.6
		p.Add(line, bars, dots)
	}
	p.Y.Min, p.Y.Max = min(0, p.Y.Min), p.Y.Max+0.04*(p.Y.Max-p.Y.Min)
	if low := lowest(lines); low > 0.1 {
		p.Y.Min = low - 0.02 // losses far from zero: the differences matter, not the distance to zero
	}
	return nil
}

func lowest(lines []series) float64 {
	low := math.Inf(1)
	for _, s := range lines {
		for n := range s.mean {
			low = min(low, s.mean[n]-s.std[n])
		}
	}
	return low
}

type errorPoints struct {
	plotter.XYs
	plotter.YErrors
}

// mostSeries is the largest number of lines in a chart. More cannot be distinguished.
const mostSeries = 6

// mostImportant are at most mostSeries of the lines: policies and constants before oracles, and these before references,
// each in the order of tables. If it leaves some out, others is a sentence for the caption.
func mostImportant(lines []series) (kept []series, others string) {
	if len(lines) <= mostSeries {
		return lines, ""
	}
	rank := map[models.Role]int{models.RolePolicy: 0, models.RoleConstant: 0, models.RoleOracle: 1, models.RoleReference: 2}
	first := slices.Clone(lines)
	slices.SortStableFunc(first, func(a, b series) int {
		return cmp.Compare(rank[methods.Named(a.method).Role], rank[methods.Named(b.method).Role])
	})
	kept = lists.Keep(lines, func(s series) bool {
		return slices.ContainsFunc(first[:mostSeries], func(f series) bool { return f.method == s.method })
	})
	return kept, " The tables have the other methods."
}

// keysOf are the entries of the legend.
func keysOf(lines []series) (keys []key) {
	for i, s := range lines {
		keys = append(keys, key{s.method, hue(i)})
	}
	return keys
}

// drawCurve renders the plot with its legend below.
func drawCurve(name, caption string, p *plot.Plot, keys []key) (Figure, error) {
	const width, height = 6.6 * vg.Inch, 4.0 * vg.Inch
	legend := vg.Length(16 + 14*(len(keys)/6))
	return render(name, caption, width, height+legend, func(c draw.Canvas) {
		whole(c)
		p.Draw(draw.Crop(c, 8, -12, legend+8, -8))
		drawKeys(draw.Crop(c, 20, -20, 0, legend-(c.Max.Y-c.Min.Y)), keys)
	})
}

func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}
