package train

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"pipe/costs"
	"pipe/internal/safetext"
	"pipe/models"
	"pipe/models/cascade"
	"pipe/models/cascade/fit"
	"pipe/models/policy"
	"pipe/pipeline/decide"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// trainedCascade is a cascade and what was found in its training.
type trainedCascade struct {
	policy *cascade.Policy
	report fit.Report
}

// cascades trains a cascade for every lambda, if there are to be any.
func (j job) cascades(ctx context.Context, save models.CheckpointPolicy, progress stage.Progress) (out []trainedCascade, err error) {
	if !j.Cascade || j.othersOnly {
		return nil, nil
	}
	if len(j.t.Facts) == 0 {
		return nil, &noFactsError{costs.DataError{Msg: "does not say what can be seen of answers, such as observed_label or observed_confidence: a cascade has nothing to look at"}}
	}
	s := fit.DefaultSettings()
	s.Auto, s.Stages = j.Auto, j.Stages
	s.Auto.Seed, s.Auto.HalfLife = j.Seed, j.HalfLife
	o := models.Options{Runtime: j.rt, Progress: func(n int) { progress.Add(int64(n)) }}
	for _, lambda := range j.Lambdas {
		o.Save = folder(save, fmt.Sprintf("%s-lambda%g", fit.Name, lambda))
		o.Stage = func(name string, steps int) {
			progress.Start(int64(steps), fmt.Sprintf("train cascade at lambda %g: %s", lambda, name))
		}
		p, r, err := fit.Train(ctx, j.t, lambda, s, o)
		if err != nil {
			return nil, err
		}
		if j.table != "" {
			p.Info[policy.TableKey] = j.table
		}
		out = append(out, trainedCascade{p, r})
	}
	progress.Done()
	return out, nil
}

// noFactsError means that a table has no facts of answers.
type noFactsError struct{ costs.DataError }

func (e *noFactsError) Unwrap() error { return &e.DataError }

// Hint says where they come from.
func (e *noFactsError) Hint() string { return (&cascade.MissingError{}).Hint() }

// line is the cascade in the report.
func (c trainedCascade) line() Policy {
	p := Policy{Method: fit.Name, Lambda: report.Num(c.policy.Lambda), OneShot: c.report.Guard.Fallback}
	p.File = policyName(p)
	return p
}

// writeCascade exports a cascade, plays the rows of the losses through it, and writes its file.
func (j job) writeCascade(ctx context.Context, c trainedCascade) (line Policy, err error) {
	line = c.line()
	m, err := c.policy.Export()
	if err != nil {
		return line, err
	}
	if rows := j.judging(); len(rows) > 0 {
		d, err := cascade.NewDecider(j.rt, m)
		if err != nil {
			return line, err
		}
		played, err := cascade.Play(ctx, d, j.t, rows, c.policy.Lambda)
		if err = errors.Join(err, d.Close()); err != nil {
			return line, err
		}
		s := cascade.Summarize(d.Info(), j.t, j.split, rows, played)
		line.TrueLoss = report.Num(s.TrueLoss)
		policy.Annotate(m, cascade.SummaryKey, stage.JSON(s))
	}
	_, err = decide.WritePolicy(ctx, j.Out.Join(line.File), m)
	return line, err
}

// writeCascade writes what was found in the training of one cascade.
func writeCascade(b *strings.Builder, r fit.Report) {
	g := r.Guard
	if g.Rows == 0 {
		fmt.Fprintf(b, "\ncascade at lambda %g: the %d training rows are too few sets that belong together to hold some out for the guard: it accepts every first answer\n", r.Lambda, r.Rows)
		return
	}
	fmt.Fprintf(b, "\ncascade at lambda %g: %.4f against %.4f of the policy that decides once and %.4f of the best fixed pair, on %d held-out rows; gain %.4f, one-sided %g%% lower bound %.4f: %s\n",
		r.Lambda, g.Cascade, g.OneShot, g.Fixed, g.Rows, g.Gain, 100*g.Confidence, g.LowerBound,
		map[bool]string{true: "it accepts every first answer", false: "it is exported"}[g.Fallback])
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
