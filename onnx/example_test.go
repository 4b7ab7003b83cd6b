package onnx_test

import (
	"fmt"
	"log"

	"pipe/onnx"
)

// One step of gradient descent as a graph: loss = mean((x*w - y)²).
func Example() {
	g := onnx.NewGraph("step")
	rows := onnx.Sym("rows")
	x := g.Input("x", onnx.Float32, onnx.Shape{rows, onnx.Fix(3)})
	y := g.Input("y", onnx.Float32, onnx.Shape{rows})
	w := g.Input("w", onnx.Float32, onnx.Dims(3))
	miss := g.Sub(g.MatMul(x, w), y)
	loss := g.ReduceMean(g.Mul(miss, miss), false)
	d, err := g.Gradients(loss, w)
	if err != nil {
		log.Fatal(err)
	}
	g.Output("loss", loss)
	g.Output("next", g.Sub(w, g.Mul(g.Scalar(onnx.Float32, 0.1), d[0])))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range m.Outputs() {
		fmt.Println(v.Name, v.DType, v.Shape)
	}
	// Output:
	// loss float32 []
	// next float32 [3]
}
