package network

import (
	"fmt"
	"math"

	"pipe/onnx"
)

// Names of a classifier file's input and output.
const (
	rowsInput         = "rows"        // float32, n x In
	probabilityOutput = "probability" // float32, n x 1 (class 1 of two), or n x classes
)

// ExportClassifier builds the file of a network with an output per class, such as one trained on a models.ClassProblem.
// Input and output have the names rowsInput and probabilityOutput; rows are scaled as in training. For two classes
// the output is the probability of class 1, the logistic function of the difference of the two scores. For more it is
// the softmax of the scores. The error is that of [MLP.Check], or reports fewer than two classes.
func (m MLP) ExportClassifier() (*onnx.Model, error) {
	if err := m.checkClassifier(); err != nil {
		return nil, fmt.Errorf("export classifier: %w", err)
	}
	g := onnx.NewGraph("classifier")
	rows := g.Input(rowsInput, onnx.Float32, onnx.Shape{onnx.Sym("n"), onnx.Fix(int64(m.In()))})
	var p *onnx.Value
	if m.Out() == 2 {
		p = g.Sigmoid(m.binary().Graph(g, rows, ""))
	} else {
		p = g.Softmax(m.Graph(g, rows, ""), 1)
	}
	g.Output(probabilityOutput, p)
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

// binary is the network whose single output is the difference of the two.
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

// Classify is the Go reference of [MLP.ExportClassifier] for one row of In values, in float64. It returns the
// probability of every class, also if there are two.
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
