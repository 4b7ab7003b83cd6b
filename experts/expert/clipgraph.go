package expert

import (
	"pipe/featurize"
	"pipe/onnx"
	"pipe/onnx/rewrite"
)

// The input of the head behind a vision tower, and the output of both.
const (
	clipEmbedding = "embedding"
	clipLogits    = "logits"  // float32 [batch, families x classes]
	clipVectors   = "vectors" // float32 [batch, dim]: those of the images, for other parts
)

// clipHead returns the graph from image vectors, [batch, dim], to the logits of
// every class of every family, family by family. A logit is the cosine of vector
// and class weight, times scale. families has weights of classes x dim each. With
// vectors the image vectors are an output as well.
func clipHead(families [][]float32, dim int, scale float64, vectors bool) (*onnx.Model, error) {
	g := onnx.NewGraph("classes")
	x := g.Input(clipEmbedding, onnx.Float32, onnx.Shape{onnx.Sym("batch"), onnx.Fix(int64(dim))})
	if vectors {
		g.Output(clipVectors, g.Identity(x))
	}
	length := g.Sqrt(g.ReduceSumSquare(x, true, 1))
	x = g.Div(x, g.Max(length, g.Scalar(onnx.Float32, 1e-12)))
	w := g.NamedConst("class_weights", sideBySide(families, dim))
	g.Output(clipLogits, g.Mul(g.MatMul(x, w), g.Scalar(onnx.Float32, scale)))
	return g.Build(onnx.BuildOptions{})
}

// sideBySide returns the weights of all families as one matrix, dim x (families x
// classes).
func sideBySide(families [][]float32, dim int) *onnx.Tensor {
	classes := len(families[0]) / dim
	columns := len(families) * classes
	values := make([]float32, dim*columns)
	for f, weights := range families {
		for c := range classes {
			for i, w := range weights[c*dim : (c+1)*dim] {
				values[i*columns+f*classes+c] = w
			}
		}
	}
	return onnx.Float32s([]int64{int64(dim), int64(columns)}, values)
}

// clipGraph returns the graph from pixels to logits. Logits are float32 in every
// precision, since float16 has steps of 1/16 at logits of 100.
func clipGraph(tower *featurize.ImageModel, families [][]float32, dim int, scale float64, vectors bool) (*onnx.Model, error) {
	head, err := clipHead(families, dim, scale, vectors)
	if err != nil {
		return nil, err
	}
	o := rewrite.MergeOptions{Name: "classifier", FirstPrefix: "tower/", SecondPrefix: "classes/"}
	return rewrite.Merge(tower.Graph, head, map[string]string{featurize.ImageEmbedding: clipEmbedding}, o)
}
