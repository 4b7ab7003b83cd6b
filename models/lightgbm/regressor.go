package lightgbm

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/internal/finite"
	"pipe/models/estimate"
	"pipe/onnx"
)

// kindTrees is the kind of [Regressor].
const kindTrees = "trees"

// Regressor estimates the loss of every pair as a sum of trees, one after the other. It splits as the exported graph
// does, which is as LightGBM does for float32 values.
type Regressor struct {
	Dim   int                 // features of a row
	Trees [][][]onnx.TreeNode // pair, round, node; at least one tree for a pair; the first holds the mean
}

var _ estimate.Estimator = (*Regressor)(nil)

// Kind implements [estimate.Estimator].
func (*Regressor) Kind() string { return kindTrees }

// Check implements [estimate.Estimator].
func (r *Regressor) Check(dim, pairs int) error {
	if r.Dim != dim {
		return fmt.Errorf("trees on %d features for rows of %d", r.Dim, dim)
	}
	if len(r.Trees) != pairs {
		return fmt.Errorf("trees of %d pairs for %d pairs", len(r.Trees), pairs)
	}
	for i, trees := range r.Trees {
		if err := onnx.CheckTrees(trees, dim); err != nil {
			return fmt.Errorf("pair %d: %w", i, err)
		}
		if err := checkNumbers(trees); err != nil {
			return fmt.Errorf("pair %d: %w", i, err)
		}
	}
	return nil
}

// checkNumbers makes sure that every row has a finite estimate in float32. Thresholds may be infinite: such a split
// separates present from missing values.
func checkNumbers(trees [][]onnx.TreeNode) error {
	total := 0.0
	for i, t := range trees {
		most := 0.0
		for _, n := range t {
			if n.Threshold != n.Threshold || finite.First([]float32{n.Weight}) >= 0 {
				return fmt.Errorf("tree %d: a value is not finite", i)
			}
			most = max(most, math.Abs(float64(n.Weight)))
		}
		total += most
	}
	if total > math.MaxFloat32 {
		return errors.New("the sum over trees does not fit float32")
	}
	return nil
}

// Rounds is the largest number of trees of a pair. A pair has fewer trees than rounds of training if at some point no
// split reduced its error.
func (r *Regressor) Rounds() int {
	most := 0
	for _, trees := range r.Trees {
		most = max(most, len(trees))
	}
	return most
}

// Bytes of a split and of a leaf in a file, at most, if there are up to 16,384 pairs, columns and nodes of a tree. Each
// has a number per property; numbers below 128 need a byte less.
const (
	bytesOfSplit = 35
	bytesOfLeaf  = 41
)

// Bytes is the size of the estimator in a file, at most: 1.1 kB for a tree of 15 leaves, which in practice has 0.95 kB.
func (r *Regressor) Bytes() int {
	bytes := 0
	for _, trees := range r.Trees {
		for _, t := range trees {
			bytes += bytesOfTree((len(t) + 1) / 2)
		}
	}
	return bytes
}

func bytesOfTree(leaves int) int { return leaves*bytesOfLeaf + (leaves-1)*bytesOfSplit }

// MostBytes is the largest size in a file, in bytes, of what [Library.TrainRegressor] returns for a number of pairs.
func (p Params) MostBytes(pairs int) int { return pairs * p.Rounds * bytesOfTree(p.Leaves) }

// Estimate implements [estimate.Estimator]. It compares in float32, and sums in float64.
func (r *Regressor) Estimate(dst, x []float64) {
	row := make([]float32, len(x))
	for c, v := range x {
		row[c] = float32(v)
	}
	for i, trees := range r.Trees {
		dst[i] = 0
		for _, t := range trees {
			dst[i] += leafOf(t, row)
		}
	}
}

// leafOf is the weight of the leaf that the row reaches.
func leafOf(t []onnx.TreeNode, row []float32) float64 {
	n := &t[0]
	for !n.IsLeaf() {
		if v := row[n.Column]; v <= n.Threshold || n.MissingTrue && v != v {
			n = &t[n.True]
		} else {
			n = &t[n.False]
		}
	}
	return float64(n.Weight)
}

