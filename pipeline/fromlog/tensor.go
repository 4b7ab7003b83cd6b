package fromlog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"pipe/costs"
	"pipe/internal/hint"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// tensors collects instances: decisions with the same features, and as the options say of the same request. It holds all of
// them in memory.
type tensors struct {
	options   Options
	actions   *costs.Actions // of the latest version of the policy
	dim       int
	place     map[string]int // of an instance, by its key
	instances []instance
	averaged  int
	known     Propensities // of the instances of the partial tensor
	canaries  bool         // some decision of an earlier version is of a canary

	about       *decisionlog.PolicyInfo // of the latest decision
	meta        map[string]string       // what the policy has in common with its tensor
	meter       *meter                  // nil: no fees are measured
	otherPrices int                     // fees of other prices than those of the meter
}

// instance is a row of a tensor.
type instance struct {
	id       string
	user     string
	time     int64
	features []float32
	sum      []float64 // A
	count    []int     // A
	money    []float64 // A, of the calls whose money is known
	paid     []int     // A, how many these are
	used     []usage   // A, of all calls; NaN where it is not known of one
	draw     draw
	greedy   int // the pair that the policy alone would have chosen, of the first decision
}

func newTensors(o Options) *tensors {
	t := &tensors{options: o, place: map[string]int{}}
	if o.Money != "" && !o.NoFees { // also where no policy says how fees are measured
		t.meter = &meter{text: "{}"}
	}
	return t
}

func (t *tensors) abort() {}

// take adds the outcome of a decision to its instance.
func (t *tensors) take(d decisionlog.Decision) error {
	if err := t.version(d); err != nil {
		return err
	}
	if d.Features == nil {
		return &costs.DataError{Column: "features", Msg: "are not in the log; a cost tensor needs the setting features: full"}
	}
	if t.dim == 0 {
		t.dim = len(d.Features)
	}
	if len(d.Features) != t.dim {
		return &costs.DataError{Column: "features", Msg: fmt.Sprintf("are %d, and %d in earlier decisions; choose one version by --policy NAME@DIGEST", len(d.Features), t.dim)}
	}
	at := t.instance(d)
	pair := d.Answered()
	at.draw.add(d, t.options.Policy != "")
	t.canaries = t.canaries || d.Canary && MixingOf(d.Record) == Unsaid
	loss, _ := d.Outcome.LossOf()
	if at.count[pair] > 0 {
		t.averaged++
	}
	at.sum[pair] += loss
	at.count[pair]++
	if t.meter != nil {
		t.pay(at, pair, d)
	}
	return nil
}

// version checks the pairs of a decision's policy against those so far. Fees may change: the latest hold.
func (t *tensors) version(d decisionlog.Decision) error {
	if d.About == t.about {
		return nil
	}
	if t.actions != nil {
		if err := t.actions.SameSet(d.About.Actions); err != nil {
			return &costs.DataError{Column: "policy", Msg: fmt.Sprintf("is %s, with other pairs than earlier decisions; choose one by --policy NAME@DIGEST", d.Policy), Err: err}
		}
	}
	t.actions, t.about = d.About.Actions, d.About
	return t.share(d.About)
}

func (t *tensors) instance(d decisionlog.Decision) *instance {
	key := t.key(d)
	i, ok := t.place[key]
	if !ok {
		a := t.actions.Len()
		i = len(t.instances)
		t.place[key] = i
		t.instances = append(t.instances, instance{
			id: d.ID, user: d.User, time: d.Time, features: d.Features, sum: make([]float64, a), count: make([]int, a),
			money: make([]float64, a), paid: make([]int, a), used: make([]usage, a), greedy: d.Greedy,
		})
	}
	return &t.instances[i]
}

// key is what the decisions of an instance have in common.
func (t *tensors) key(d decisionlog.Decision) string {
	features := decisionlog.FeaturesDigest(d.Features)
	alone := features + "decision " + d.ID
	switch {
	case t.options.Same == SameFeatures:
		return features
	case d.Request == "": // unknown: a request of one decision
		return alone
	}
	key := features + d.Request
	if _, taken := t.place[key]; taken && t.options.Same == sameDecision && !d.IsPanel() { // a panel joins the decision on its request
		return alone
	}
	return key
}

