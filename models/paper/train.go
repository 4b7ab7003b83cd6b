package paper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"pipe/costs"
	"pipe/models"
	"pipe/models/network"
	"pipe/models/policy"
)

// Name is the name of the recipe.
const Name = "paper"

// Train trains one method on the training rows of a tensor and returns a policy for every lambda and seed, with the
// seeds of one lambda together. A method without advice does not depend on lambda: it has one policy per seed, at
// lambda 0.
//
// lambdas multiply the fees of advice. A tensor that is not valid is an error of costs.Tensor.Validate. If there are no
// training rows, the error is a *costs.DataError. If the method cannot be trained for the actions, the error names the
// method. Other errors are those of models.Train.
func Train(ctx context.Context, t *costs.Tensor, m models.Method, lambdas []float64, s Settings, o models.Options) ([]*policy.Policy, error) {
	if err := errors.Join(s.Validate(), costs.CheckLambdas(lambdas)); err != nil {
		return nil, err
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	rows := t.Rows(costs.Train)
	if len(rows) == 0 {
		return nil, &costs.DataError{Column: "split", Msg: "there are no training rows"}
	}
	if err := m.Fits(t.Actions); err != nil {
		return nil, fmt.Errorf("method %s: %w", m.Name, err)
	}
	std := network.FitStandardizer(t.Features, t.Dim, rows)
	shared := s.Network
	shared.Surrogate, o.Surrogate = m.Surrogate.Name(), m.Surrogate
	if m.Head != "" {
		shared.Head = m.Head
	}
	specs := specsOf(t.Actions, m, lambdas, s)
	if o.Stage != nil {
		perEpoch := (len(rows) + shared.Batch - 1) / shared.Batch
		o.Stage(m.Name, perEpoch*shared.Epochs*len(specs))
	}
	trained, err := models.Train(ctx, models.CostProblem(t, rows, std), specs, shared, o)
	if err != nil {
		return nil, err
	}
	origin := policy.Origin(t)
	var out []*policy.Policy
	for _, tr := range trained {
		p := &policy.Policy{
			Actions: t.Actions, Method: m.Name, Recipe: Name, Lambda: tr.Spec.Lambda, Tau: tr.Spec.Tau, Decoder: m.Decoder(),
			Dim: t.Dim, Standard: std, Members: []network.MLP{tr.Network}, Info: infoOf(shared, tr.Spec),
		}
		maps.Copy(p.Info, origin)
		out = append(out, p)
	}
	return out, nil
}

// specsOf are the models of the method: one per lambda that it depends on, and per seed.
func specsOf(a *costs.Actions, m models.Method, lambdas []float64, s Settings) []models.Spec {
	rate := s.LearningRate
	if m.NoAdvice {
		lambdas, rate = []float64{0}, s.L2DRate
	}
	var out []models.Spec
	for _, l := range lambdas {
		for seed := range s.Seeds {
			out = append(out, models.Spec{
				Name: m.Name, Seed: s.Seed + uint64(seed), Lambda: l, LearningRate: rate,
				WeightDecay: s.WeightDecay, Tau: s.Tau, Dropout: s.Dropout, Mask: m.Mask(a),
			})
		}
	}
	return out
}

// infoOf is the metadata of a policy file about its training.
func infoOf(s models.Settings, spec models.Spec) map[string]string {
	settings, err := json.Marshal(struct {
		models.Settings
		models.Spec
	}{s, spec})
	if err != nil {
		panic(err) // plain numbers and strings
	}
	return map[string]string{policy.SeedKey: strconv.FormatUint(spec.Seed, 10), policy.SettingsKey: string(settings)}
}
