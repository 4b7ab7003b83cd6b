package ope

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/stage"
)

// candidate is a policy whose choices on the rows are wanted.
type candidate struct {
	name   string             // as a reader knows it
	logged bool               // it is the policy that made the log
	file   *decide.PolicyFile // nil: none
	pair   string             // EXPERT/ADVICE of a constant
	action []int              // per row; nil if logged; -1: no pair that it may choose was available
	digest string             // of a file
}

// openCandidate reads what a flag names.
func openCandidate(ctx context.Context, name string) (*candidate, error) {
	switch {
	case name == Logged:
		return &candidate{name: loggedName, logged: true}, nil
	case strings.HasPrefix(name, pairPrefix):
		pair := strings.TrimPrefix(name, pairPrefix)
		return &candidate{name: pair, pair: pair}, nil
	}
	at, err := storage.Parse(name)
	if err != nil {
		return nil, err
	}
	f, err := decide.ReadPolicy(ctx, at)
	if err != nil {
		return nil, err
	}
	digest, err := f.Digest()
	return &candidate{name: at.Base(), file: f, digest: digest}, err
}

// infos are those of the policy files among candidates, which must have the same pairs.
func infos(all ...*candidate) (list []*policy.Info, err error) {
	for _, c := range all {
		if c.file != nil {
			list = append(list, c.file.Info)
		}
	}
	if len(list) == 2 {
		if err := list[0].Actions.SameSet(list[1].Actions); err != nil {
			return nil, &costs.DataError{Msg: "the two policies have other pairs", Err: err}
		}
	}
	return list, nil
}

// anyPrice reports whether prices are inputs of the policy.
func (c *candidate) anyPrice() bool { return c.file != nil && c.file.Info.Prices != nil }

// priceAll sets the prices of the rows, and returns those at which each candidate decides. An any-price policy decides at
// those of the rows, or as changed; other policies at their own.
func priceAll(r *rows, change policy.PriceChange, all ...*candidate) ([]*policy.Prices, error) {
	out := make([]*policy.Prices, len(all))
	ofTensor := r.meta != nil // whose lambda is chosen for each run
	plain := (change.Lambda == nil || ofTensor) && len(change.Fees) == 0
	var changed *policy.Prices
	for i, c := range all {
		if !c.anyPrice() {
			continue
		}
		usage, err := decide.UsageOf(c.file.Info, r.meta)
		if err != nil {
			return nil, err
		}
		p := c.file.Info.PriceAt(r.actions, r.lambda, usage)
		if !plain {
			if p, err = c.file.Info.Price(policy.PriceChange{Lambda: change.Lambda, Fees: change.Fees}); err != nil {
				return nil, &stage.OptionError{Err: fmt.Errorf("policy %q: %w", c.name, err)}
			}
			changed = p
		}
		out[i] = p
	}
	if !plain && changed == nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("--lambda and --fee need an any-price policy: %w", policy.ErrFixedPrices)}
	}
	if changed != nil {
		r.actions, r.lambda, r.prices = changed.In(r.actions), changed.Lambda, "as --lambda and --fee say"
	}
	return out, nil
}

// decideRows has a candidate decide every row among the pairs that were available on it, without those that are excluded.
func (c *candidate) decideRows(ctx context.Context, rt *ort.Runtime, r *rows, at *policy.Prices, without []policy.Part, bar stage.Progress) error {
	allowed, err := policy.Without(r.actions, without)
	if err != nil {
		return &stage.OptionError{Err: err}
	}
	switch {
	case c.logged:
		return nil
	case c.file == nil:
		return c.constant(r, allowed)
	}
	d, err := c.file.Open(rt)
	if err != nil {
		return err
	}
	err = c.run(ctx, d, r, at, allowed, bar)
	if err = errors.Join(err, d.Close()); err != nil {
		return fmt.Errorf("policy %q: %w", c.name, err)
	}
	return nil
}

// constant chooses one pair where it is available.
func (c *candidate) constant(r *rows, allowed []bool) error {
	pair := slices.Index(r.actions.Names(), c.pair)
	if pair < 0 {
		return &stage.OptionError{Err: fmt.Errorf("there is no pair %q; the log has %s", c.pair, strings.Join(r.actions.Names(), ", "))}
	}
	if !allowed[pair] {
		return &stage.OptionError{Err: fmt.Errorf("the pair %q is unavailable, or --without excludes it", c.pair)}
	}
	for n := range r.len() {
		choice := pair
		if !r.may(n)[pair] {
			choice = -1
		}
		c.action = append(c.action, choice)
	}
	return nil
}

// run decides in batches.
func (c *candidate) run(ctx context.Context, d *policy.Decider, r *rows, at *policy.Prices, allowed []bool, bar stage.Progress) error {
	const batch = 4096
	bar.Start(int64(r.len()), "decisions of "+c.name)
	defer bar.Done()
	for first := 0; first < r.len(); first += batch {
		n := min(batch, r.len()-first)
		features := r.features[first*r.dim : (first+n)*r.dim]
		var out *policy.Decisions
		var err error
		if at != nil {
			out, err = d.DecideAt(ctx, at, features, n)
		} else {
			out, err = d.Decide(ctx, features, n)
		}
		if row, ok := errors.AsType[*policy.RowError](err); ok {
			err = &costs.DataError{File: r.file, Msg: fmt.Sprintf("decision %q", r.id[first+row.Row]), Err: row.Err}
		}
		if err != nil {
			return err
		}
		for i := range n {
			c.action = append(c.action, choiceOf(out.Rows(i, i+1), r.may(first+i), allowed))
		}
		bar.Add(int64(n))
	}
	return nil
}

// choiceOf is the choice of a row among the pairs that are both available and allowed; -1: there is none.
func choiceOf(d *policy.Decisions, may, allowed []bool) int {
	mask := make([]bool, len(may))
	for i := range mask {
		mask[i] = may[i] && allowed[i]
	}
	if choice := int(d.Action[0]); mask[choice] {
		return choice
	}
	if d.Masked(mask) != nil {
		return -1
	}
	return int(d.Action[0])
}

// learned says how many of the rows a policy may have been trained on.
func (c *candidate) learned(r *rows) []string {
	if c.file == nil || !r.timed {
		return nil
	}
	until, told := c.file.Info.Until()
	early := 0
	for _, at := range r.time {
		if at <= until {
			early++
		}
	}
	if !told || early == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s was trained on rows up to %s, and %d of these rows are not later: if it learned from them, the estimates flatter it. --since takes later ones.", c.name, costs.TimeText(until), early)}
}