// close divides the instances into complete and partial ones and writes both.
func (t *tensors) close(ctx context.Context, r *Result) error {
	splits, groups, err := t.prepare(r)
	if err != nil {
		return err
	}
	complete, rest := t.table(r.Money), t.table(r.Money)
	mask := t.actions.Mask()
	for n := range t.instances {
		to := complete
		for i, ok := range mask {
			if ok && t.instances[n].count[i] == 0 {
				to = rest
			}
		}
		t.add(to, n, splits[n], groups, r.Money)
		if to == rest {
			t.propensities(rest, &t.instances[n].draw)
		}
	}
	r.Instances, r.Complete, r.Averaged = len(t.instances), complete.Len(), t.averaged
	var full, part error
	r.Tensor, full = t.write(ctx, t.options.Out, complete, "no instance has the outcome of every pair", r)
	if t.known.Known == 0 {
		rest.Propensity = nil
	}
	r.Partial, part = t.write(ctx, t.options.Partial, rest, "every instance has the outcome of every pair", r)
	if r.Partial != "" {
		r.Propensity = &t.known
	}
	return errors.Join(full, part)
}

// prepare returns the split of every instance that has an outcome, and the groups.
func (t *tensors) prepare(r *Result) (splits []costs.Split, groups []string, err error) {
	if t.actions == nil {
		return nil, nil, r.noLoss()
	}
	if err := t.settle(r); err != nil {
		return nil, nil, err
	}
	if err := t.forget(r); err != nil {
		return nil, nil, err
	}
	return t.draw()
}

// table is a tensor without rows. What the policy's training read made neither the outcomes nor the rows of a log: only the
// digest of what makes the features is kept.
func (t *tensors) table(money *costs.Money) *costs.Tensor {
	actions := *t.actions
	actions.Digests = nil
	if d, ok := t.actions.Digests[costs.FeatureDigest]; ok {
		actions.Digests = map[string]string{costs.FeatureDigest: d}
	}
	if t.options.Anew != nil {
		actions = t.options.Anew.actions(actions)
	}
	return &costs.Tensor{Actions: &actions, Dim: t.dim, Meta: t.header(money)}
}

// draw returns the split of every instance, and their groups if there are users: rows of one user belong together.
func (t *tensors) draw() (splits []costs.Split, groups []string, err error) {
	ids := make([]string, len(t.instances))
	users := false
	for n, at := range t.instances {
		ids[n] = at.id
		users = users || at.user != ""
	}
	if users {
		groups = make([]string, len(ids))
		for n, at := range t.instances {
			groups[n] = at.user
			if at.user == "" {
				groups[n] = "decision " + at.id
			}
		}
	}
	draw := costs.SplitDraw{Kind: costs.SplitHash, Validation: t.options.Validation, Test: t.options.Test, Seed: t.options.Seed, Partial: true}
	if err := draw.Validate(); err != nil {
		return nil, nil, err
	}
	splits, err = draw.Draw(ids, nil, groups)
	return splits, groups, err
}

// add appends an instance to a tensor.
func (t *tensors) add(to *costs.Tensor, n int, split costs.Split, groups []string, money *costs.Money) {
	at := &t.instances[n]
	to.IDs, to.Splits, to.Times = append(to.IDs, at.id), append(to.Splits, split), append(to.Times, at.time)
	if groups != nil {
		to.Groups = append(to.Groups, groups[n])
	}
	to.Features = append(to.Features, at.features...)
	for i, count := range at.count {
		loss := float32(math.NaN())
		if count > 0 {
			loss = float32(at.sum[i] / float64(count))
		}
		to.Loss = append(to.Loss, loss)
		if t.meter != nil {
			to.Fee = append(to.Fee, at.fee(i, money))
			at.addUsage(to, i)
		}
	}
}

// write writes a tensor and returns its digest; nothing without a path. A tensor without rows is an error if nothing else is
// written, and else a remark in the result.
func (t *tensors) write(ctx context.Context, path storage.Location, rows *costs.Tensor, none string, r *Result) (string, error) {
	switch {
	case path.IsZero():
		return "", nil
	case rows.Len() == 0 && t.alone():
		text := "leave --partial out"
		if path == t.options.Out {
			text = "--partial writes the instances with unknown outcomes; docs/log.md states how every pair is recorded"
		}
		return "", hint.With(&costs.DataError{File: t.options.Log.String(), Msg: none}, text)
	case rows.Len() == 0:
		if _, err := path.Stat(ctx); err == nil { // readers would take it for the result of this import
			return "", &costs.DataError{File: path.String(), Msg: "is of an earlier import and is out of date: " + none + "; remove it"}
		}
		r.NotWritten = append(r.NotWritten, Empty{path.String(), none})
		return "", nil
	}
	dropUnknown(&rows.Usage)
	if err := costs.Write(ctx, path, rows); err != nil {
		if data, ok := errors.AsType[*costs.DataError](err); ok && strings.Contains(data.Column, "loss") {
			return "", fmt.Errorf("an outcome cannot be in a tensor: %w", err)
		}
		return "", err
	}
	return rows.Digest(), nil
}

// alone reports whether one tensor is all that was asked for.
func (t *tensors) alone() bool {
	o := t.options
	return o.DSJSON.IsZero() && o.OBP.IsZero() && (o.Out.IsZero() || o.Partial.IsZero())
}
