package rewrite

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"pipe/onnx/internal/protos"
	"pipe/onnx/onnxpb"
)

// changed lists the versions of the standard operator set at which a node written for the previous version is
// interpreted differently or refused: attributes that became inputs, other defaults, removed operators. Versions that
// only allow more types are not listed.
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

// commonOpsets gives the operator sets of the merged model: for the standard one the higher version, for others the
// version that both have.
func commonOpsets(a, b *onnxpb.ModelProto) ([]*onnxpb.OperatorSetIdProto, error) {
	va, vb := opsets(a), opsets(b)
	all := maps.Clone(va)
	for d, v := range vb {
		u, both := va[d]
		if both && u != v && d != protos.Domain("") {
			return nil, fmt.Errorf("operator set %q has versions %d and %d", d, u, v)
		}
		all[d] = max(u, v)
	}
	var list []*onnxpb.OperatorSetIdProto
	for _, d := range slices.Sorted(maps.Keys(all)) {
		name := d
		if d == protos.Domain("") {
			name = ""
		}
		list = append(list, &onnxpb.OperatorSetIdProto{Domain: proto.String(name), Version: proto.Int64(all[d])})
	}
	return list, nil
}

// standard is the version of the standard operator set.
func standard(sets []*onnxpb.OperatorSetIdProto) int64 {
	for _, o := range sets {
		if protos.Domain(o.GetDomain()) == protos.Domain("") {
			return o.GetVersion()
		}
	}
	return 0
}

func opsets(m *onnxpb.ModelProto) map[string]int64 {
	out := map[string]int64{}
	for _, o := range m.GetOpsetImport() {
		out[protos.Domain(o.GetDomain())] = o.GetVersion()
	}
	return out
}

// unaffected reports whether a node is not affected by a change of its operator.
func unaffected(n *onnxpb.NodeProto, version int64) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(n.GetAttribute(), func(a *onnxpb.AttributeProto) bool { return a.GetName() == name })
	}
	switch op := n.GetOpType(); {
	case op == "Split" && version == 18:
		return len(n.GetInput()) == 2 && n.GetInput()[1] != ""
	case op == "Split":
		return !has("split")
	case op == "BatchNormalization" && version == 9:
		return !has("spatial")
	case op == "BatchNormalization" && version == 14, op == "Dropout" && version == 10:
		return len(n.GetOutput()) == 1
	case op == "Dropout":
		return !has("ratio")
	case op == "Squeeze", op == "ReduceSum", version == 18:
		return !has("axes")
	case version == 13:
		return slices.ContainsFunc(n.GetAttribute(), func(a *onnxpb.AttributeProto) bool { return a.GetName() == "axis" && a.GetI() == -1 })
	default:
		return false
	}
}
