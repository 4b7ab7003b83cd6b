package decision

import (
	"fmt"
	"time"

	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/serve/policies"
)

// Inferred has the decisions of a policy on the tensors of an inference request. The client names the policy and the
// prices, and gets the choices of the policy: there are no canaries and no exploration.
type Inferred struct {
	Policy    *policies.Policy // leased until RecordInferred returns
	Decisions *policy.Decisions
	Features  []float32         // n x Dim; nil if they are not known, as behind an encoder that is part of the graph
	Prices    []*policy.Prices  // of the decisions: empty for those of the policy's file, one for all rows, or one per row
	Listed    bool              // the prices are those of the price file, not of tensors of the request
	Pricing   *policies.Pricing // the state of the price file; nil: the current one
	Request   string            // id of the request; empty: one is generated
	Client    string            // name of the caller's key
	Start     time.Time
	// Decode and Decide are how long it took to read the request, and to run the policy.
	Decode, Decide time.Duration
}

// ReadyToRecord returns an error that wraps [ErrNotLogged] if the log cannot be written and is configured to stop the
// service in that case.
func (d *Decider) ReadyToRecord() error {
	if d.log == nil {
		return nil
	}
	if err := d.log.Ready(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotLogged, err)
	}
	return nil
}

// RecordInferred counts decisions, adds their records to the log, and starts shadow policies, as [Result.Done] does. ids are
// the ids of the records, one per row; nil without a log. Errors wrap [ErrNotLogged].
func (d *Decider) RecordInferred(in Inferred) (ids []string, err error) {
	v, err := d.versions.of(in.Policy)
	if err != nil {
		return nil, err
	}
	request := Request{Source: SourceInfer, ID: in.Request, Client: in.Client, Decode: in.Decode, NoExplore: true, pricing: in.Pricing, tensorPrices: len(in.Prices) > 0 && !in.Listed}
	if request.pricing == nil {
		request.pricing = d.set.Pricing()
	}
	request.Inputs.Features = []float32{} // not nil, so that no time for encoding is counted
	if len(in.Prices) <= 1 {
		return d.recordInferred(in, request, v, in.Prices, 0, len(in.Decisions.Action))
	}
	for i := range in.Prices {
		id, err := d.recordInferred(in, request, v, in.Prices[i:i+1], i, 1)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id...)
	}
	return ids, nil
}

// recordInferred records n rows from first on, at the same prices.
func (d *Decider) recordInferred(in Inferred, request Request, v *version, prices []*policy.Prices, first, n int) (ids []string, err error) {
	at := in.Policy.Prices()
	if len(prices) > 0 {
		at = prices[0]
	}
	res := &Result{
		Policy: in.Policy, Prices: at, Decisions: in.Decisions.Rows(first, first+n), decider: d, request: request,
		used: used{policy: in.Policy, version: v, prices: at, requested: in.Policy.Name}, decided: in.Decide,
	}
	if dim := v.info.Dim; in.Features != nil {
		res.features = in.Features[first*dim : (first+n)*dim]
	}
	stages := decisionlog.Stages{Decode: in.Decode.Microseconds(), Decide: in.Decide.Microseconds()}
	if err := d.record(res, in.Start, stages); err != nil {
		return nil, err
	}
	res.count()
	if d.log != nil {
		ids = make([]string, n)
		for i, rec := range res.Records {
			ids[i] = rec.ID
		}
	}
	return ids, d.finish(res)
}
