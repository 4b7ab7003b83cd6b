package network

import (
	"fmt"
	"math"

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
		p = g.Sigmoid(m.binary().Graph(g, rows, ""))
	} else {
		p = g.Softmax(m.Graph(g, rows, ""), 1)
	}
	g.Output(ProbabilityOutput, p)
	model, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		return nil, fmt.Errorf("export classifier: %w", err)
	}
	return model, nil
}

func (m MLP) checkClassifier() error {
	if err := m.Check(m.In()); err != nil {
		return err
	}
	if m.Out() < 2 {
		return fmt.Errorf("network has %d outputs, a classifier has one per class", m.Out())
	}
	return nil
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
	scores := m.Forward(x)
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
