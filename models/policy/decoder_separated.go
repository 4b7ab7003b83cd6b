package policy

import (
	"errors"
	"fmt"

	"pipe/onnx"
)

var errNoPlainAction = errors.New("an l2d policy needs an available action without advice")

// A separated policy chooses first the expert and then that expert's advice. No sum of router and query scores gives
// this choice, so its action scores are ranks: (rank of the expert)*(K+1) + rank of the advice in the expert's row,
// counted from 0 for the worst. Their argmax is the two-step decision, they never tie, and if actions are removed, the
// best remaining expert with its best remaining advice is chosen.

// decodeSeparated is the paper's binary surrogate: columns r, q_0, q_1. On a score of exactly zero it takes the larger
// index.
type decodeSeparated struct{}

func (decodeSeparated) check(p *Policy) error {
	if j, k := len(p.Actions.Experts), len(p.Actions.Advice)-1; j != 2 || k != 1 {
		return fmt.Errorf("a separated policy needs 2 experts and 1 advice besides none, not %d and %d", j, k)
	}
	return p.checkWidths(3)
}

func (decodeSeparated) scores(dst []float64, p *Policy, x []float64) {
	o := meanOutputs(p.outputs(x))
	rankScores(dst, []float64{-o[0], o[0]}, []float64{-o[1], o[1], -o[2], o[2]}, true)
	exclude(dst, p.Actions.Mask())
}

func (decodeSeparated) graph(g *onnx.Graph, p *Policy, features *onnx.Value) values {
	o := meanValues(g, p.memberGraphs(g, features))
	// The negated score represents the other choice: if a score is larger than, equal to or smaller than zero, it is
	// larger than, equal to or smaller than its negation.
	all := g.Concat(1, o, g.Neg(o)) // r q0 q1 -r -q0 -q1
	pick := func(cols ...int64) *onnx.Value {
		return g.Gather(all, g.Const(onnx.Int64s([]int64{int64(len(cols))}, cols)), 1)
	}
	return values{scores: excludeGraph(g, rankGraph(g, pick(3, 0), pick(4, 1, 5, 2), 2, 2, true), p.Actions.Mask())}
}

// decodeSeparatedSoftmax is the generalisation to J experts and K advice levels:
// J router columns, then J(K+1) query columns. Ties take the smaller index.
type decodeSeparatedSoftmax struct{}

func (decodeSeparatedSoftmax) check(p *Policy) error {
	return p.checkWidths(len(p.Actions.Experts) + p.Actions.Len())
}

func (decodeSeparatedSoftmax) scores(dst []float64, p *Policy, x []float64) {
	o := meanOutputs(p.outputs(x))
	experts := len(p.Actions.Experts)
	rankScores(dst, o[:experts], o[experts:], false)
	exclude(dst, p.Actions.Mask())
}

func (decodeSeparatedSoftmax) graph(g *onnx.Graph, p *Policy, features *onnx.Value) values {
	o := meanValues(g, p.memberGraphs(g, features))
	j, levels := int64(len(p.Actions.Experts)), int64(len(p.Actions.Advice))
	cut := func(from, to int64) *onnx.Value {
		return g.Slice(o, []int64{from}, []int64{to}, []int64{1}, []int64{1})
	}
	return values{scores: excludeGraph(g, rankGraph(g, cut(0, j), cut(j, j+j*levels), j, levels, false), p.Actions.Mask())}
}

// rankScores writes the rank scores for router scores (J) and query scores (J x K+1). larger says whether ties go to
// the larger index.
func rankScores(dst, router, query []float64, larger bool) {
	levels := len(query) / len(router)
	for j := range router {
		row := query[j*levels : (j+1)*levels]
		for k := range row {
			dst[j*levels+k] = float64(rankOf(router, j, larger)*levels + rankOf(row, k, larger))
		}
	}
}

// rankOf counts the entries that entry i beats.
func rankOf(v []float64, i int, larger bool) int {
	rank := 0
	for other := range v {
		if v[i] > v[other] || v[i] == v[other] && preferred(i, other, larger) {
			rank++
		}
	}
	return rank
}

// preferred reports whether a tie between i and other goes to i.
func preferred(i, other int, larger bool) bool {
	return larger && i > other || !larger && i < other
}

// rankGraph is rankScores as a graph: router batch x J, query batch x J*levels.
func rankGraph(g *onnx.Graph, router, query *onnx.Value, j, levels int64, larger bool) *onnx.Value {
	experts := g.Unsqueeze(rankAxis(g, router, j, larger), 2)                        // batch x J x 1
	advice := rankAxis(g, g.Reshape(query, 0, j, levels), levels, larger)            // batch x J x levels
	scores := g.Add(g.Mul(experts, g.Scalar(onnx.Float32, float64(levels))), advice) // batch x J x levels
	// Comparisons ignore NaN, which must not become a decision.
	return g.Add(g.Reshape(scores, 0, j*levels), g.Add(nanMark(g, router), nanMark(g, query)))
}

// nanMark is 0 in rows of v (batch x n) whose values are finite, else NaN: batch x 1.
func nanMark(g *onnx.Graph, v *onnx.Value) *onnx.Value {
	return g.ReduceSum(g.Sub(v, v), true, 1)
}

// rankAxis ranks the last axis, which has n entries, by comparing all pairs.
func rankAxis(g *onnx.Graph, v *onnx.Value, n int64, larger bool) *onnx.Value {
	rank := int64(len(v.Shape()))
	mine, theirs := g.Unsqueeze(v, rank), g.Unsqueeze(v, rank-1)
	ties := make([]bool, n*n)
	for i := range n {
		for other := range n {
			ties[i*n+other] = preferred(int(i), int(other), larger)
		}
	}
	tie := g.And(g.Equal(mine, theirs), g.Const(onnx.Bools([]int64{n, n}, ties)))
	wins := g.Cast(g.Or(g.Greater(mine, theirs), tie), onnx.Float32)
	return g.ReduceSum(wins, false, rank)
}
