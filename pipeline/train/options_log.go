package train

import (
	"context"
	"errors"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/auto"
	"pipe/models/policy"
	"pipe/pipeline/fromlog"
	"pipe/pipeline/stage"
)

// Window says which part of a decision log was learned from.
type Window struct {
	First     string   `json:"first"`     // time of the first decision with an outcome, in RFC 3339
	Last      string   `json:"last"`      // and of the last one
	Decisions int      `json:"decisions"` // in the span of time, of the policies that were asked for
	Outcomes  int      `json:"outcomes"`  // of these, with a known outcome: the rows of the tensor
	Known     int      `json:"known"`     // of these, with known probabilities
	Loggers   []string `json:"loggers"`   // policies that decided, NAME@DIGEST
}

// checkLog reports settings that do not go with a log.
func (o Options) checkLog() error {
	switch {
	case o.Log.Log.IsZero():
		return nil
	case !o.Tensor.IsZero():
		return errors.New("log: a cost tensor is given too; one of the two is learned from")
	case o.Recipe != auto.Name:
		return errors.New("log: only the recipe auto learns from a log, in which the outcome of one pair is known on each row")
	case !o.PriceFile.IsZero():
		return errors.New("log: fees of a log are those that were paid; pipe import --log and then --in take other prices")
	}
	return nil
}

// readLog makes the tensor of the job of its log.
func (j *job) readLog(ctx context.Context) error {
	d, err := fromlog.Read(ctx, j.Log)
	if err != nil {
		return err
	}
	return j.take(d)
}

// take makes the tensor of the job of decisions of its log.
func (j *job) take(d *fromlog.Decisions) error {
	if t := d.Tensor; t.Propensity == nil && len(t.CompleteRows(t.Rows(costs.Train))) == 0 { // complete rows, as of a panel, judge without
		return &costs.DataError{File: j.Log.Log.String(), Column: "propensity", Msg: "is not known of any decision, so nothing can be judged: another pair answered than the drawn one, or the log has the probabilities of one policy alone although a canary got a share of the requests"}
	}
	j.t, j.greedy, j.window = d.Tensor, d.Greedy, windowOf(d)
	return nil
}

func windowOf(d *fromlog.Decisions) *Window {
	first, last, _ := d.Tensor.TimeSpan() // every decision has a time
	r := d.Result
	return &Window{
		First: costs.TimeText(first), Last: costs.TimeText(last), Decisions: d.Tensor.Len() + r.NoOutcome + r.Unanswered + r.NoFee, Outcomes: d.Tensor.Len(),
		Known: r.Propensity.Known, Loggers: r.Policies,
	}
}

// about adds what was learned from to the metadata of a policy.
func (j job) about(p *policy.Policy) {
	if j.table != "" {
		p.Info[policy.TableKey] = j.table
	}
	if j.window != nil {
		p.Info[policy.LogKey] = stage.JSON(j.window)
	}
}

// checkDeployed reports a deployed policy that the recipe cannot compare with.
func (o Options) checkDeployed() error {
	if !o.Deployed.IsZero() && (o.Recipe != auto.Name || o.AnyPrice) {
		return errors.New("deployed: only policies of the recipe auto for one lambda are compared with a deployed one; an any-price policy is compared with the best fixed pair of every price")
	}
	if !o.Deployed.IsZero() && !o.Warm.IsZero() {
		return errors.New("deployed and warm: one of them is possible: both are older policies, and the deployed one stays unless the new one is better")
	}
	return nil
}

// source is the file of a tensor, or the folder of a log.
func (o Options) source() storage.Location {
	if !o.Log.Log.IsZero() {
		return o.Log.Log
	}
	return o.Tensor
}
