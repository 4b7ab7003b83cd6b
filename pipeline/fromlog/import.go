package fromlog

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/stage"
)

// consumer takes the decisions with known loss one after the other.
type consumer interface {
	take(d decisionlog.Decision) error
	close(ctx context.Context, r *Result) error // writes what it made
	abort()                                     // removes what is not complete; nothing after close
}

// Import reads a log and writes what the options ask for. Each file appears when it is complete.
func Import(ctx context.Context, o Options) (*Result, error) {
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	log, err := decisionlog.Read(o.Log.String())
	if err != nil {
		return nil, err
	}
	consumers, err := o.consumers(ctx, log)
	defer func() {
		for _, c := range consumers {
			c.abort()
		}
	}()
	if err != nil {
		return nil, err
	}
	return o.pass(ctx, log, consumers)
}

// pass gives the decisions of a log to consumers, and has them write what they made.
func (o Options) pass(ctx context.Context, log *decisionlog.Log, consumers []consumer) (*Result, error) {
	r := &Result{Format: 1, Log: o.Log.String()}
	var alone mixtures
	for d, err := range log.Decisions() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = o.take(d, r, &alone, consumers)
		}
		if err != nil {
			return nil, err
		}
	}
	r.Read, r.Unmixed = log.Counts(), alone.wrong()
	if len(r.Policies) == 0 {
		return nil, o.none(log, r)
	}
	for _, c := range consumers {
		if err := c.close(ctx, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (o Options) check(ctx context.Context) error {
	if err := o.checkSelection(); err != nil {
		return err
	}
	switch {
	case o.Out.IsZero() && o.Partial.IsZero() && o.DSJSON.IsZero() && o.OBP.IsZero():
		return bad("none of --out, --partial, --dsjson and --obp names a file to write")
	case o.Same != SameRequest && o.Same != SameFeatures:
		return bad("--same is %q; it is %s or %s", o.Same, SameRequest, SameFeatures)
	case !o.OBP.IsZero() && o.OBP.Ext() != ".npz" && o.OBP.Ext() != ".json":
		return bad("--obp is %q; it ends in .npz or .json", o.OBP)
	}
	var writes []stage.Output
	for _, file := range []storage.Location{o.Out, o.Partial, o.DSJSON, o.OBP} {
		if !file.IsZero() {
			writes = append(writes, stage.Output{Path: file})
		}
	}
	return stage.Files{Reads: []stage.Input{Input(o.Log)}, Writes: writes}.Check(ctx)
}

// Input is the folder of a log among what a stage reads.
func Input(log storage.Location) stage.Input {
	return stage.Input{Path: log, Part: stage.Ending(".parquet", ".jsonl", ".ids"), Grow: true, Big: true}
}

func bad(format string, args ...any) error {
	return &stage.OptionError{Err: fmt.Errorf(format, args...)}
}

// checkSelection checks which decisions are taken, and at which prices.
func (o Options) checkSelection() error {
	if !o.Until.IsZero() && !o.Since.Before(o.Until) {
		return bad("--until is %s; it has to be after --since, %s", o.Until.Format(time.RFC3339), o.Since.Format(time.RFC3339))
	}
	if _, err := costs.MoneyFor(nil, o.Money); err != nil {
		return bad("--money: %w", err)
	}
	return nil
}

func (o Options) consumers(ctx context.Context, log *decisionlog.Log) (list []consumer, err error) {
	for _, file := range []storage.Location{o.Out, o.Partial, o.DSJSON, o.OBP} {
		if !file.IsZero() {
			if err := atomicfile.MakeFolderAt(ctx, file); err != nil {
				return list, err
			}
		}
	}
	if !o.DSJSON.IsZero() || !o.OBP.IsZero() {
		to, err := o.exports(ctx, log)
		if err != nil {
			return list, err
		}
		list = append(list, to)
	}
	if !o.Out.IsZero() || !o.Partial.IsZero() { // the last, since a tensor may turn out to be empty
		list = append(list, newTensors(o))
	}
	return list, nil
}

// exports are the exports that the options ask for.
func (o Options) exports(ctx context.Context, log *decisionlog.Log) (*exports, error) {
	prices, err := o.priceList(ctx, log)
	if err != nil {
		return nil, err
	}
	e := &exports{options: o, list: prices}
	if !o.OBP.IsZero() {
		e.to = append(e.to, &obp{path: o.OBP})
	}
	if !o.DSJSON.IsZero() {
		file, err := newDSJSON(ctx, o.DSJSON)
		if err != nil {
			return nil, err
		}
		e.to = append(e.to, file)
	}
	return e, nil
}

// take passes a decision to the consumers if its loss is known and the options select its policy.
func (o Options) take(d decisionlog.Decision, r *Result, alone *mixtures, to []consumer) error {
	switch {
	case !o.wants(d):
		r.Other++
		return nil
	case !o.during(d):
		r.Outside++
		return nil
	}
	if name := d.Policy + "@" + d.Digest; !contains(r.Policies, name) {
		r.Policies = append(r.Policies, name)
	}
	_, known := d.Outcome.LossOf()
	switch {
	case d.IsFixed():
		r.Fixed++
		return nil
	case d.IsCascade(): // the answer was chosen among several, with a probability that depends on what they said
		r.Cascades++
		return nil
	case !known:
		r.NoOutcome++
		if o.missing != nil && !d.IsPanel() && !(d.Error != "" && d.Executed < 0) {
			o.missing(d)
		}
		return nil
	case d.Error != "" && d.Executed < 0:
		r.Unanswered++
		return nil
	}
	if o.Anew != nil {
		again, ok, err := o.Anew.again(d)
		if err != nil {
			return fmt.Errorf("decision log %q: decision %q: %w", o.Log, d.ID, err)
		}
		if !ok {
			r.WithoutText++
			return nil
		}
		d = again
	}
	if d.IsPanel() {
		r.Panel++
	} else if o.Policy == "" && (o.Fallbacks || !d.FellBack()) {
		alone.add(d.Record)
	}
	if o.Policy != "" { // of a part of the requests only, for which the propensities of the policy alone are right
		own := *d.Record
		own.Propensity, d.Record = d.Own(), &own
	}
	for _, c := range to {
		if err := c.take(d); err != nil {
			return fmt.Errorf("decision log %q: decision %q: %w", o.Log, d.ID, err)
		}
	}
	return nil
}

// contains searches from the end, where the policy of the last decision is.
func contains(list []string, s string) bool {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == s {
			return true
		}
	}
	return false
}

// none says why nothing could be taken.
func (o Options) none(log *decisionlog.Log, r *Result) error {
	var names []string
	for _, p := range log.Policies() {
		names = append(names, p.Name+"@"+p.Digest)
	}
	if r.Read.Records == 0 {
		return &costs.DataError{File: o.Log.String(), Msg: "the log has no decisions yet"}
	}
	if r.Outside > 0 {
		return &costs.DataError{File: o.Log.String(), Column: "time", Msg: fmt.Sprintf("none of the %d decisions is of the time that --since and --until ask for; pipe inspect prints the time of the log", r.Outside)}
	}
	return &costs.DataError{File: o.Log.String(), Msg: fmt.Sprintf("no decision is of the policy %q; the log has %s", o.Policy, strings.Join(names, ", "))}
}
