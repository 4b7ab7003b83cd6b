package lightgbm

import (
	"fmt"
	"math"

	"pipe/onnx"
)

// Export writes a binary classifier as a graph: input "rows" float32 [n Columns], NaN is missing; output "probability" float32 [n
// 1], the probability of label 1.
//
// The graph decides every split as LightGBM does for float32 rows: thresholds are rounded so that no float32 changes
// sides, and the side of NaN is fixed per split. A split for which 0 is a missing value can be exported only if missing
// values and 0 go to the same side; otherwise the error names tree and split.
func (m *Model) Export() (*onnx.Model, error) {
	if m.Objective != Binary {
		return nil, fmt.Errorf("lightgbm: export: the objective is %s: there are no probabilities", m.Objective)
	}
	trees, err := m.nodes()
	if err != nil {
		return nil, fmt.Errorf("lightgbm: export: %w", err)
	}
	g := onnx.NewGraph("boosted_trees")
	rows := g.Input("rows", onnx.Float32, onnx.Shape{onnx.Sym("n"), onnx.Fix(int64(m.Columns))})
	margin := g.TreeEnsemble(rows, trees, 0)
	if m.Sigmoid != 1 {
		margin = g.Mul(margin, g.Scalar(onnx.Float32, m.Sigmoid))
	}
	// ONNX Runtime ignores the operator's LOGISTIC transform if there is one target.
	g.Output("probability", g.Sigmoid(margin))
	model, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		return nil, fmt.Errorf("lightgbm: export: %w", err)
	}
	return model, nil
}

// nodes are the nodes of every tree, as the graph has them.
func (m *Model) nodes() ([][]onnx.TreeNode, error) {
	trees := make([][]onnx.TreeNode, len(m.Trees))
	for i := range m.Trees {
		nodes, err := m.Trees[i].nodes()
		if err != nil {
			return nil, fmt.Errorf("tree %d: %w", i, err)
		}
		trees[i] = nodes
	}
	return trees, nil
}

// nodes lists the splits and then the leaves.
func (t *Tree) nodes() ([]onnx.TreeNode, error) {
	place := func(child int) int {
		if child < 0 {
			return len(t.Splits) + ^child
		}
		return child
	}
	out := make([]onnx.TreeNode, 0, len(t.Splits)+len(t.Leaves))
	for i, s := range t.Splits {
		threshold, nanLeft, err := s.float32()
		if err != nil {
			return nil, fmt.Errorf("split %d: %w", i, err)
		}
		out = append(out, onnx.TreeNode{
			Column: s.Column, Threshold: threshold, MissingTrue: nanLeft, True: place(s.Left), False: place(s.Right),
		})
	}
	for i, v := range t.Leaves {
		if math.Abs(v) > math.MaxFloat32 {
			return nil, fmt.Errorf("leaf_value[%d] is %g: does not fit float32", i, v)
		}
		out = append(out, onnx.TreeNode{Weight: float32(v)})
	}
	return out, nil
}

// float32 is the split as one comparison of float32 values, and the side of NaN.
func (s *Split) float32() (threshold float32, nanLeft bool, err error) {
	zeroLeft := 0 <= s.Threshold
	switch s.Missing {
	case MissingNaN:
		nanLeft = s.DefaultLeft
	case MissingNone:
		nanLeft = zeroLeft
	case MissingZero:
		if s.DefaultLeft != zeroLeft {
			return 0, false, fmt.Errorf("decision_type: 0 is a missing value of column %d and goes against its order", s.Column)
		}
		nanLeft = zeroLeft
	}
	return s.boundary(), nanLeft, nil
}

// boundary is the largest float32 that goes left. LightGBM treats magnitudes up to tiny as 0, so they all go to one
// side.
func (s *Split) boundary() float32 {
	switch t := s.Threshold; {
	case 0 <= t && t < tiny:
		return float32(tiny)
	case -tiny <= t && t < 0:
		return math.Nextafter32(-float32(tiny), float32(math.Inf(-1)))
	default:
		return roundDown(t)
	}
}

// roundDown is the largest float32 that is at most v.
func roundDown(v float64) float32 {
	f := float32(v)
	if float64(f) > v {
		f = math.Nextafter32(f, float32(math.Inf(-1)))
	}
	return f
}
