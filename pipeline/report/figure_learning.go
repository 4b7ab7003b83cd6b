package report

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"pipe/internal/lists"
	"pipe/pipeline/report/figure"
)

// The file names of these figures; those of segments begin with theirs.
const (
	learningName    = "learning"
	calibrationName = "calibration"
	segmentsName    = "segments"
)

// learningFigure is the cost on the reported rows against the number of training rows, one line per lambda, with a
// band for its interval; nil without learning curves.
func learningFigure(curves []Learning) *figure.Figure {
	shown, others := few(curves, "lambdas")
	if len(shown) == 0 {
		return nil
	}
	p := &figure.Plot{X: figure.Axis{Label: "training rows (log scale)", Log: true}, Y: figure.Axis{Label: "cost per row, in the unit of the loss"}}
	sizes := map[float64]bool{}
	for i, l := range shown {
		shift := math.Pow(1.03, float64(i)-float64(len(shown)-1)/2) // keeps the intervals of lambdas apart
		s := figure.Series{Name: "lambda " + fixed(l.Lambda, -1), Joined: true, Band: true}
		for _, at := range l.Points {
			s.Points = append(s.Points, figure.Point{X: shift * float64(at.Rows), Y: at.Cost.Mean, Along: ends(&at.Cost)})
			sizes[float64(at.Rows)] = true
		}
		p.Series = append(p.Series, s)
	}
	p.X.At = slices.Sorted(maps.Keys(sizes))
	return &figure.Figure{
		Name: learningName, Title: "Cost by number of training rows", Body: p,
		About: "Lines that show the mean cost of policies that learned from more and more training rows.",
		Note:  fmt.Sprintf("Means over %d reported rows, of policies that learned from some of the training rows. Bands or bars are 95%% intervals.%s", shown[0].Rows, others),
	}
}

// calibrationFigure is the mean observed loss of every bin against the mean expected one, one line per policy; nil if no policy
// expects losses.
func calibrationFigure(policies []Calibration) *figure.Figure {
	if !hasReliability(policies) {
		return nil
	}
	shown, others := few(differing(policies), "policies")
	p := &figure.Plot{X: figure.Axis{Label: "expected loss"}, Y: figure.Axis{Label: "mean observed loss"}, Diagonal: true}
	estimates := 0
	for _, c := range shown {
		s := figure.Series{Name: c.Policy, Joined: true}
		for _, b := range c.Bins {
			s.Points = append(s.Points, figure.Point{X: b.Estimate, Y: b.Loss})
		}
		if len(s.Points) > 0 {
			p.Series = append(p.Series, s)
			estimates = max(estimates, c.Estimates)
		}
	}
	return &figure.Figure{
		Name: calibrationName, Title: "Expected losses against those that came true", Body: p,
		About: "A line per policy. Where it is below the dashed diagonal, losses were smaller than the policy expected.",
		Note:  fmt.Sprintf("%d estimates, in bins of equal size; there are no intervals. On the dashed line both are equal.%s", estimates, others),
	}
}

// mostSegments is how many segments a figure has.
const mostSegments = 16

// segmentsFigure is what a policy saves in each segment: a dot with its interval per line, the largest effect at the
// top; nil without segments. Those that are wholly above or below 0 are in colour.
func segmentsFigure(s Segments) *figure.Figure {
	if len(s.Segments) == 0 {
		return nil
	}
	shown := s.Segments[:min(len(s.Segments), mostSegments)]
	note := fmt.Sprintf("%s against always %s, %d rows; the rows of each segment in brackets. The 95%% intervals hold for all segments together. "+
		"Green: it saves there. Orange: it costs more there. Grey: not certain.", s.Policy, s.Pair, s.Rows)
	if n := len(s.Segments) - len(shown); n > 0 {
		note += fmt.Sprintf(" The table has %d more.", n)
	}
	return &figure.Figure{
		Name: segmentsName + "_lambda" + fixed(s.Lambda, -1), Title: fmt.Sprintf("Saved per request by segment, lambda %s", fixed(s.Lambda, -1)), Note: note,
		About: "A dot with its interval per segment: to the right of zero the policy saves, to the left it costs more.",
		Body: &figure.Rows{X: figure.Axis{Label: "saved per request, in the unit of the loss"}, Lines: lists.Each(shown, func(g Segment) figure.Row {
			return figure.Row{Name: fmt.Sprintf("%s (%d)", g.label(), g.Rows), Mean: g.Mean, Across: ends(g.Saved), Colour: g.colour()}
		})},
	}
}

// label is the name of the segment in the figure: labels are often single digits.
func (g Segment) label() string {
	if g.By == ByLabel {
		return "label " + g.Name
	}
	return g.Name
}

func (g Segment) colour() string {
	switch g.Finding {
	case Helps:
		return "mark"
	case Harms:
		return "warn"
	}
	return figure.Rest
}
