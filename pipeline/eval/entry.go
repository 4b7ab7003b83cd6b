package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/auto"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/methods"
	"pipe/pipeline/replay"
	"pipe/pipeline/stage"
)

// entry is a policy in a report, with its decisions on the reported rows.
type entry struct {
	replay.Decisions
	prices *anyPrice // of an any-price policy, which has not decided yet; nil: Action has the decisions
}

// anyPrice is an any-price policy that decides the reported rows at the prices that are asked.
type anyPrice struct {
	decider *policy.Decider
	info    *policy.Info // of the file
	t       *costs.Tensor
	rows    []int
	usage   *policy.UsagePrices // of the tensor
}

// newAnyPrice is the entry in reports of an any-price policy that has not decided yet. It has its name in reports, and the
// fees of the tensor: true losses count these.
func newAnyPrice(d *policy.Decider, t *costs.Tensor, rows []int) (entry, error) {
	info := *d.Info()
	info.Method, info.Actions, info.Guard = methods.AnyPrice, t.Actions, nil
	usage, err := decide.UsageOf(d.Info(), t.Meta)
	return entry{replay.Decisions{Info: &info}, &anyPrice{d, d.Info(), t, rows, usage}}, err
}

// at are the decisions at the fees of a, with the lambda of the report.
func (p *anyPrice) at(ctx context.Context, l entry, a *costs.Actions, lambda float64) (entry, error) {
	out, err := replay.At(ctx, p.decider, p.info.PriceAt(a, lambda, p.usage), p.t, p.rows)
	if err != nil {
		return entry{}, fmt.Errorf("policy %q: %w", l.File, err)
	}
	info := *l.Info
	info.Lambda = lambda
	out.Info, out.File, out.Digest = &info, l.File, l.Digest
	return entry{Decisions: out}, nil
}

// openEntry opens a policy file that matches t. It decides the rows, unless it is an any-price policy, which decides at all
// prices of the report.
func openEntry(ctx context.Context, rt *ort.Runtime, file storage.Location, t *costs.Tensor, rows []int) (l entry, err error) {
	f, d, err := replay.OpenPolicy(ctx, rt, file, t)
	if err != nil {
		return entry{}, err
	}
	if d.Info().Prices == nil {
		l.Decisions, err = replay.AtOwnPrices(ctx, f, d, file, t, rows)
		return l, err
	}
	if l, err = newAnyPrice(d, t, rows); err == nil {
		err = l.Identify(f, file.String())
	}
	if err != nil {
		return entry{}, errors.Join(err, d.Close())
	}
	return l, nil
}

// newEntry is openEntry for a policy in memory.
func newEntry(ctx context.Context, rt *ort.Runtime, p *policy.Policy, t *costs.Tensor, rows []int) (l entry, err error) {
	if p.Estimate == nil || p.Estimate.Prices == nil {
		l.Decisions, err = replay.Exported(ctx, rt, p, t, rows)
		return l, err
	}
	m, err := p.Export()
	if err != nil {
		return entry{}, err
	}
	d, err := policy.NewDecider(rt, m)
	if err != nil {
		return entry{}, err
	}
	if l, err = newAnyPrice(d, t, rows); err != nil {
		return entry{}, errors.Join(err, d.Close())
	}
	return l, nil
}

// closeAll closes the policies that decide at many prices.
func closeAll(learned []entry) error {
	var errs []error
	for _, l := range learned {
		if l.prices != nil {
			errs = append(errs, l.prices.decider.Close())
		}
	}
	return errors.Join(errs...)
}

// once removes duplicate policies, which may have another file name or an encoder in front, and returns notes about
// them: a policy counted twice would look like two seeds that agree.
func once(learned []entry) (kept []entry, notes []string) {
	first := map[string]string{}
	for _, l := range learned {
		if file, seen := first[l.Digest]; seen {
			notes = append(notes, fmt.Sprintf("%s is the same policy as %s, and is counted once.", l.File, file))
			continue
		}
		first[l.Digest] = l.File
		kept = append(kept, l)
	}
	return kept, notes
}

// checkDecisions refuses decisions that are not those of a policy on the reported rows of t.
func checkDecisions(t *costs.Tensor, learned []replay.Decisions, split costs.Split) error {
	rows, actions := len(t.Rows(split)), t.Actions.Len()
	for i, l := range learned {
		switch {
		case l.Info == nil:
			return fmt.Errorf("decisions %d: they name no policy", i)
		case len(l.Action) != rows || len(l.Scores) != rows*actions:
			return fmt.Errorf("decisions %d: %d actions and %d scores, but split %s has %d rows and %d pairs",
				i, len(l.Action), len(l.Scores), split, rows, actions)
		case l.Loss != nil && len(l.Loss) != rows*actions:
			return fmt.Errorf("decisions %d: %d expected losses, but split %s has %d rows and %d pairs", i, len(l.Loss), split, rows, actions)
		}
		for n, a := range l.Action {
			if a < 0 || a >= actions || !t.Actions.Available(a) {
				return fmt.Errorf("decisions %d: row %d has the action %d, which does not exist", i, n, a)
			}
		}
	}
	return nil
}

// sameTraining refuses policies that would be treated as seeds of one method although they were trained on other data
// or with other settings, such as leftovers of an earlier run in the same folder.
func sameTraining(learned []entry) error {
	type key struct {
		method string
		lambda float64
	}
	first := map[key]entry{}
	for _, l := range learned {
		k := key{l.Info.Method, l.Info.Lambda}
		other, seen := first[k]
		if !seen {
			first[k] = l
			continue
		}
		if trainingOf(l) != trainingOf(other) {
			return &costs.DataError{File: l.File, Msg: fmt.Sprintf(
				"same method (%s) and lambda as %s, but another training: choose policies of one training, or train into an empty folder",
				l.Info.Method, other.File)}
		}
	}
	return nil
}

// trainingOf identifies what the seeds of one training share: data and settings. Recipe auto searches its settings
// again for every seed.
func trainingOf(l entry) string {
	if l.Info.Recipe == auto.Name {
		return l.Info.Info[policy.OriginKey]
	}
	var settings map[string]any
	if json.Unmarshal([]byte(l.Info.Info[policy.SettingsKey]), &settings) == nil {
		delete(settings, "seed")
	}
	return l.Info.Info[policy.OriginKey] + stage.JSON(settings)
}

// changedFees are the fees of a tensor that differ from those that the policy was trained with. Decisions in memory
// have no actions to compare.
func (l entry) changedFees(t *costs.Tensor) []costs.FeeChange {
	if l.Info.Actions == nil {
		return nil
	}
	return l.Info.Actions.ChangedFees(t.Actions)
}
