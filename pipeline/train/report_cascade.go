package train

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"pipe/internal/safetext"
	"pipe/models/cascade"
	"pipe/models/cascade/fit"
)

// writeCascade writes what was found in the training of one cascade.
func writeCascade(b *strings.Builder, r fit.Report) {
	g, at, means := r.Guard, atPrice(r.Lambda, r.Prices), ""
	if g.Rows == 0 {
		fmt.Fprintf(b, "\ncascade at %s: the %d training rows are too few sets that belong together to hold some out for the guard: it accepts every first answer\n", at, r.Rows)
		return
	}
	if len(g.Prices) > 0 {
		means = fmt.Sprintf(" of every price, means over %d prices", len(g.Prices))
	}
	fmt.Fprintf(b, "\ncascade at %s: %.4f against %.4f of the policy that decides once and %.4f of the best fixed pair%s, on %d held-out rows; gain %.4f, one-sided %g%% lower bound %.4f: %s\n",
		at, g.Cascade, g.OneShot, g.Fixed, means, g.Rows, g.Gain, 100*g.Confidence, g.LowerBound,
		verdict(g))
	writeWorst(b, g.Prices)
	tab := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "pairs executed\trows %\tfees of the last of these, mean over all rows")
	for n, share := range g.Stages {
		fmt.Fprintf(tab, "%d\t%.1f\t%.4f\n", n+1, 100*share, g.Money[n])
	}
	_ = tab.Flush() // into memory
	if r.FirstOnly != nil {
		fmt.Fprintf(b, "executed only before any other, since the number of states is limited: %s\n", safetext.List(r.FirstOnly, safetext.Line))
	}
	if c := r.Calibration; c != nil {
		fmt.Fprintf(b, "calibration error of the expected losses of accepted answers %.4f\n", c.Error)
	}
}

// verdict says what the guard decided. A gain that is large enough on average says nothing of single prices.
func verdict(g cascade.Guard) string {
	if !g.Fallback {
		return "it is exported"
	}
	worse := 0
	for _, p := range g.Prices {
		if p.UpperBound < 0 {
			worse++
		}
	}
	if worse > 0 {
		return fmt.Sprintf("it accepts every first answer, because it is worse at %d of these prices", worse)
	}
	return "it accepts every first answer"
}
