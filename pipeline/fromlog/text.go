package fromlog

import (
	"io"
	"strings"

	"pipe/internal/safetext"
)

// WriteText writes the result for a terminal.
func (r *Result) WriteText(w io.Writer) error {
	b := safetext.Titled(r.Log, "decision log")
	b.Add("decisions", "%d", r.Read.Records)
	b.Add("segments", "%d", r.Read.Segments)
	b.Add("outcomes", "%d", r.Read.Outcomes)
	b.Add("policies", "%s", strings.Join(r.Policies, ", "))
	count(b, "left out", "%d decisions of other policies", r.Other)
	count(b, "left out", "%d decisions of other times", r.Outside)
	count(b, "left out", "%d conversations without a text or picture, on which no policy decided", r.Fixed)
	count(b, "left out", "%d decisions of cascades, whose answers were chosen after they were looked at: nothing can be estimated from these", r.Cascades)
	count(b, "panel", "%d answers of panels, which are in tensors and not in exports", r.Panel)
	count(b, "left out", "%d decisions whose loss is not known", r.NoOutcome)
	count(b, "left out", "%d decisions that no pair answered", r.Unanswered)
	count(b, "torn", "%d lines that a killed writer left unfinished", r.Read.Torn)
	count(b, "damaged", "%d lines whose checksum does not fit", r.Read.Damaged)
	count(b, "unmatched", "%d outcomes whose decision is not in the log", r.Read.Unmatched)
	count(b, "conflicts", "%d outcomes that contradict an earlier one of the same decision", r.Read.Conflicts)
	count(b, "replaced", "%d outcomes in whose place a later one of the same decision holds", r.Read.Replaced)
	count(b, "repeated", "%d decisions and outcomes that stand in the log again, and count once", r.Read.Repeated)
	count(b, "out of range", "%d outcomes with a score that is not from 0 to 1, or a loss beyond float32, which are left out", r.Read.OutOfRange)
	count(b, "left out", "%d outcomes whose fee is not known, so that their cost is not known", r.NoFee)
	if r.Measured {
		b.Add("fees", "measured; a loss of 1 is worth %g %s", r.Money.PerLoss, r.Money.Currency)
	}
	if r.Instances > 0 {
		b.Add("instances", "%d, %d of them with the outcome of every pair", r.Instances, r.Complete)
	}
	count(b, "averaged", "%d outcomes of a pair that the instance had already; the mean counts", r.Averaged)
	if r.Tensor != "" {
		b.Add("digest", "%s", r.Tensor)
	}
	if r.Partial != "" {
		b.Add("partial digest", "%s", r.Partial)
	}
	r.Propensity.write(b)
	for _, e := range r.NotWritten {
		b.Add("not written", "%s: %s", e.File, e.Reason)
	}
	count(b, "exported", "%d decisions with outcomes", r.Exported)
	if r.Prices != nil {
		r.exportText(b)
	}
	return b.WriteText(w)
}

// count adds a number that is not 0.
func count(b *safetext.Fields, name, format string, n int) {
	if n > 0 {
		b.Add(name, format, n)
	}
}

// exportText says what the exports have, at which prices.
func (r *Result) exportText(b *safetext.Fields) {
	fees := "without measured fees"
	switch {
	case r.Prices.Measured:
		fees = "and measured fees"
	case r.Prices.Without:
		fees = "without the measured fees from which the policy learned"
	}
	b.Add("prices", "all costs of the exports are at those of %s, with lambda %g, %s", r.Prices.Policy, r.Prices.Lambda, fees)
	count(b, "repriced", "%d decisions were made at other prices; their costs are at these", r.Repriced)
	count(b, "not exported", "%d decisions of policies with other pairs, which have no fees there; --policy chooses one policy", r.OtherPairs)
	count(b, "not exported", "%d decisions whose measured fee is not known, so that their cost is not known", r.ExportNoFee)
	count(b, "money", "%d measured fees are the money in the log; their tokens have no price there", r.LogMoney)
	count(b, "fallbacks", "%d decisions that another pair answered than the chosen one; the exports have them only with --fallbacks", r.Fallbacks)
	count(b, "not mixtures", "%d decisions have the probabilities of one policy alone, although a canary got a share of the requests: estimates from all together are wrong; --policy chooses one", r.Unmixed)
}

// write says how many instances have propensities.
func (p *Propensities) write(b *safetext.Fields) {
	if p == nil {
		return
	}
	b.Add("propensities", "of %d instances that are one decision", p.Known)
	for _, c := range []struct {
		n   int
		why string
	}{
		{p.Joined, "several decisions"},
		{p.Fallbacks, "another pair answered than the drawn one"},
		{p.Unmixed, "the log has the probabilities of one policy alone, although a canary got a share of the requests"},
	} {
		if c.n > 0 {
			b.Add("", "not known of %d: %s", c.n, c.why)
		}
	}
}
