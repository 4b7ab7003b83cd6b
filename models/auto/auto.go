package auto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"pipe/costs"
	"pipe/models"
	"pipe/models/policy"
)

// Report is the result of the recipe for one lambda. Losses are mean costs per row, in the unit of the task loss.
type Report struct {
	Lambda    float64      `json:"lambda"`
	Rows      int          `json:"rows"`     // training rows
	Clusters  int          `json:"clusters"` // sets of rows that belong together; Rows if none repeat
	Folds     int          `json:"folds"`    // 1: one inner split; 0: nothing could be held out, and there is no choice
	Chosen    Candidate    `json:"chosen"`
	Epochs    int          `json:"epochs"`     // at which the chosen candidate stops
	InnerLoss float64      `json:"inner_loss"` // of the chosen candidate at that epoch, on the held-out rows
	Guard     policy.Guard `json:"guard"`
}

// Train learns one policy per lambda on the training rows of a tensor, without choices by the user. lambdas multiply
// the fees of advice. Policies and reports are in their order:
//
//   - a small grid is trained in lockstep on parts of the training rows, and its
//     true loss is measured on the held-out rows (folds if rows are few, else
//     one inner split);
//   - the best candidate and stopping epoch are refitted on all training rows
//     with several seeds, averaged in log-probability;
//   - the guard estimates the gain of that procedure over the best fixed pair:
//     for each block of held-out rows the choice is made on the other blocks,
//     and the averaged policy decides the block. If the one-sided lower bound
//     of the gain is not positive, the policy is the fixed pair.
//
// Rows that belong together ([costs.Tensor.Clusters]) are on one side of every split, and count as one sample for the
// bound. If there are fewer clusters than folds, there are as many folds as clusters. If all rows are one cluster,
// nothing can be held out, and the policies are the fixed pairs.
//
// A tensor that is not valid is an error of costs.Tensor.Validate. If there are too few training rows, the error is a
// *costs.DataError; other errors are those of models.Train.
func Train(ctx context.Context, t *costs.Tensor, lambdas []float64, s Settings, o models.Options) ([]*policy.Policy, []Report, error) {
	if err := errors.Join(s.Validate(), costs.CheckLambdas(lambdas)); err != nil {
		return nil, nil, err
	}
	if err := t.Validate(); err != nil {
		return nil, nil, err
	}
	rows := t.Rows(costs.Train)
	if len(rows) < 2*s.Folds {
		return nil, nil, &costs.DataError{Column: "split", Msg: fmt.Sprintf("there are %d training rows, %d folds need at least %d", len(rows), s.Folds, 2*s.Folds)}
	}
	a := newAuto(t, rows, lambdas, s, o)
	policies, reports, err := a.run(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("auto: %w", err)
	}
	origin := policy.Origin(t)
	for i, p := range policies {
		p.Info = reports[i].info(s)
		maps.Copy(p.Info, origin)
	}
	return policies, reports, nil
}

// run searches, evaluates and refits.
func (a *auto) run(ctx context.Context) ([]*policy.Policy, []Report, error) {
	if a.parts == nil {
		policies, reports := a.constants()
		return policies, reports, nil
	}
	found, err := a.search(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("search: %w", err)
	}
	chosen := a.choose(found)
	guards, err := a.guard(ctx, found)
	if err != nil {
		return nil, nil, fmt.Errorf("guard: %w", err)
	}
	policies, err := a.refit(ctx, chosen)
	if err != nil {
		return nil, nil, fmt.Errorf("refit: %w", err)
	}
	reports := make([]Report, len(a.lambdas))
	for l, lambda := range a.lambdas {
		c := chosen[l]
		reports[l] = Report{
			Lambda: lambda, Rows: a.train.Len(), Clusters: a.clusters.Len(), Folds: len(a.parts), Chosen: a.s.Grid[c.candidate],
			Epochs: a.stops[c.stop], InnerLoss: c.loss, Guard: guards[l],
		}
		policies[l].Tau = reports[l].Chosen.Tau
		if guards[l].Fallback {
			policies[l] = a.fixedPolicy(l)
		}
	}
	return policies, reports, nil
}

// constants are the fixed pairs, for the case that no row can be held out.
func (a *auto) constants() (policies []*policy.Policy, reports []Report) {
	for l, lambda := range a.lambdas {
		p := a.fixedPolicy(l)
		policies = append(policies, p)
		reports = append(reports, Report{
			Lambda: lambda, Rows: a.train.Len(), Clusters: a.clusters.Len(),
			Guard: policy.Guard{Fixed: a.full.Actions.Name(p.Fixed), Confidence: a.s.Confidence, Fallback: true},
		})
	}
	return policies, reports
}

// info is the metadata of a policy file about its training.
func (r Report) info(s Settings) map[string]string {
	settings, err := json.Marshal(struct {
		Candidate
		Epochs int    `json:"epochs"`
		Folds  int    `json:"folds"`
		Seeds  int    `json:"seeds"`
		Seed   uint64 `json:"seed"` // the first
	}{r.Chosen, r.Epochs, r.Folds, s.Seeds, s.Seed})
	if err != nil {
		panic(err) // plain numbers
	}
	return map[string]string{policy.GuardKey: r.Guard.JSON(), policy.SettingsKey: string(settings)}
}
