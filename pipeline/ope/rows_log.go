package ope

import (
	"context"
	"fmt"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/fromlog"
	"pipe/pipeline/stage"
)

// logReader makes rows of a decision log.
type logReader struct {
	rows  *rows
	fits  func(*decisionlog.PolicyInfo) string // why features of a policy are others than those of the policies in question; "": they fit
	about map[*decisionlog.PolicyInfo]string   // what it says of each
	named map[string]*costs.Actions            // of each, by name@digest

	mixed    []fromlog.Mixing          // of the rows
	missed   []*decisionlog.PolicyInfo // those that decided the missing ones
	canaries bool                      // some decision of an earlier version is of a canary
	options  *Options
	bar      stage.Progress
}

// readLog reads a decision log. infos are of the policy files in question, whose pairs count; without, those of the log's
// latest policy.
func readLog(ctx context.Context, o *Options, infos []*policy.Info, bar stage.Progress) (*rows, error) {
	l := &logReader{
		rows: &rows{file: o.Log.String(), timed: true}, about: map[*decisionlog.PolicyInfo]string{}, named: map[string]*costs.Actions{}, options: o, bar: bar,
		fits: func(p *decisionlog.PolicyInfo) string { return featuresOf(p, infos) },
	}
	var pairs *costs.Actions
	if len(infos) > 0 {
		pairs = infos[0].Actions
	}
	bar.Start(0, "decisions")
	defer bar.Done()
	result, err := fromlog.Visit(ctx, o.log(pairs), l.take, l.miss)
	if err != nil {
		return nil, err
	}
	l.leave(result)
	if l.rows.len() == 0 {
		return nil, &costs.DataError{File: l.rows.file, Msg: "no decision is left: " + l.rows.left.text()}
	}
	if a := l.named[result.Prices.Policy]; a != nil {
		l.rows.actions = a
	}
	l.rows.lambda = result.Prices.Lambda
	l.rows.prices = "those of " + result.Prices.Policy
	keep := make([]bool, len(l.missed))
	for i, p := range l.missed {
		keep[i] = l.rows.actions.SameSet(p.Actions) == nil
	}
	l.rows.missing = kept(l.rows.missing, keep, 1)
	l.rows.sort()
	return l.rows, nil
}

// featuresOf says why the features of a log's policy are none of the policies in question.
func featuresOf(p *decisionlog.PolicyInfo, infos []*policy.Info) string {
	for _, info := range infos {
		mine, theirs := info.Actions.Digests[costs.FeatureDigest], p.Actions.Digests[costs.FeatureDigest]
		names, logged := info.Shared()[costs.NamesKey], p.Meta[costs.NamesKey]
		switch {
		case p.Dim != 0 && p.Dim != info.Dim:
			return fmt.Sprintf("the decision has %d features, the policy takes %d", p.Dim, info.Dim)
		case mine != "" && theirs != "" && mine != theirs:
			return "the features were made in another way than those of the policy's training (another digest)"
		case names != "" && logged != "" && names != logged:
			return "the features have other names than those of the policy's training"
		}
	}
	return ""
}

// take adds a decision to the rows, or says why it is none.
func (l *logReader) take(d fromlog.Priced) error {
	if l.options.Only != nil && !l.options.Only(d.ID) {
		return nil
	}
	l.bar.Add(1)
	r := l.rows
	why, known := l.about[d.About]
	if !known {
		why = l.fits(d.About)
		l.about[d.About] = why
		l.named[d.Policy+"@"+d.Digest] = d.About.Actions
	}
	l.canaries = l.canaries || d.Canary && fromlog.MixingOf(d.Record) == fromlog.Unsaid
	if r.actions == nil && why == "" && d.Features != nil {
		r.actions, r.dim = d.About.Actions, len(d.Features)
	}
	switch {
	case why != "":
		r.left.add(1, "%s", why)
	case d.Features == nil:
		r.left.add(1, "the features are not in the log; it needs the setting features: full")
	case len(d.Features) != r.dim:
		r.left.add(1, "the decision has %d features, others have %d", len(d.Features), r.dim)
	case d.Outcome.Time < d.Time:
		r.left.add(1, "the outcome is from a time before the decision")
	default:
		l.add(d)
	}
	return nil
}

func (l *logReader) add(d fromlog.Priced) {
	r := l.rows
	r.id, r.time, r.user, r.loggers = append(r.id, d.ID), append(r.time, d.Time), append(r.user, d.User), append(r.loggers, d.Policy+"@"+d.Digest)
	r.users = r.users || d.User != ""
	r.features, r.executed = append(r.features, d.Features...), append(r.executed, d.Action)
	loss := d.Loss
	if d.FellBack() { // the cost is that of choosing the pair, fallback included
		loss = d.Cost - d.Fees[d.Action]
	}
	r.loss = append(r.loss, loss)
	r.logged, r.open = append(r.logged, d.Propensity...), append(r.open, d.Available...)
	r.keep, r.delay = append(r.keep, d.Keep), append(r.delay, float64(d.Outcome.Time-d.Time)/1e6)
	l.mixed = append(l.mixed, fromlog.MixingOf(d.Record))
}

// notes says what is wrong with the log besides single decisions.
func (l *logReader) notes(r *fromlog.Result) {
	for _, c := range []struct {
		n    int
		what string
	}{
		{r.Read.Conflicts, "outcomes contradict an earlier one of the same decision; the first holds"},
		{r.Read.OutOfRange, "outcomes have a score that is not from 0 to 1, or a loss beyond float32; they are not known"},
		{r.Read.Unmatched, "outcomes are of decisions that are not in the log"},
		{r.Read.Damaged, "lines are damaged, so their decisions or outcomes are lost"},
		{r.Read.Torn, "lines were left unfinished by a writer that was killed"},
		{r.Repriced, "decisions were made at other prices; their costs are at these"},
		{r.LogMoney, "measured fees are the money in the log; their tokens have no price there"},
	} {
		if c.n > 0 {
			l.rows.notes = append(l.rows.notes, fmt.Sprintf("%d %s.", c.n, c.what))
		}
	}
	if r.Prices.Without {
		l.rows.notes = append(l.rows.notes, "Costs lack the measured fees from which the policy learned.")
	}
}

// miss notes a decision without an outcome; those of policies with other pairs are left out later, when the pairs are known.
func (l *logReader) miss(d decisionlog.Decision) {
	l.rows.missing = append(l.rows.missing, d.Action)
	l.missed = append(l.missed, d.About)
}

// leave counts what the import left out, and leaves out decisions with the propensities of one policy alone.
func (l *logReader) leave(r *fromlog.Result) {
	left := &l.rows.left
	left.add(r.Outside, "of another time than --since and --until say")
	left.add(r.Fixed, "conversations on which no policy decided")
	left.add(r.Cascades, "decisions of cascades, whose answers were chosen after they were looked at: what other policies would have cost cannot be estimated from these")
	left.add(r.NoOutcome, "the loss is not known (yet)")
	left.add(r.Unanswered, "no pair answered")
	left.add(r.OtherPairs, "decided by a policy with other pairs: another deployment")
	left.add(r.ExportNoFee, "the measured fee is not known")
	if !l.options.Fallbacks {
		left.add(r.Fallbacks, "another pair answered than the drawn one (fallback); --fallbacks keeps them")
	}
	l.notes(r)
	l.rows.leaveOut("the probabilities are those of one policy alone, although a canary got a share of the requests", func(n int) bool {
		return l.mixed[n] == fromlog.Unmixed || l.canaries && l.mixed[n] == fromlog.Unsaid
	})
}
