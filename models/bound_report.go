package models

import (
	"fmt"
	"math"

	"pipe/models/network"
)

// BoundKind says which infimum a [BoundReport] subtracts from the surrogate risk.
type BoundKind string

const (
	// BoundConditional uses the known distribution: conditional mean weights and
	// costs for each x.
	BoundConditional BoundKind = "conditional"
	// BoundPerInstance uses realised weights with one infimum per instance. The
	// infimum of a mean is at least the mean of the infima, so the excess is
	// overstated and the bound is looser than the conditional one.
	BoundPerInstance BoundKind = "per-instance infima"
)

// BoundReport is the consistency bound of one policy over a set of instances.
// Risks and losses are means per instance, in the unit of the costs.
type BoundReport struct {
	Kind          BoundKind `json:"kind"`
	Tau           float64   `json:"tau"`
	Actions       int       `json:"actions"`
	WeightNorm    float64   `json:"weight_norm"`    // W, mean of the summed weights
	SurrogateRisk float64   `json:"surrogate_risk"` // mean conditional risk of the policy's scores
	SurrogateBest float64   `json:"surrogate_best"` // mean of its infima
	Excess        float64   `json:"surrogate_excess"`
	Bound         float64   `json:"bound"` // on the excess true loss
	TrueLoss      float64   `json:"true_loss"`
	TrueBest      float64   `json:"true_best"`
	TrueExcess    float64   `json:"true_excess"` // never above Bound for BoundConditional
}

// BoundProblem is the input of [ConsistencyBound]: n instances and a actions. Slices are row by row, one row per
// instance.
type BoundProblem struct {
	Kind BoundKind
	Tau  float64 // of the surrogate, at least 0
	// Costs are n x a: conditional mean costs (BoundConditional) or realised
	// ones (BoundPerInstance). +Inf or NaN marks an action that does not exist.
	Costs []float64
	// Largest is E[max_i c_i | x] per instance, for BoundConditional. The surrogate's weights are means of max - c_i,
	// and the mean of a maximum is not the maximum of the means. Nil means the largest entry of each row of Costs,
	// which is right if costs are known given x, and for BoundPerInstance.
	Largest []float64
	// Scores are n x a, higher is better; any offset per row is irrelevant.
	Scores  []float64
	Actions int // a
}

func (p BoundProblem) validate() (n int, err error) {
	if p.Actions < 1 || len(p.Costs) == 0 || len(p.Costs)%p.Actions != 0 {
		return 0, fmt.Errorf("consistency bound: %d costs over %d actions", len(p.Costs), p.Actions)
	}
	n = len(p.Costs) / p.Actions
	if len(p.Scores) != len(p.Costs) {
		return 0, fmt.Errorf("consistency bound: %d scores for %d costs", len(p.Scores), len(p.Costs))
	}
	if p.Largest != nil && len(p.Largest) != n {
		return 0, fmt.Errorf("consistency bound: %d expected maxima for %d instances", len(p.Largest), n)
	}
	if !(p.Tau >= 0) {
		return 0, fmt.Errorf("consistency bound: tau %v is negative", p.Tau)
	}
	return n, nil
}

// ConsistencyBound evaluates the bound of the theorem on the augmented surrogate in the paper "Consistent
// Learning-to-Defer with Expert-Conditional Advice", with the infimum over all measurable scores. The surrogate excess
// is the risk minus the best risk in the class plus the minimisability gap. That is the risk minus the mean of the
// pointwise infima, so no hypothesis class enters. The error names shapes that do not match or invalid numbers.
func ConsistencyBound(p BoundProblem) (BoundReport, error) {
	n, err := p.validate()
	if err != nil {
		return BoundReport{}, err
	}
	r := BoundReport{Kind: p.Kind, Tau: p.Tau}
	row := boundRow{}
	for at := range n {
		largest := math.NaN()
		if p.Largest != nil {
			largest = p.Largest[at]
		}
		if err := row.load(p.Costs[at*p.Actions:][:p.Actions], p.Scores[at*p.Actions:][:p.Actions], largest); err != nil {
			return BoundReport{}, fmt.Errorf("consistency bound: instance %d: %w", at, err)
		}
		row.add(&r, p.Tau)
	}
	r.finish(n)
	return r, nil
}

func (r *BoundReport) finish(n int) {
	for _, v := range []*float64{&r.WeightNorm, &r.SurrogateRisk, &r.SurrogateBest, &r.TrueLoss, &r.TrueBest} {
		*v /= float64(n)
	}
	r.Excess = math.Max(0, r.SurrogateRisk-r.SurrogateBest)
	r.TrueExcess = r.TrueLoss - r.TrueBest
	r.Bound = transfer(r.Tau, r.Actions, r.WeightNorm, r.Excess)
}

// boundRow is one instance without its missing actions.
type boundRow struct {
	costs, weights, logp, best []float64
}

func (b *boundRow) load(costs, scores []float64, largest float64) error {
	b.costs, b.logp = b.costs[:0], b.logp[:0]
	for i, c := range costs {
		if math.IsInf(c, 1) || math.IsNaN(c) {
			continue
		}
		b.costs, b.logp = append(b.costs, c), append(b.logp, scores[i])
	}
	if len(b.costs) == 0 {
		return fmt.Errorf("no available action")
	}
	most := math.Inf(-1)
	for _, c := range b.costs {
		most = math.Max(most, c)
	}
	if math.IsNaN(largest) {
		largest = most
	}
	if largest < most-1e-12 {
		return fmt.Errorf("expected maximum %v is below the mean cost %v", largest, most)
	}
	b.weights = b.weights[:0]
	for _, c := range b.costs {
		b.weights = append(b.weights, math.Max(0, largest-c))
	}
	return nil
}

func (b *boundRow) add(r *BoundReport, tau float64) {
	chosen, best := 0, 0
	for i := range b.costs {
		if b.logp[i] > b.logp[chosen] {
			chosen = i
		}
		if b.costs[i] < b.costs[best] {
			best = i
		}
		r.WeightNorm += b.weights[i]
	}
	r.TrueLoss += b.costs[chosen]
	r.TrueBest += b.costs[best]
	network.LogSoftmax(b.logp)
	r.SurrogateRisk += conditionalRisk(tau, b.weights, b.logp)
	b.best = append(b.best[:0], b.logp...)
	r.SurrogateBest += optimalProbabilities(b.best, tau, b.weights)
	r.Actions = max(r.Actions, len(b.costs))
}
