package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"pipe/costs"
	"pipe/models"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/pipeline/stage"
)

// paperMethod is a learned method of the paper recipe: what it changes in the
// shared settings.
type paperMethod struct {
	surrogate, head string // head empty: the configured one
	lambdas         bool   // depends on lambda
	advice          bool   // may buy advice
}

var paperMethods = map[string]paperMethod{
	"ours":              {"comp_sum", "", true, true},
	"l2d":               {"comp_sum", "linear", false, false},
	"separated":         {"separated", "linear", true, true},
	"separated_softmax": {"separated_softmax", "linear", true, true},
}

// fits says why the method cannot be trained for some actions, nil if it can.
func (m paperMethod) fits(a *costs.Actions) error {
	separated := strings.HasPrefix(m.surrogate, "separated")
	experts, advice := len(a.Experts), len(a.Advice)
	switch {
	case !m.advice && !anyWithoutAdvice(a):
		return errors.New("it chooses without advice, and no expert is available without")
	case separated && len(a.Unavailable) > 0:
		return errors.New("it scores every pair, and some are unavailable")
	case m.surrogate == "separated" && (experts != 2 || advice != 2):
		return fmt.Errorf("it is defined for 2 experts and 2 levels of advice, here are %d and %d; separated_softmax takes more", experts, advice)
	case separated && (experts < 2 || advice < 2):
		return fmt.Errorf("it needs 2 experts and 2 levels of advice or more, here are %d and %d", experts, advice)
	}
	return nil
}

func anyWithoutAdvice(a *costs.Actions) bool {
	mask := a.Mask()
	for j := range a.Experts {
		if mask[a.Index(j, 0)] {
			return true
		}
	}
	return false
}

// trainPaper trains one method with fixed settings: a policy per lambda and
// seed, the last epoch's weights. L2D does not depend on lambda and is trained
// once per seed.
func trainPaper(ctx context.Context, t *costs.Tensor, c TrainConfig, name string, o models.Options, progress stage.Progress) ([]*policy.Policy, error) {
	m := paperMethods[name]
	rows := t.Rows(costs.Train)
	std := network.FitStandardizer(t.Features, t.Dim, rows)
	s := c.Network
	s.Surrogate = m.surrogate
	if m.head != "" {
		s.Head = m.head
	}
	specs := m.specs(t.Actions, c, name)
	steps := (len(rows) + s.Batch - 1) / s.Batch * s.Epochs
	progress.Start(int64(steps*len(specs)), "train "+name)
	trained, err := models.Train(ctx, models.CostProblem(t, rows, std), specs, s, o)
	if err != nil {
		return nil, err
	}
	var out []*policy.Policy
	for _, tr := range trained {
		p := &policy.Policy{
			Actions: t.Actions, Method: name, Recipe: "paper", Lambda: tr.Spec.Lambda, Tau: tr.Spec.Tau, Decoder: tr.Decoder,
			Dim: t.Dim, Standard: std, Members: []network.MLP{tr.Network}, Info: paperInfo(s, tr.Spec),
		}
		if !m.advice {
			p.Decoder = policy.DecoderL2D
		}
		out = append(out, p)
	}
	return out, nil
}

// specs are the method's models: every lambda that it depends on, every seed.
func (m paperMethod) specs(a *costs.Actions, c TrainConfig, name string) []models.Spec {
	lambdas := c.Lambdas
	if !m.lambdas {
		lambdas = []float64{0}
	}
	var specs []models.Spec
	for _, l := range lambdas {
		for seed := range c.Seeds {
			spec := models.Spec{
				Name: name, Seed: c.Seed + uint64(seed), Lambda: l, LearningRate: c.LearningRate,
				WeightDecay: c.WeightDecay, Tau: c.Tau, Dropout: c.Dropout,
			}
			if !m.advice {
				spec.LearningRate, spec.Mask = c.L2DRate, withoutAdvice(a)
			}
			specs = append(specs, spec)
		}
	}
	return specs
}

// paperInfo is what a policy file says about its training.
func paperInfo(s models.Settings, spec models.Spec) map[string]string {
	settings := struct {
		models.Settings
		models.Spec
	}{s, spec}
	return map[string]string{"seed": strconv.FormatUint(spec.Seed, 10), "settings": stage.JSON(settings)}
}

// withoutAdvice allows the pairs (j, 0).
func withoutAdvice(a *costs.Actions) []bool {
	mask := make([]bool, a.Len())
	for j := range a.Experts {
		mask[a.Index(j, 0)] = true
	}
	return mask
}
