package rewrite

import (
	"errors"
	"fmt"

	"pipe/onnx"
	"pipe/onnx/internal/protos"
	"pipe/onnx/onnxpb"
)

// OpsetError means that a model has an older standard operator set than needed, and contains an operator that cannot be
// rewritten.
type OpsetError struct {
	From, To int64 // versions: the model's, and the one needed
	Err      error // names the node
}

func (e *OpsetError) Error() string {
	return fmt.Sprintf("the model has operator set %d, which cannot be raised to %d: %v", e.From, e.To, e.Err)
}

// Unwrap returns the underlying error.
func (e *OpsetError) Unwrap() error { return e.Err }

// Hint names a workaround.
func (e *OpsetError) Hint() string {
	return fmt.Sprintf("export the model again, with operator set %d (opset_version)", e.To)
}

// raised returns a model that computes the same under version to of the standard operator set: attributes that became
// inputs become constants, changed defaults are made explicit. If the rewrite of a node is not known, the error is an
// *OpsetError. m is not changed.
func raised(m *onnx.Model, to int64) (*onnx.Model, error) {
	from, ok := opsets(m.Proto)[protos.Domain("")]
	if !ok || from >= to {
		return m, nil
	}
	r := &raiser{from: from, to: to, names: valueNames{}}
	r.names.note(m.Proto.GetGraph())
	g, err := r.graph(m.Proto.GetGraph())
	if err != nil {
		return nil, &OpsetError{From: from, To: to, Err: err}
	}
	p := &onnxpb.ModelProto{}
	protos.Shallow(p, m.Proto)
	p.Graph = g
	return &onnx.Model{Proto: p}, nil
}

// raiser rewrites nodes for a newer operator set.
type raiser struct {
	from, to int64
	names    valueNames
}

func (r *raiser) graph(g *onnxpb.GraphProto) (*onnxpb.GraphProto, error) {
	out := &onnxpb.GraphProto{}
	protos.Shallow(out, g)
	out.Node = nil
	for i, n := range g.GetNode() {
		nodes, err := r.node(n)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", protos.NodeTitle(n, i), err)
		}
		out.Node = append(out.Node, nodes...)
	}
	return out, nil
}

// node returns nodes that compute the same as n; the last one has n's name and outputs.
func (r *raiser) node(n *onnxpb.NodeProto) ([]*onnxpb.NodeProto, error) {
	n, err := r.inside(n)
	if err != nil || protos.Domain(n.GetDomain()) != protos.Domain("") {
		return []*onnxpb.NodeProto{n}, err
	}
	nodes := []*onnxpb.NodeProto{n}
	for _, v := range changed[n.GetOpType()] {
		if v <= r.from || v > r.to || unaffected(n, v) {
			continue
		}
		rewrite := r.rewriteOf(n.GetOpType(), v)
		if rewrite == nil {
			return nil, fmt.Errorf("changed with version %d", v)
		}
		if len(n.GetInput()) == 0 || len(n.GetOutput()) == 0 {
			return nil, errors.New("has no input or no output")
		}
		last := len(nodes) - 1
		nodes = append(nodes[:last], rewrite(r, nodes[last])...)
		n = nodes[len(nodes)-1]
	}
	return nodes, nil
}

// inside is n with the graphs in its attributes rewritten.
func (r *raiser) inside(n *onnxpb.NodeProto) (*onnxpb.NodeProto, error) {
	if len(subgraphs(n)) == 0 {
		return n, nil
	}
	out := &onnxpb.NodeProto{}
	protos.Shallow(out, n)
	out.Attribute = nil
	for _, a := range n.GetAttribute() {
		c, err := withGraphs(a, r.graph)
		if err != nil {
			return nil, err
		}
		out.Attribute = append(out.Attribute, c)
	}
	return out, nil
}
