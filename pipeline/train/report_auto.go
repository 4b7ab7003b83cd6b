package train

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"pipe/internal/safetext"
	"pipe/models/auto"
	"pipe/models/policy"
	"pipe/pipeline/report"
)

// writeAuto writes what the recipe auto found for one policy.
func writeAuto(b *strings.Builder, r auto.Report) {
	if r.HalfLife > 0 {
		fmt.Fprintf(b, "\na training row counts half at an age of %s, in learning and in judging\n", r.HalfLife)
	}
	switch {
	case r.Logged > 0:
		fmt.Fprintf(b, "\n%d outcomes of the training rows are unknown; %d rows with one outcome and known probabilities judge, and %d with all outcomes, of %d rows\n", r.Unknown, r.Logged, r.Complete, r.Rows)
	case r.Unknown > 0:
		fmt.Fprintf(b, "\n%d outcomes of the training rows are unknown; only the %d of %d rows with all outcomes judge\n", r.Unknown, r.Complete, r.Rows)
	}
	writeSupport(b, r.Support)
	g, at := r.Guard, atPrice(r.Lambda, r.Prices)
	if g.Rows == 0 {
		constant := "always " + safetext.Line(g.Fixed)
		if r.Prices != nil {
			constant = "the best fixed pair of every price"
		}
		if g.Deployed != "" {
			constant = "nothing"
		}
		fmt.Fprintf(b, "\n%s: all %d training rows belong together, so none could be held out for the guard: %s is exported\n", at, r.Rows, constant)
		return
	}
	against, stays := "always "+safetext.Line(g.Fixed), "the constant is exported"
	if g.Deployed != "" {
		against, stays = g.Against(), "the deployed policy stays, and nothing is exported"
	}
	if len(g.Prices) > 0 { // else all prices are the same, as where everything is free
		against = fmt.Sprintf("the best fixed pairs of %d prices", len(g.Prices))
	}
	fmt.Fprintf(b, "\n%s: learned %.4f against %.4f of %s on %d held-out rows%s; gain %.4f, one-sided %g%% lower bound %.4f: %s\n",
		at, g.Learned, g.FixedLoss, against, g.Rows, report.InSets(g), g.Gain, 100*g.Confidence, g.LowerBound,
		map[bool]string{true: stays, false: "the learned policy is exported"}[g.Fallback])
	if g.Fallback {
		_, reason := g.Verdict()
		fmt.Fprintf(b, "the reason: %s\n", safetext.Line(reason))
	} else if note := g.Note(); note != "" {
		fmt.Fprintf(b, "the gain is %s\n", note)
	}
	if l := g.Log; l != nil {
		if l.Unsupported > 0 {
			fmt.Fprintf(b, "on %d rows the log could not execute what the learned policy takes, or what it is compared with: losses there are only estimated, and no gain is shown\n", l.Unsupported)
		}
		fmt.Fprintf(b, "the log executed what the learned policy takes on %d of %d rows, which weigh as much as %.0f equal ones; the largest weight is %.1f, and %d are cut to the bound (--clip)\n", l.Same, l.Rows, l.Effective, l.LargestWeight, l.Clipped)
	}
	if w := r.Warm; w != nil {
		fmt.Fprintf(b, "the older policy on %d later rows: gain %.4f over the new one, %.4f over the best fixed pair; it is %s: %s\n",
			w.Rows, w.Gain, w.FixedGain, map[bool]string{true: "exported", false: "not used"}[w.Used], safetext.Line(w.Reason))
	}
	writeWorst(b, g.Prices)
	tab := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "candidate\tloss\tstandard error\tweight in the blend")
	line := func(m policy.Member, name, weight string) {
		if m.Weight == 0 {
			weight = "-"
		}
		fmt.Fprintf(tab, "%s\t%.4f\t%.4f\t%s\n", name, m.Loss, m.Error, weight)
	}
	for _, m := range r.Members {
		line(m, m.Name, fmt.Sprintf("%.2f", m.Weight))
	}
	for _, m := range r.Blends {
		line(m, "blend by "+m.Name, "chosen")
	}
	_ = tab.Flush() // into memory
	fmt.Fprintf(b, "margin of the gate %.4g", r.Margin)
	if c := r.Calibration; c != nil {
		fmt.Fprintf(b, "; calibration error of the expected losses %.4f (%.4f without the curve)", c.Error, c.Raw)
	}
	b.WriteString("\n")
}

// writeSupport names the pairs that a log executed too seldom.
func writeSupport(b *strings.Builder, of []policy.Support) {
	for _, s := range of {
		if s.Untried {
			fmt.Fprintf(b, "%s was executed on %d training rows, which are too few: no policy takes it (--support)\n", safetext.Line(s.Pair), s.Rows)
		}
	}
}

// write says which part of a log was learned from.
func (w *Window) write(b *strings.Builder) {
	if w == nil {
		return
	}
	fmt.Fprintf(b, "\nlearned from %d outcomes of %d decisions, %s to %s, %d of them with known probabilities; decided by %s\n",
		w.Outcomes, w.Decisions, w.First, w.Last, w.Known, safetext.List(w.Loggers, func(name string) string { return name }))
}

// atPrice names what something was trained for: a lambda, or a range of prices.
func atPrice(lambda float64, r *policy.PriceRange) string {
	if r == nil {
		return fmt.Sprintf("lambda %g", lambda)
	}
	return fmt.Sprintf("any price (lambda %g to %g, single fees times %g to %g)", r.Lambda[0], r.Lambda[1], r.Fee[0], r.Fee[1])
}

// writeWorst writes the price at which something for any price gains least, of those at which it was compared.
func writeWorst(b *strings.Builder, prices []policy.PriceGuard) {
	if len(prices) == 0 {
		return
	}
	p := slices.MinFunc(prices, func(a, b policy.PriceGuard) int { return cmp.Compare(a.Gain, b.Gain) })
	fmt.Fprintf(b, "smallest gain of a price: %.4f (95%% bounds %.4f and %.4f) at %s\n", p.Gain, p.LowerBound, p.UpperBound, safetext.Line(p.Name()))
}
