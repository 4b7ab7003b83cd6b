package report

import (
	"fmt"
	"strconv"

	"pipe/internal/lists"
	"pipe/pipeline/report/figure"
)

// ends are the ends of an interval, nil if it is not known.
func ends(v *Interval) *figure.Interval {
	if v == nil {
		return nil
	}
	return &figure.Interval{Low: v.Low, High: v.High}
}

// spread is the interval of one standard deviation around a mean; nil if that is not known.
func spread(mean float64, std *float64) *figure.Interval {
	if std == nil {
		return nil
	}
	return &figure.Interval{Low: mean - *std, High: mean + *std}
}

// few are the first of some, as many as a figure has. If it leaves some out, others is a sentence that says where they are.
func few[T any](all []T, what string) (some []T, others string) {
	if len(all) <= figure.Most {
		return all, ""
	}
	return all[:figure.Most], fmt.Sprintf(" The table has %d more %s.", len(all)-figure.Most, what)
}

// ofRows begins a note with the number of reported rows, if it is known.
func (r *Report) ofRows() string {
	if n, err := strconv.Atoi(r.Settings["rows"]); err == nil && n > 0 {
		return fmt.Sprintf("%d rows. ", n)
	}
	return ""
}

// illustrate returns the figures for which one setting has data. They are left out if nothing is known that they would show.
func (r *Report) illustrate() []figure.Figure {
	drawn := []*figure.Figure{
		ExcessFigure(r.Rows), lossFigure(r.headline(), r.ofRows()), frontierFigure(r.Frontier, r.Constants, r.Money, r.ofRows()),
		calibrationFigure(r.Calibration), learningFigure(r.Learning),
	}
	for _, s := range r.Segments {
		drawn = append(drawn, segmentsFigure(s))
	}
	for _, method := range r.advising() {
		use := r.useOf(method)
		drawn = append(drawn, pairsFigure(use, r.ofRows()), flowFigure(use, r.ofRows()))
	}
	drawn = append(drawn, pairsFigure(r.acceptedUse(), ""))
	var out []figure.Figure
	for _, f := range lists.Keep(drawn, func(f *figure.Figure) bool { return f != nil }) {
		out = append(out, *f)
	}
	return out
}
