// Package onnx builds, differentiates, reads and checks ONNX models in pure Go; package rewrite merges and splits them,
// package ort runs them.
//
// A Graph is built by methods, one per operator, that infer types and shapes:
//
//	g := onnx.NewGraph("affine")
//	x := g.Input("x", onnx.Float32, onnx.Shape{onnx.Sym("batch"), onnx.Fix(4)})
//	w := g.NamedConst("w", weights) // 4 x 2
//	g.Output("y", g.Relu(g.MatMul(x, w)))
//	model, err := g.Build(onnx.BuildOptions{})
//
// Gradients appends the reverse-mode derivative of a value to the graph that computes it, so that a training step is
// one graph as well. Models are deterministic: the same calls give the same bytes.
package onnx
