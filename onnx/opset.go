package onnx

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"pipe/onnx/onnxpb"
)

// changed lists the versions of the standard operator set at which a node
// written for the version before is read differently or refused: arguments
// that moved from attributes to inputs, other defaults, removed operators.
// Versions that only admit more types are not listed.
var changed = map[string][]int64{
	"BatchNormalization": {9, 14},
	"Clip":               {11},
	"DFT":                {20},
	"Dropout":            {10, 12},
	"GridSample":         {20},
	"GroupNormalization": {21},
	"Hardmax":            {13},
	"LogSoftmax":         {13},
	"Pad":                {11},
	"ReduceL1":           {18},
	"ReduceL2":           {18},
	"ReduceLogSum":       {18},
	"ReduceLogSumExp":    {18},
	"ReduceMax":          {18},
	"ReduceMean":         {18},
	"ReduceMin":          {18},
	"ReduceProd":         {18},
	"ReduceSum":          {13},
	"ReduceSumSquare":    {18},
	"Resize":             {11},
	"RoiAlign":           {16},
	"Scan":               {9},
	"Scatter":            {11},
	"Slice":              {10},
	"Softmax":            {13},
	"Split":              {13, 18},
	"Squeeze":            {13},
	"TopK":               {10},
	"Unsqueeze":          {13},
	"Upsample":           {9, 10},
}

// commonOpsets gives the operator sets of the merged model: of the standard
// one the higher version, of others the one version that both name.
func commonOpsets(a, b *onnxpb.ModelProto) ([]*onnxpb.OperatorSetIdProto, error) {
	va, vb := opsets(a), opsets(b)
	all := maps.Clone(va)
	for d, v := range vb {
		u, both := va[d]
		if both && u != v && d != domain("") {
			return nil, fmt.Errorf("operator set %q has versions %d and %d", d, u, v)
		}
		all[d] = max(u, v)
	}
	std := all[domain("")]
	for _, m := range []*onnxpb.ModelProto{a, b} {
		if from, ok := opsets(m)[domain("")]; ok && from < std {
			if err := raisable(m.GetGraph().GetNode(), from, std); err != nil {
				return nil, err
			}
		}
	}
	var list []*onnxpb.OperatorSetIdProto
	for _, d := range slices.Sorted(maps.Keys(all)) {
		name := d
		if d == domain("") {
			name = ""
		}
		list = append(list, &onnxpb.OperatorSetIdProto{Domain: proto.String(name), Version: proto.Int64(all[d])})
	}
	return list, nil
}

func opsets(m *onnxpb.ModelProto) map[string]int64 {
	out := map[string]int64{}
	for _, o := range m.GetOpsetImport() {
		out[domain(o.GetDomain())] = o.GetVersion()
	}
	return out
}

// raisable reports the first node that means something else under version to.
func raisable(nodes []*onnxpb.NodeProto, from, to int64) error {
	for i, n := range nodes {
		if domain(n.GetDomain()) == domain("") {
			for _, v := range changed[n.GetOpType()] {
				if from < v && v <= to && !unaffected(n, v) {
					return fmt.Errorf("operator sets %d and %d: node %s changed with version %d", from, to, nodeTitle(n, i), v)
				}
			}
		}
		for _, a := range n.GetAttribute() {
			graphs := slices.Clone(a.GetGraphs())
			if a.GetG() != nil {
				graphs = append(graphs, a.GetG())
			}
			for _, g := range graphs {
				if err := raisable(g.GetNode(), from, to); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// unaffected tells nodes that a change of their operator does not touch.
func unaffected(n *onnxpb.NodeProto, version int64) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(n.GetAttribute(), func(a *onnxpb.AttributeProto) bool { return a.GetName() == name })
	}
	switch op := n.GetOpType(); {
	case op == "Split" && version == 18:
		return len(n.GetInput()) == 2
	case op == "BatchNormalization" && version == 14:
		return len(n.GetOutput()) == 1
	case op == "Squeeze", op == "ReduceSum", version == 18:
		return !has("axes")
	default:
		return false
	}
}
