package auto

import (
	"context"
	"fmt"

	"pipe/models"
	"pipe/models/estimate"
)

// blends are the blends of the members by every rule. They do not depend on prices.
type blends struct {
	*members
	t       *table
	weights [][]float64 // by rule and member
	held    [][]float32 // estimates by rule, held-out rows x pairs; nil until needed
	fitted  []*estimate.Blend
}

func newBlends(t *table, m *members) *blends {
	b := &blends{members: m, t: t, held: make([][]float32, len(rules)), fitted: make([]*estimate.Blend, len(rules))}
	if m == nil {
		return b
	}
	all, _ := m.moments(t)
	for _, r := range rules {
		b.weights = append(b.weights, r.weights(m.kinds, all))
	}
	return b
}

// estimates are those of the held-out rows by a rule.
func (b *blends) estimates(rule int) []float32 {
	if b.held[rule] == nil {
		b.held[rule] = blended(b.members.estimates, b.weights[rule])
	}
	return b.held[rule]
}

// fit is the blend of a rule, fitted on all training rows.
func (b *blends) fit(ctx context.Context, rule int, o models.Options) (estimate.Blend, error) {
	if b.fitted[rule] == nil {
		fitted, err := b.members.fit(ctx, b.t, fmt.Sprintf("blend-%d", rule), b.weights[rule], o)
		if err != nil {
			return estimate.Blend{}, err
		}
		b.fitted[rule] = &fitted
	}
	return *b.fitted[rule], nil
}
