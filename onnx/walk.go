package onnx

import (
	"fmt"
	"slices"

	"pipe/onnx/onnxpb"
)

// maxNesting bounds the nesting of graphs in attributes of nodes.
const maxNesting = 32

// eachTensor visits the constants of a graph, of its attributes and of the graphs in them.
func eachTensor(g *onnxpb.GraphProto, depth int, visit func(*onnxpb.TensorProto) error) error {
	if depth > maxNesting {
		return fmt.Errorf("graphs nested deeper than %d", maxNesting)
	}
	for _, t := range g.GetInitializer() {
		if err := visit(t); err != nil {
			return err
		}
	}
	for _, s := range g.GetSparseInitializer() {
		for _, t := range []*onnxpb.TensorProto{s.GetValues(), s.GetIndices()} {
			if t != nil {
				if err := visit(t); err != nil {
					return err
				}
			}
		}
	}
	return eachNodeTensor(g.GetNode(), depth, visit)
}

func eachNodeTensor(nodes []*onnxpb.NodeProto, depth int, visit func(*onnxpb.TensorProto) error) error {
	for _, n := range nodes {
		for _, a := range n.GetAttribute() {
			tensors, graphs := a.GetTensors(), a.GetGraphs()
			if a.GetT() != nil {
				tensors = append(slices.Clone(tensors), a.GetT())
			}
			if a.GetG() != nil {
				graphs = append(slices.Clone(graphs), a.GetG())
			}
			for _, t := range tensors {
				if err := visit(t); err != nil {
					return err
				}
			}
			for _, g := range graphs {
				if err := eachTensor(g, depth+1, visit); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (m *Model) eachTensor(visit func(*onnxpb.TensorProto) error) error {
	for _, f := range m.Proto.GetFunctions() {
		if err := eachNodeTensor(f.GetNode(), 0, visit); err != nil {
			return err
		}
	}
	return eachTensor(m.Proto.GetGraph(), 0, visit)
}
