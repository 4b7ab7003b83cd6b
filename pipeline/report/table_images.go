package report

import "fmt"

// latencyTable has one line per pair whose time was measured.
func (r *Report) latencyTable() table {
	t := table{
		title: "Measured time", left: 2, head: []string{"expert", "advice", "ms per instance", "fee"},
		caption: "Measured once, before the costs were made; the fee is part of every cost of the pair.",
	}
	for _, l := range r.Latency {
		t.rows = append(t.rows, []string{l.Expert, l.Advice, fmt.Sprintf("%.2f", 1000*l.Seconds), fmt.Sprintf("%.4f", l.Fee)})
	}
	return t
}

// skippedTable lists the images that were left out.
func (r *Report) skippedTable() table {
	t := table{
		title: "Images left out", left: 2, head: []string{"image", "reason"},
		caption: fmt.Sprintf("%d in all; nothing above is about them.", len(r.Skipped)),
	}
	for _, b := range r.Skipped[:min(skippedShown, len(r.Skipped))] {
		t.rows = append(t.rows, []string{b.ID, b.Reason})
	}
	if more := len(r.Skipped) - skippedShown; more > 0 {
		t.rows = append(t.rows, []string{fmt.Sprintf("and %d more", more), "listed in report.json"})
	}
	return t
}

// skippedShown is how many images the table lists; the report's JSON has all.
const skippedShown = 50
