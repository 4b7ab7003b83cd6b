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
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// trainedCascade is a cascade and what was found in its training.
type trainedCascade struct {
	policy *cascade.Policy
	report fit.Report
}

// cascades trains a cascade for every lambda, or one for any price, if there are to be any.
func (j job) cascades(ctx context.Context, save models.CheckpointPolicy, progress stage.Progress) (out []trainedCascade, err error) {
	if !j.Cascade || j.othersOnly {
		return nil, nil
	}
	s := fit.DefaultSettings()
	s.Auto, s.Stages = j.Auto, j.Stages
	s.Auto.Seed, s.Auto.HalfLife, s.Auto.KeepEstimates = j.Seed, j.HalfLife, j.promises()
	// train trains one cascade, which is named for its prices.
	train := func(name, at string, run func(o models.Options) (*cascade.Policy, fit.Report, error)) error {
		o := models.Options{Runtime: j.rt, Progress: func(n int) { progress.Add(int64(n)) }, Save: folder(save, fit.Name+name)}
		o.Stage = func(name string, steps int) {
			progress.Start(int64(steps), fmt.Sprintf("train cascade at %s: %s", at, name))
		}
		p, r, err := run(o)
		if err != nil {
			return err
		}
		if j.table != "" {
			p.Info[policy.TableKey] = j.table
		}
		out = append(out, trainedCascade{p, r})
		return nil
	}
	if j.AnyPrice {
		if j.t.Fee != nil {
			progress.Note("measured fees are part of the losses of the cascade, so prices of tokens cannot be changed")
		}
		err = train("-any-price", "any price", func(o models.Options) (*cascade.Policy, fit.Report, error) {
			return fit.TrainAnyPrice(ctx, j.t, j.Prices, s, o)
		})
	} else {
		for _, lambda := range j.Lambdas {
			at := fmt.Sprintf("lambda %g", lambda)
			err = train(fmt.Sprintf("-lambda%g", lambda), at, func(o models.Options) (*cascade.Policy, fit.Report, error) {
				return fit.Train(ctx, j.t, lambda, s, o)
			})
			if err != nil {
				break
			}
		}
	}
	progress.Done()
	return out, err
}

// noFactsError means that a table has no facts of answers.
type noFactsError struct{ costs.DataError }

func (e *noFactsError) Unwrap() error { return &e.DataError }

// checkFacts reports a table in which a cascade would have nothing to look at.
func (j job) checkFacts() error {
	if !j.Cascade || j.othersOnly || len(j.t.Facts) > 0 {
		return nil
	}
	return &noFactsError{costs.DataError{Msg: "does not say what can be seen of answers, such as observed_label or observed_confidence: a cascade has nothing to look at"}}
}

// Hint says where they come from.
func (e *noFactsError) Hint() string { return (&cascade.MissingError{}).Hint() }

// line is the cascade in the report.
func (c trainedCascade) line() Policy {
	p := Policy{Method: fit.Name, Prices: c.policy.Prices, OneShot: c.report.Guard.Fallback}
	if p.Prices == nil {
		p.Lambda = report.Num(c.policy.Lambda)
	}
	p.File = policyName(p)
	return p
}

// makeCascade exports a cascade, and plays the rows of the losses through it.
func (j job) makeCascade(ctx context.Context, c trainedCascade) (made, error) {
	line := c.line()
	m, err := c.policy.Export()
	if err != nil {
		return made{}, err
	}
	if rows := j.judging(); len(rows) > 0 {
		d, err := cascade.NewDecider(j.rt, m)
		if err != nil {
			return made{}, err
		}
		played, err := cascade.Play(ctx, d, j.t, rows, nil)
		if err = errors.Join(err, d.Close()); err != nil {
			return made{}, err
		}
		s := cascade.Summarize(d.Info(), j.t, j.split, rows, played)
		line.TrueLoss = report.Num(s.TrueLoss)
		policy.Annotate(m, cascade.SummaryKey, stage.JSON(s))
	}
	if j.promises() {
		m, err = j.promise(ctx, m, &line)
	}
	return made{line, m}, err
}
