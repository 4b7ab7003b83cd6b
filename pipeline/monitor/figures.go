package monitor

import (
	"fmt"

	"pipe/pipeline/decisionlog"
	"pipe/pipeline/report/figure"
)

// figures are those for which there are figures.
func (s *Status) figures() (out []figure.Figure) {
	for _, f := range []*figure.Figure{s.Outcomes.figure(), s.Decisions.figure()} {
		if f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// figure is the mean outcome over time; nil if there are fewer than two blocks.
func (o *OutcomesStatus) figure() *figure.Figure {
	if len(o.Course) < 2 {
		return nil
	}
	s := figure.Series{Joined: true, Band: true, Name: "mean outcome"}
	for _, b := range o.Course {
		p := figure.Point{X: float64(b.Last), Y: b.Mean, About: fmt.Sprintf("%d outcomes up to number %d: mean %s", b.Outcomes, b.Last, decisionlog.Digits(b.Mean))}
		if b.Time != "" {
			p.About += ", " + b.Time
		}
		if b.Low != nil {
			p.Along = o.possible(b)
		}
		s.Points = append(s.Points, p)
	}
	plot := &figure.Plot{X: figure.Axis{Label: "number of the outcome"}, Y: figure.Axis{Label: "mean outcome: loss, with fees where they are measured"}, Series: []figure.Series{s}}
	note := fmt.Sprintf("%d outcomes, in blocks of %d. The band is the 95%% interval of a single block if outcomes are independent.", o.Known, o.Course[0].Outcomes)
	if a := o.Alarm; a != nil {
		plot.Lines = []figure.Line{{Name: "baseline", At: a.Baseline}, {Name: "level of the alarm", At: a.Level, Alert: true}}
		note += " The alarm is about all outcomes together: it may rise later than a block crosses its level, or earlier."
		if a.Risen > 0 {
			plot.Lines = append(plot.Lines, figure.Line{Name: "alarm", At: float64(a.Risen), Vertical: true, Alert: true})
		}
	}
	f := &figure.Figure{Name: "drift", Title: "Outcomes over time", Body: plot, Note: note, About: "A line of mean outcomes, block after block, beside the mean of the baseline and the level of the alarm."}
	return orNone(f)
}

// orNone is the figure, or nil if it shows nothing.
func orNone(f *figure.Figure) *figure.Figure {
	if !f.Shows() {
		return nil
	}
	return f
}

// possible is the interval of a block, without means that are not possible while all outcomes are in their range.
func (o *OutcomesStatus) possible(b BlockStatus) *figure.Interval {
	i := &figure.Interval{Low: *b.Low, High: *b.High}
	if o.Alarm != nil && o.Clipped == 0 {
		i.Low, i.High = max(i.Low, o.Alarm.Range[0]), min(i.High, o.Alarm.Range[1])
	}
	return i
}

// mostShares is how many pairs a figure has.
const mostShares = 16

// figure is how the share of every pair changed; nil if no decision was added.
func (d *DecisionsStatus) figure() *figure.Figure {
	if len(d.Pairs) < 2 || d.Verdict == Untested {
		return nil
	}
	rows := &figure.Rows{X: figure.Axis{Label: "share now minus share on the baseline", Format: figure.Whole}}
	for _, p := range d.Pairs[:min(len(d.Pairs), mostShares)] {
		colour := figure.Rest
		if p.Changed {
			colour = "warn"
		}
		rows.Lines = append(rows.Lines, figure.Row{Name: p.Pair, Mean: p.Now - p.Baseline, Across: &figure.Interval{Low: p.Low, High: p.High}, Colour: colour})
	}
	note := fmt.Sprintf("The %.4g%% intervals hold for all pairs together. Orange: the share changed.", 100*(1-d.Level))
	if n := len(d.Pairs) - len(rows.Lines); n > 0 {
		note += fmt.Sprintf(" The table has %d more pairs.", n)
	}
	return orNone(&figure.Figure{Name: "shares", Title: "Change of the share of every pair", Body: rows, Note: note, About: "A dot with its interval per pair: to the right of zero it is chosen more often than on the baseline."})
}
