package onnx

import (
	"errors"
	"fmt"
	"math"
)

// The domain of operators outside the standard set, and the version of its set for which nodes are written.
const (
	treeOp    = "TreeEnsembleRegressor"
	mlDomain  = "ai.onnx.ml"
	mlVersion = 3
)

// domainOf is the operator set of an op, and its version if it is not the standard set.
func domainOf(op string) (name string, version int64) {
	if op == treeOp {
		return mlDomain, mlVersion
	}
	return "", 0
}

// TreeNode is a split or a leaf. A row goes to node True if the value of its Column is at most Threshold, or if it is
// NaN and MissingTrue is set; else to node False. Both are later nodes of the same tree; a leaf has True and False 0.
type TreeNode struct {
	Column      int
	Threshold   float32
	MissingTrue bool
	True, False int
	Weight      float32 // of a leaf
}

func (n TreeNode) isLeaf() bool { return n.True == 0 && n.False == 0 }

// TreeEnsemble is base plus, for every row of x, the weights of the leaves that the row reaches, one per tree: [rows 1]
// for x float32 [rows columns]. The first node of a tree is its root. It has no gradient rule.
func (g *Graph) TreeEnsemble(x *Value, trees [][]TreeNode, base float32) *Value {
	if g.Err() != nil {
		return g.inert(1)[0]
	}
	if err := checkEnsemble(x, trees); err != nil {
		return g.fail(treeOp, err)
	}
	if !g.usable(treeOp, []*Value{x}) {
		return g.inert(1)[0]
	}
	out := &Value{dtype: Float32, shape: Shape{x.dim(0), Fix(1)}}
	g.append(treeOp, []*Value{x}, []*Value{out}, treeAttributes(trees, base))
	return out
}

func checkEnsemble(x *Value, trees [][]TreeNode) error {
	if x.dtype != Float32 || x.rank() != 2 {
		return fmt.Errorf("rows are %s %s: must be float32 with two axes", x.dtype, x.shape)
	}
	if len(trees) == 0 {
		return errors.New("no trees")
	}
	columns := int64(math.MaxInt64)
	if x.dim(1).Known() {
		columns = x.dim(1).Size
	}
	for i, t := range trees {
		if err := checkTree(t, columns); err != nil {
			return fmt.Errorf("tree %d: %w", i, err)
		}
	}
	return nil
}

// checkTree makes sure that every node except the root is the child of exactly one earlier node.
func checkTree(t []TreeNode, columns int64) error {
	if len(t) == 0 {
		return errors.New("no nodes")
	}
	taken := make([]bool, len(t))
	taken[0] = true
	for i, n := range t {
		if !taken[i] {
			return fmt.Errorf("node %d: is not the child of an earlier node", i)
		}
		if n.isLeaf() {
			continue
		}
		if n.Column < 0 || int64(n.Column) >= columns {
			return fmt.Errorf("node %d: column %d of %d", i, n.Column, columns)
		}
		for _, child := range []int{n.True, n.False} {
			if child <= i || child >= len(t) || taken[child] {
				return fmt.Errorf("node %d: child %d is not a later node, or is the child of another", i, child)
			}
			taken[child] = true
		}
	}
	return nil
}

// treeAttributes concatenates the nodes of all trees, in the operator's format.
func treeAttributes(trees [][]TreeNode, base float32) []attr {
	var tree, node, column, yes, no, missing, leafTree, leafNode []int64
	var mode []string
	var threshold, weight []float32
	for i, t := range trees {
		for j, n := range t {
			tree, node = append(tree, int64(i)), append(node, int64(j))
			column, threshold = append(column, int64(n.Column)), append(threshold, n.Threshold)
			yes, no = append(yes, int64(n.True)), append(no, int64(n.False))
			missing = append(missing, oneIf(n.MissingTrue))
			if !n.isLeaf() {
				mode = append(mode, "BRANCH_LEQ")
				continue
			}
			mode = append(mode, "LEAF")
			leafTree, leafNode, weight = append(leafTree, int64(i)), append(leafNode, int64(j)), append(weight, n.Weight)
		}
	}
	return []attr{
		{"aggregate_function", "SUM"},
		{"base_values", []float32{base}},
		{"n_targets", int64(1)},
		{"nodes_falsenodeids", no},
		{"nodes_featureids", column},
		{"nodes_missing_value_tracks_true", missing},
		{"nodes_modes", mode},
		{"nodes_nodeids", node},
		{"nodes_treeids", tree},
		{"nodes_truenodeids", yes},
		{"nodes_values", threshold},
		{"post_transform", "NONE"},
		{"target_ids", make([]int64, len(weight))},
		{"target_nodeids", leafNode},
		{"target_treeids", leafTree},
		{"target_weights", weight},
	}
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
