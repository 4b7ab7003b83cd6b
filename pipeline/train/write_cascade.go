package train

import (
	"context"
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/models"
	"pipe/models/cascade"
	"pipe/models/cascade/fit"
	"pipe/models/policy"
	"pipe/pipeline/calibrate"
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
	s.Auto.Seed, s.Auto.HalfLife, s.Auto.KeepEstimates = j.Seed, j.HalfLife, j.promises()
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
		played, err := cascade.Play(ctx, d, j.t, rows, nil)
		if err = errors.Join(err, d.Close()); err != nil {
			return line, err
		}
		s := cascade.Summarize(d.Info(), j.t, j.split, rows, played)
		line.TrueLoss = report.Num(s.TrueLoss)
		policy.Annotate(m, cascade.SummaryKey, stage.JSON(s))
	}
	if j.promises() {
		if m, line.Guarantee, err = calibrate.Policy(ctx, j.rt, m, j.t, j.split, j.Guarantee); err != nil {
			return line, err
		}
	}
	_, err = decide.WritePolicy(ctx, j.Out.Join(line.File), m)
	return line, err
}
