package dashboard

import (
	"fmt"
	"strconv"

	"pipe/pipeline/report/figure"
)

// trafficChart has a bar per span for served, refused and failed requests, and a mark for decisions.
func trafficChart(t *TrafficState, minutes int, note string) *figure.Figure {
	perSecond := func(n int64, b Bar) float64 {
		if b.Seconds <= 0 {
			return 0
		}
		return float64(n) / b.Seconds
	}
	s := &figure.Stack{
		X: figure.Axis{Label: "minutes ago", Names: make([]string, len(t.Bars))}, Y: figure.Axis{Label: "per second"}, Low: true,
		Keys: []figure.Key{{Name: "served", Colour: "mark"}, {Name: "refused", Colour: "keep"}, {Name: "failed", Colour: "warn"}}, Mark: "decisions",
	}
	most := 0.0
	for _, b := range t.Bars {
		served, refused, failed := perSecond(b.Requests-b.Failed-b.Refused, b), perSecond(b.Refused, b), perSecond(b.Failed, b)
		s.Bars = append(s.Bars, figure.Bar{
			Parts: []float64{served, refused, failed}, Mark: perSecond(b.Decisions, b),
			About: fmt.Sprintf("per second: served %s, refused %s, failed %s, decisions %s", rate(served), rate(refused), rate(failed), rate(perSecond(b.Decisions, b))),
		})
		most = max(most, perSecond(max(b.Requests, b.Decisions), b))
	}
	for i := range 4 { // the ends of spans that are a third of the whole apart
		if at := i * len(t.Bars) / 3; len(t.Bars) >= 3 {
			s.X.Names[max(0, at-1)] = strconv.FormatFloat(float64(minutes)*float64(3-i)/3, 'g', 3, 64)
		}
	}
	return &figure.Figure{
		Name: "traffic", Title: "Requests and decisions per second", Body: s, Note: note,
		About: fmt.Sprintf("Requests and decisions per second over the last %d minutes, at most %s.", minutes, rate(most)),
	}
}
