package fromlog

import (
	"context"
	"fmt"

	"pipe/costs"
	"pipe/pipeline/decisionlog"
)

// Visit gives take the decisions of a log with a known cost, all at one price list, and missing those that a pair answered
// and whose loss is not known. It leaves out what an export leaves out; the result counts it. Options of files are ignored.
func Visit(ctx context.Context, o Options, take func(Priced) error, missing func(decisionlog.Decision)) (*Result, error) {
	if err := o.checkSelection(); err != nil {
		return nil, err
	}
	log, err := decisionlog.Read(o.Log.String())
	if err != nil {
		return nil, err
	}
	list, err := o.priceList(ctx, log)
	if err != nil {
		return nil, err
	}
	if list == nil && o.Pairs != nil {
		return nil, o.noPairs(log)
	}
	o.missing = missing
	return o.pass(ctx, log, []consumer{&exports{options: o, list: list, to: []exporter{&visitor{visit: take}}}})
}

// noPairs is the error where no decision is of a policy with the wanted pairs.
func (o Options) noPairs(log *decisionlog.Log) error {
	for _, p := range log.Policies() {
		if err := o.Pairs.SameSet(p.Actions); err != nil {
			return &costs.DataError{File: o.Log.String(), Column: "policy", Msg: fmt.Sprintf("is %s@%s, which has other pairs", p.Name, p.Digest), Err: err}
		}
	}
	return &costs.DataError{File: o.Log.String(), Msg: "the log has no decisions of this time"}
}

// visitor counts what it passes on.
type visitor struct {
	visit func(Priced) error
	rows  int
}

func (v *visitor) take(d Priced) error {
	v.rows++
	return v.visit(d)
}

func (v *visitor) abort() {}

func (v *visitor) close(_ context.Context, r *Result) error {
	if r.Exported = v.rows; v.rows == 0 {
		return noOutcomes(r)
	}
	return nil
}
