package hf

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"pipe/onnx"
)

// The axes of token inputs.
var batch, sequence = onnx.Sym("batch"), onnx.Sym("sequence")

// textInput declares an input of one int64 per token.
func textInput(g *onnx.Graph, name string) *onnx.Value {
	return g.Input(name, onnx.Int64, onnx.Shape{batch, sequence})
}

// paddingBias is 0 for tokens and the smallest float32 for padding, which softmax
// turns into 0: [batch, 1, 1, sequence].
func paddingBias(g *onnx.Graph, mask *onnx.Value) *onnx.Value {
	one := g.Scalar(onnx.Float32, 1)
	padding := g.Sub(one, g.Cast(g.Unsqueeze(mask, 1, 2), onnx.Float32))
	return g.Mul(padding, g.Scalar(onnx.Float32, -math.MaxFloat32))
}

// causalBias is 0 for a token and those before it, and the smallest float32 for those after it: [sequence, sequence].
// shape is that of the tokens.
func causalBias(g *onnx.Graph, shape *onnx.Value) *onnx.Value {
	length := g.Squeeze(g.Slice(shape, []int64{1}, []int64{2}, nil, nil), 0)
	place := g.Range(g.Scalar(onnx.Int64, 0), length, g.Scalar(onnx.Int64, 1))
	place = g.AssumeShape(place, onnx.Shape{sequence})
	behind := g.Greater(g.Unsqueeze(place, 0), g.Unsqueeze(place, 1))
	return g.Mul(g.Cast(behind, onnx.Float32), g.Scalar(onnx.Float32, -math.MaxFloat32))
}

// activations are the known values of hidden_act in config.json.
var activations = map[string]func(g *onnx.Graph, x *onnx.Value) *onnx.Value{
	"gelu":              (*onnx.Graph).Gelu,
	"gelu_new":          (*onnx.Graph).GeluTanh,
	"gelu_pytorch_tanh": (*onnx.Graph).GeluTanh,
	"quick_gelu":        quickGelu,
	"relu":              (*onnx.Graph).Relu,
}

// quickGelu is x * sigmoid(1.702 x), an approximation of Gelu by Hendrycks and
// Gimpel, 2016, that CLIP was trained with.
func quickGelu(g *onnx.Graph, x *onnx.Value) *onnx.Value {
	return g.Mul(x, g.Sigmoid(g.Mul(x, g.Scalar(onnx.Float32, 1.702))))
}

func activate(g *onnx.Graph, name string, x *onnx.Value) *onnx.Value { return activations[name](g, x) }

// checkLayers reports settings for which transformer layers cannot be built; heads is positive.
func checkLayers(hidden, heads int64, epsilon float64, activation string) error {
	switch {
	case hidden%heads != 0:
		return fmt.Errorf("hidden_size %d is not a multiple of %d num_attention_heads", hidden, heads)
	case !(epsilon > 0 && epsilon < 1):
		return fmt.Errorf("layer_norm_eps is %v", epsilon)
	case activations[activation] == nil:
		return fmt.Errorf("hidden_act %.80q is not known; known are %s", activation, strings.Join(slices.Sorted(maps.Keys(activations)), ", "))
	}
	return nil
}
