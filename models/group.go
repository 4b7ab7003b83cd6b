package models

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	// groupBytes bounds a group's parameters and moments so that the optimiser works in cache. It was measured on the
	// FEVER shape, where 36 models in one group take a quarter more time per model than 4.
	groupBytes = 4 << 20
	// groupModels bounds a group's activations in the same way.
	groupModels = 16
)

// group is a set of models that advance in one session.
type group struct {
	index    int
	plan     stepPlan
	settings Settings
	members  []int     // indices into the specs of Train
	rows     [][]int32 // per model
	perEpoch int       // steps of an epoch
}

// kind has the properties that models must share to advance in lockstep.
type kind struct {
	perEpoch      int
	drops, decays bool
	tau           int // below 1 gradients are scaled, at 1 the surrogate is one operator
}

// planGroups divides the specs into groups. It depends only on its arguments, so a resumed run has the same groups.
func planGroups(p *Problem, specs []Spec, s Settings, sur Surrogate, embed bool) ([]*group, error) {
	net, err := newScorer(p, s, sur)
	if err != nil {
		return nil, err
	}
	plan := stepPlan{net: net, surrogate: sur, problem: p, batch: s.Batch, clip: s.Clip, tauMoves: s.TauWarmup > 0, embed: embed}
	order, members := kinds(p, specs, s)
	var groups []*group
	for _, k := range order {
		for part := range slices.Chunk(members[k], groupSize(len(members[k]), net, s)) {
			g := newGroup(plan, part, specs, s)
			g.index, g.perEpoch = len(groups), k.perEpoch
			if g.plan.allowed() != nil && !sur.Masks() {
				return nil, fmt.Errorf("surrogate %s needs every pair, some are unavailable or masked", s.Surrogate)
			}
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// kinds sorts the specs by kind, in the order of first appearance.
func kinds(p *Problem, specs []Spec, s Settings) (order []kind, members map[kind][]int) {
	members = map[kind][]int{}
	for i, spec := range specs {
		n := p.Len()
		if spec.Rows != nil {
			n = len(spec.Rows)
		}
		k := kind{(n + s.Batch - 1) / s.Batch, spec.Dropout > 0 && len(s.Hidden) > 0, spec.WeightDecay > 0, cmp.Compare(spec.Tau, 1)}
		if members[k] == nil {
			order = append(order, k)
		}
		members[k] = append(members[k], i)
	}
	return order, members
}

func newGroup(plan stepPlan, members []int, specs []Spec, s Settings) *group {
	g := &group{plan: plan, settings: s, members: members}
	for _, m := range members {
		spec := specs[m]
		if len(s.Hidden) == 0 {
			spec.Dropout = 0 // there is no hidden layer to drop from
		}
		g.plan.specs = append(g.plan.specs, spec)
		rows := spec.Rows
		if rows == nil {
			rows = allRows(plan.problem.Len())
		}
		g.rows = append(g.rows, rows)
	}
	return g
}

// groupSize spreads n models over the workers, within the limits of the cache.
func groupSize(n int, net scorer, s Settings) int {
	if s.Group > 0 {
		return s.Group
	}
	limit := max(1, min(groupModels, groupBytes/(3*4*net.size())))
	share := (n + s.Workers - 1) / s.Workers
	if share <= limit {
		return share
	}
	rounds := (n + limit*s.Workers - 1) / (limit * s.Workers)
	return (n + rounds*s.Workers - 1) / (rounds * s.Workers)
}

func allRows(n int) []int32 {
	r := make([]int32, n)
	for i := range r {
		r[i] = int32(i)
	}
	return r
}
