package report

import (
	"cmp"
	"math"
	"slices"

	"pipe/internal/lists"
	"pipe/models"
	"pipe/pipeline/methods"
	"pipe/pipeline/report/figure"
)

// The file names of the curves.
const (
	excessName = "excess"
	lossName   = "loss"
)

// ExcessFigure is excess risk against the number of training rows with one standard deviation over seeds, one line per method
// with more than one size in the rows; nil if there is none.
func ExcessFigure(rows []Row) *figure.Figure {
	sizes := (&Report{Rows: rows}).sizes()
	lines, others := mostImportant(collect(rows, func(row Row) (figure.Point, bool) {
		if row.N == 0 || row.ExcessMean == nil {
			return figure.Point{}, false
		}
		return figure.Point{X: float64(row.N), Y: *row.ExcessMean, Along: spread(*row.ExcessMean, row.ExcessStd)}, true
	}))
	if len(lines) == 0 {
		return nil
	}
	for i := range lines { // a shift of a few percent keeps the intervals of methods with equal risk apart
		for n := range lines[i].Points {
			lines[i].Points[n].X *= math.Pow(1.035, float64(i)-float64(len(lines)-1)/2)
		}
	}
	return &figure.Figure{
		Name: excessName, Title: "Excess risk by number of training rows",
		About: "Lines that show how far each method's loss is above the smallest possible one, by the number of training rows.",
		Note:  "True loss minus the Bayes risk, the smallest possible one. Bars are one standard deviation over seeds." + others,
		Body: &figure.Plot{
			X: figure.Axis{Label: "training rows (log scale)", Log: true, At: lists.Each(sizes, func(n int) float64 { return float64(n) })},
			Y: figure.Axis{Label: "excess loss", Zero: true}, Series: lines,
		},
	}
}

// lossFigure is the mean cost against lambda, one line per method with more than one regime; nil if there is none. The regimes are
// equally spaced, because typical lists of lambdas are far from evenly spaced.
func lossFigure(rows []Row, ofRows string) *figure.Figure {
	lambdas := (&Report{Rows: rows}).Lambdas()
	lines, others := mostImportant(collect(rows, func(row Row) (figure.Point, bool) {
		if row.Lambda == nil {
			return figure.Point{}, false
		}
		return figure.Point{X: float64(slices.Index(lambdas, *row.Lambda)), Y: row.TrueLossMean, Along: spread(row.TrueLossMean, row.TrueLossStd)}, true
	}))
	if len(lines) == 0 {
		return nil
	}
	note := ofRows + "Task loss plus fees, mean per row."
	for i := range lines {
		for n := range lines[i].Points {
			lines[i].Points[n].X += 0.03 * (float64(i) - float64(len(lines)-1)/2)
		}
	}
	if slices.ContainsFunc(rows, func(row Row) bool { return row.TrueLossStd != nil }) {
		note += " Bars are one standard deviation over seeds."
	}
	return &figure.Figure{
		Name: lossName, Title: "Cost by lambda, the price of advice", About: "Lines that show the mean cost of each method at each lambda.", Note: note + others,
		Body: &figure.Plot{X: figure.Axis{Label: "lambda", Names: lambdaNames(lambdas)}, Y: figure.Axis{Label: "cost per row, in the unit of the loss"}, Series: lines},
	}
}

// lambdaNames are the lambdas as the names of places.
func lambdaNames(lambdas []float64) []string {
	return lists.Each(lambdas, func(l float64) string { return fixed(l, -1) })
}

// collect groups rows by method, keeps the methods with several points and sorts each by X.
func collect(rows []Row, point func(Row) (figure.Point, bool)) []figure.Series {
	var lines []figure.Series
	for _, name := range (&Report{Rows: rows}).methods() {
		s := figure.Series{Name: name, Joined: true}
		for _, row := range rows {
			if p, ok := point(row); ok && row.Method == name {
				s.Points = append(s.Points, p)
			}
		}
		slices.SortStableFunc(s.Points, func(a, b figure.Point) int { return cmp.Compare(a.X, b.X) })
		if len(s.Points) > 1 {
			lines = append(lines, s)
		}
	}
	return lines
}

// mostImportant are as many lines as a figure has: policies and constants before oracles, and these before references,
// each in the order of tables. If it leaves some out, others is a sentence for the note.
func mostImportant(lines []figure.Series) (kept []figure.Series, others string) {
	if len(lines) <= figure.Most {
		return lines, ""
	}
	rank := map[models.Role]int{models.RolePolicy: 0, models.RoleConstant: 0, models.RoleOracle: 1, models.RoleReference: 2}
	first := slices.Clone(lines)
	slices.SortStableFunc(first, func(a, b figure.Series) int {
		return cmp.Compare(rank[methods.Named(a.Name).Role], rank[methods.Named(b.Name).Role])
	})
	kept = lists.Keep(lines, func(s figure.Series) bool {
		return slices.ContainsFunc(first[:figure.Most], func(f figure.Series) bool { return f.Name == s.Name })
	})
	return kept, " The tables have the other methods."
}
