package fromlog

import (
	"context"

	"pipe/costs"
	"pipe/pipeline/decisionlog"
)

// Decisions are the decisions of a log with a known loss, as a tensor in memory.
type Decisions struct {
	Tensor *costs.Tensor // a row per decision, with the loss of the pair that answered; others are unknown
	Greedy []int         // N, the pair that the policy alone would have chosen
	Result *Result       // what was read; it names no files
}

// Read reads a log as [Import] does for a partial tensor, with a row per decision whatever Options.Same is. It writes nothing, and does
// not use the options that name files. Errors are those of Import.
func Read(ctx context.Context, o Options) (*Decisions, error) {
	if err := o.checkSelection(); err != nil {
		return nil, err
	}
	log, err := decisionlog.Read(o.Log.String())
	if err != nil {
		return nil, err
	}
	o.Same = sameDecision
	rows := &decisions{tensors: newTensors(o)}
	r, err := o.pass(ctx, log, []consumer{rows})
	if err != nil {
		return nil, err
	}
	return &Decisions{rows.to, rows.greedy, r}, nil
}

// decisions is a consumer that keeps a row per decision.
type decisions struct {
	*tensors
	to     *costs.Tensor
	greedy []int
}

// close makes the tensor.
func (d *decisions) close(_ context.Context, r *Result) error {
	splits, groups, err := d.prepare(r)
	if err != nil {
		return err
	}
	d.to = d.table(r.Money)
	for n := range d.instances {
		d.add(d.to, n, splits[n], groups, r.Money)
		d.propensities(d.to, &d.instances[n].draw)
		d.greedy = append(d.greedy, d.instances[n].greedy)
	}
	if d.known.Known == 0 {
		d.to.Propensity = nil
	}
	dropUnknown(&d.to.Usage)
	r.Instances, r.Propensity = len(d.instances), &d.known
	return d.to.ValidatePartial()
}
