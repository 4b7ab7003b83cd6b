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

// IsLeaf reports whether a node is a leaf and not a split.
func (n TreeNode) IsLeaf() bool { return n.True == 0 && n.False == 0 }

// TreeEnsemble is base plus, for every row of x, the weights of the leaves that the row reaches, one per tree: [rows 1]
// for x float32 [rows columns]. The first node of a tree is its root. It has no gradient rule.
func (g *Graph) TreeEnsemble(x *Value, trees [][]TreeNode, base float32) *Value {
	return g.TreeEnsembles(x, [][][]TreeNode{trees}, []float32{base})
}

// TreeEnsembles is [Graph.TreeEnsemble] for several targets in one node: [rows targets]. Every target has trees of its
// own, and a base.
func (g *Graph) TreeEnsembles(x *Value, targets [][][]TreeNode, base []float32) *Value {
	if err := checkEnsembles(x, targets, base); err != nil {
		return g.fail(treeOp, err)
	}
	if !g.usable(treeOp, []*Value{x}) {
		return g.inert(1)[0]
	}
	out := &Value{dtype: Float32, shape: Shape{x.dim(0), Fix(int64(len(targets)))}}
	g.append(treeOp, []*Value{x}, []*Value{out}, treeAttributes(targets, base))
	return out
}

func checkEnsembles(x *Value, targets [][][]TreeNode, base []float32) error {
	if x.dtype != Float32 || x.rank() != 2 {
		return fmt.Errorf("rows are %s %s: must be float32 with two axes", x.dtype, x.shape)
	}
	if len(targets) == 0 || len(base) != len(targets) {
		return fmt.Errorf("%d base values for %d targets", len(base), len(targets))
	}
	columns := math.MaxInt
	if x.dim(1).Known() {
		columns = int(x.dim(1).Size)
	}
	for i, trees := range targets {
		if err := CheckTrees(trees, columns); err != nil {
			return fmt.Errorf("target %d: %w", i, err)
		}
	}
	return nil
}

// CheckTrees returns why trees are not an ensemble on rows of this many columns: there are none, or a node is
// not the child of exactly one earlier node, or a column does not exist.
func CheckTrees(trees [][]TreeNode, columns int) error {
	if len(trees) == 0 {
		return errors.New("no trees")
	}
	for i, t := range trees {
		if err := checkTree(t, columns); err != nil {
			return fmt.Errorf("tree %d: %w", i, err)
		}
	}
	return nil
}

// checkTree makes sure that every node except the root is the child of exactly one earlier node.
func checkTree(t []TreeNode, columns int) error {
	if len(t) == 0 {
		return errors.New("no nodes")
	}
	taken := make([]bool, len(t))
	taken[0] = true
	for i, n := range t {
		if !taken[i] {
			return fmt.Errorf("node %d: is not the child of an earlier node", i)
		}
		if n.IsLeaf() {
			continue
		}
		if n.Column < 0 || n.Column >= columns {
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

// treeAttributes are the nodes of all trees of all targets in the operator's format: a list per property.
func treeAttributes(targets [][][]TreeNode, base []float32) []attr {
	var l treeLists
	for target, trees := range targets {
		for _, t := range trees {
			l.add(int64(target), t)
		}
	}
	return []attr{
		{"aggregate_function", "SUM"},
		{"base_values", base},
		{"n_targets", int64(len(targets))},
		{"nodes_falsenodeids", l.no},
		{"nodes_featureids", l.column},
		{"nodes_missing_value_tracks_true", l.missing},
		{"nodes_modes", l.mode},
		{"nodes_nodeids", l.node},
		{"nodes_treeids", l.tree},
		{"nodes_truenodeids", l.yes},
		{"nodes_values", l.threshold},
		{"post_transform", "NONE"},
		{"target_ids", l.leafTarget},
		{"target_nodeids", l.leafNode},
		{"target_treeids", l.leafTree},
		{"target_weights", l.weight},
	}
}

// treeLists have an entry per node, or per leaf.
type treeLists struct {
	trees                                int64 // added so far
	tree, node, column, yes, no, missing []int64
	mode                                 []string
	threshold                            []float32
	leafTarget, leafTree, leafNode       []int64
	weight                               []float32
}

func (l *treeLists) add(target int64, t []TreeNode) {
	for j, n := range t {
		l.tree, l.node = append(l.tree, l.trees), append(l.node, int64(j))
		l.column, l.threshold = append(l.column, int64(n.Column)), append(l.threshold, n.Threshold)
		l.yes, l.no = append(l.yes, int64(n.True)), append(l.no, int64(n.False))
		l.missing = append(l.missing, flag(n.MissingTrue))
		if !n.IsLeaf() {
			l.mode = append(l.mode, "BRANCH_LEQ")
			continue
		}
		l.mode = append(l.mode, "LEAF")
		l.leafTarget, l.leafTree = append(l.leafTarget, target), append(l.leafTree, l.trees)
		l.leafNode, l.weight = append(l.leafNode, int64(j)), append(l.weight, n.Weight)
	}
	l.trees++
}