// Graph implements [estimate.Estimator]: one node for all pairs. The nodes of trees are not constants, so nothing needs
// the prefix. ONNX Runtime adds in float32; with several threads the last digits also depend on the number of rows of
// a call.
func (r *Regressor) Graph(g *onnx.Graph, x *onnx.Value, _ string) *onnx.Value {
	return g.TreeEnsembles(x, r.Trees, make([]float32, len(r.Trees)))
}

// first is the estimator after the given number of rounds, at least 1; it shares the trees.
func (r *Regressor) first(rounds int) *Regressor {
	out := &Regressor{Dim: r.Dim, Trees: make([][][]onnx.TreeNode, len(r.Trees))}
	for i, trees := range r.Trees {
		out.Trees[i] = trees[:min(rounds, len(trees))]
	}
	return out
}

// Weighted is the sum of the estimators after the given rounds, each at least 1, times their weights, as one estimator.
// It has no more trees than the largest number of rounds with a weight.
func (r *Regressor) Weighted(rounds []int, weights []float64) *Regressor {
	last := 1
	for m, w := range weights {
		if w != 0 {
			last = max(last, rounds[m])
		}
	}
	out := r.first(last)
	for i, trees := range out.Trees {
		out.Trees[i] = make([][]onnx.TreeNode, len(trees))
		for k, t := range trees {
			out.Trees[i][k] = scaled(t, weightOfTree(k, rounds, weights))
		}
	}
	return out
}

// weightOfTree is the weight of all estimators that contain tree k.
func weightOfTree(k int, rounds []int, weights []float64) (sum float64) {
	for m, w := range weights {
		if k < rounds[m] {
			sum += w
		}
	}
	return sum
}

func scaled(t []onnx.TreeNode, by float64) []onnx.TreeNode {
	t = slices.Clone(t)
	for i := range t {
		t[i].Weight = float32(by * float64(t[i].Weight))
	}
	return t
}

// EstimatesAt returns the estimates after each of the given numbers of rounds, at least 1, so that their number can be
// chosen on rows that training did not see.
//
//	x:      rows x Dim, row-major
//	result: for each of rounds, rows x pairs
func (r *Regressor) EstimatesAt(x []float32, rounds []int) ([][]float32, error) {
	if r.Dim < 1 || len(x)%r.Dim != 0 {
		return nil, fmt.Errorf("lightgbm: estimate: %d values for rows of %d features", len(x), r.Dim)
	}
	if i := slices.IndexFunc(rounds, func(n int) bool { return n < 1 }); i >= 0 {
		return nil, fmt.Errorf("lightgbm: estimate: after %d rounds: must be 1 or more", rounds[i])
	}
	rows, pairs := len(x)/r.Dim, len(r.Trees)
	out := make([][]float32, len(rounds))
	for m := range out {
		out[m] = make([]float32, rows*pairs)
	}
	for start := 0; start < rows; start += blockRows {
		end := min(start+blockRows, rows)
		for i := range pairs {
			r.block(matrix{x[start*r.Dim : end*r.Dim], end - start, r.Dim}, i, func(k int, sums []float64) {
				for m, n := range rounds {
					if k == min(n, len(r.Trees[i])) {
						for j, v := range sums {
							out[m][(start+j)*pairs+i] = float32(v)
						}
					}
				}
			})
		}
	}
	return out, nil
}

// blockRows is how many rows go through one tree after the other: their values should stay in the cache.
const blockRows = 128

// block calls done after each tree of a pair with the number of trees and the sum of every row.
func (r *Regressor) block(m matrix, pair int, done func(trees int, sums []float64)) {
	sums := make([]float64, m.rows)
	for k, t := range r.Trees[pair] {
		for j := range sums {
			sums[j] += leafOf(t, m.row(j))
		}
		done(k+1, sums)
	}
}
