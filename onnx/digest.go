package onnx

import (
	"crypto/sha256"
	"encoding/hex"

	"pipe/onnx/onnxpb"
)

// Digest identifies what the graph computes, in hexadecimal: its nodes and its constants. Metadata, operator sets, the
// name of the graph and its declared shapes of intermediate values are not included.
func (m *Model) Digest() (string, error) {
	g := m.Proto.GetGraph()
	b, err := (&Model{Proto: &onnxpb.ModelProto{Graph: &onnxpb.GraphProto{
		Node: g.GetNode(), Initializer: g.GetInitializer(), SparseInitializer: g.GetSparseInitializer(),
	}, Functions: m.Proto.GetFunctions()}}).Marshal()
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}
