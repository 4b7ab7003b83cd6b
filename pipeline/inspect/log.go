package inspect

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// logExplanation describes a decision log.
type logExplanation struct {
	Format int    `json:"format"`
	Kind   string `json:"kind"`
	File   string `json:"file"`
	*decisionlog.Summary
}

func explainLog(ctx context.Context, at storage.Location, _ Options) (Explanation, error) {
	path, err := at.Fetch(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	s, err := decisionlog.Summarize(path)
	if err != nil {
		return nil, err
	}
	return &logExplanation{Format: 1, Kind: "decision log", File: at.String(), Summary: s}, nil
}

// WriteText writes the explanation for a terminal.
func (e *logExplanation) WriteText(w io.Writer) error {
	b := safetext.Titled(filepath.Clean(e.File), "decision log")
	b.Add("decisions", "%d", e.Read.Records)
	b.Add("segments", "%d", e.Read.Segments)
	if e.First != "" {
		b.Add("time", "%s to %s", e.First, e.Last)
	}
	b.Add("outcomes", "%d", e.Read.Outcomes)
	count(b, "unmatched", "%d outcomes whose decision is not in the log: lost in a crash, or removed", e.Read.Unmatched)
	count(b, "conflicts", "%d outcomes that contradict an earlier one of the same decision", e.Read.Conflicts)
	count(b, "replaced", "%d outcomes in whose place a later one of the same decision holds", e.Read.Replaced)
	count(b, "repeated", "%d decisions and outcomes that stand in the log again, and count once", e.Read.Repeated)
	count(b, "out of range", "%d outcomes with a score that is not from 0 to 1, or a loss beyond float32, which are left out", e.Read.OutOfRange)
	count(b, "torn", "%d lines that a killed writer left unfinished, or that are being written", e.Read.Torn)
	count(b, "damaged", "%d lines whose checksum does not fit", e.Read.Damaged)
	for _, p := range e.Policies {
		writePolicy(b, p)
	}
	return b.WriteText(w)
}

func count(b *safetext.Fields, name, format string, n int) {
	if n > 0 {
		b.Add(name, format, n)
	}
}

// saving is a saving in words, with the rows that it leaves out; empty if it is not known.
func saving(against string, m decisionlog.WeightedMean, lacks int) string {
	text := safetext.After("against "+against+" ", m.Text())
	if text != "" && lacks > 0 {
		text += fmt.Sprintf("; without the %d rows for which that pair was not available", lacks)
	}
	return text
}

func writePolicy(b *safetext.Fields, p *decisionlog.PolicySummary) {
	b.Add("policy", "%s, %s", p.Name, p.Digest)
	b.Add("  decisions", "%d", p.Records)
	count(b, "  cascades", "%d decisions that looked at answers; figures of losses and costs leave them out", p.Cascades)
	count(b, "  asked", "%d pairs for these, or more where their callers execute the pairs", p.Asked)
	count(b, "  without the policy", "%d conversations besides, without a text or picture that it could see; one pair answered all", p.Fixed)
	count(b, "  panel", "%d answers besides, in the background, which no caller saw", p.Panel)
	count(b, "  canary", "%d", p.Canary)
	if p.Keep < 1 {
		b.Add("  sampled", "records are kept with probability %v; means are corrected for it", p.Keep)
	}
	for _, pair := range p.Pairs {
		b.Add("  "+pair.Pair, "%.1f%%, probability %.4f%s", 100*pair.Share, pair.Probability, safetext.After(", measured loss ", pair.Loss.Text()))
	}
	if p.Explores {
		b.Add("  exploration", "%d decisions differ from the policy's own; the lowest probability of an available pair is %.4g", p.Explored, p.Least)
	} else {
		b.Add("  exploration", "none: other policies cannot be valued on these decisions")
	}
	b.Add("  expected cost", "%s", p.Expected.Text())
	if p.MeasuredFees {
		b.Add("  measured fees", "are part of what is expected and not of outcomes: measured costs and savings are not known")
	}
	b.Add("  measured cost", "%s%s", p.Measured.Text(), safetext.After("; expected of the same rows ", p.Believed.Text()))
	b.Add("  expected saving", "%s", saving(p.BestFixed, p.Saving, p.SavingLacks))
	b.Add("  measured saving", "%s", saving(p.BestFixed, p.Proven, p.ProvenLacks))
	b.Add("  measured fee", "%s", p.Money.Text())
	b.Add("  outcomes", "%d, %d of them with a loss", p.Outcomes, p.Losses)
	count(b, "  pair fees", "%d decisions with fees of pairs, which their costs include", p.PairFees)
	count(b, "  errors", "%d", p.Errors)
	count(b, "  fallbacks", "%d decisions were answered by another pair", p.Fallbacks)
	count(b, "  guarded", "%d decisions by the best fixed pair of the guard", p.Guarded)
	for _, s := range p.Shadows {
		b.Add("  shadow", "%s, %s: agrees on %d of %d rows", s.Policy, s.Digest, s.Agrees, s.Rows)
	}
}
