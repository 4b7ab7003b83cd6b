package models

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"pipe/onnx"
)

// Names of a classifier file's input and output.
const (
	RowsInput         = "rows"        // float32, n x In
	ProbabilityOutput = "probability" // float32, n x 1 (class 1 of two), or n x classes
)

// ExportClassifier builds the file of a network that was trained on a
// [ClassProblem]: input "rows", the features as the network was trained on
// them, output "probability". Of two classes only the probability of class 1 is
// given, the logistic function of the difference of the two scores; of more,
// all are, the softmax of the scores.
func (m MLP) ExportClassifier() (*onnx.Model, error) {
	if err := m.checkClassifier(); err != nil {
		return nil, fmt.Errorf("export classifier: %w", err)
	}
	g := onnx.NewGraph("classifier")
	rows := g.Input(RowsInput, onnx.Float32, onnx.Shape{onnx.Sym("n"), onnx.Fix(int64(m.In()))})
	var p *onnx.Value
	if m.Out() == 2 {
		p = g.Sigmoid(m.binary().graph(g, rows, ""))
	} else {
		p = g.Softmax(m.graph(g, rows, ""), 1)
	}
	g.Output(ProbabilityOutput, p)
	model, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		return nil, fmt.Errorf("export classifier: %w", err)
	}
	return model, nil
}

func (m MLP) checkClassifier() error {
	var problems []error
	checkMember(func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }, 0, m, m.In())
	if m.Out() < 2 {
		problems = append(problems, fmt.Errorf("network has %d outputs, a classifier has one per class", m.Out()))
	}
	return errors.Join(problems...)
}

// binary is the network whose one output is the difference of the two.
func (m MLP) binary() MLP {
	layers := append([]Affine(nil), m.Layers...)
	last := layers[len(layers)-1]
	w := make([]float32, last.In)
	for i := range w {
		w[i] = last.W[last.In+i] - last.W[i]
	}
	layers[len(layers)-1] = Affine{Out: 1, In: last.In, W: w, B: []float32{last.B[1] - last.B[0]}}
	return MLP{Layers: layers}
}

// Classify is the Go reference of ExportClassifier for one row, in float64: the
// probability of every class.
func (m MLP) Classify(row []float32) []float64 {
	x := make([]float64, len(row))
	for i, v := range row {
		x[i] = float64(v)
	}
	scores := m.forward(x)
	top, sum := scores[0], 0.0
	for _, s := range scores {
		top = max(top, s)
	}
	for i, s := range scores {
		scores[i] = math.Exp(s - top)
		sum += scores[i]
	}
	for i := range scores {
		scores[i] /= sum
	}
	return scores
}

// graph is the network over x, rows x In; names of its weights start with prefix.
func (m MLP) graph(g *onnx.Graph, x *onnx.Value, prefix string) *onnx.Value {
	for l, a := range m.Layers {
		name := prefix + "layer" + strconv.Itoa(l) + "_"
		w := g.NamedConst(name+"weight", onnx.Float32s([]int64{int64(a.Out), int64(a.In)}, a.W))
		b := g.NamedConst(name+"bias", onnx.Float32s([]int64{int64(a.Out)}, a.B))
		x = g.Gemm(x, w, b, 1, 1, false, true)
		if l+1 < len(m.Layers) {
			x = g.Relu(x)
		}
	}
	return x
}
