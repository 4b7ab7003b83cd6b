// Package languagetest makes small language models for tests: a causal model over
// bytes in every form of graph that exports come in, and its tokenizer. It imports
// onnx, which builds the graphs.
package languagetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"pipe/onnx"
)

// Toy describes a causal language model with one layer of attention over bytes. Its
// weights are the same for all forms.
type Toy struct {
	Positions bool // takes position_ids
	Cache     bool // takes and gives what it remembers
	Half      bool // cache and logits are float16
	Bad       float32
}

const (
	toyWords = 260 // 256 bytes, three special tokens and a spare row
	toyEnd   = 258
	toyLimit = 900
	toyHeads = 2
	toySize  = 4
	toyWidth = toyHeads * toySize
)

// Write makes a folder as Hugging Face lays it out. Graphs of all forms compute
// the same function.
func (m Toy) Write(t testing.TB, dir string) {
	t.Helper()
	WriteJSON(t, filepath.Join(dir, "config.json"), map[string]any{
		"model_type": "qwen3", "vocab_size": toyWords, "max_position_embeddings": toyLimit, "eos_token_id": []int{toyEnd},
		"num_attention_heads": 4, "num_key_value_heads": toyHeads, "head_dim": toySize,
	})
	WriteJSON(t, filepath.Join(dir, "tokenizer.json"), ByteTokenizer("<|endoftext|>", "<|im_start|>", "<|im_end|>"))
	graph, err := m.graph().Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.WriteFile(filepath.Join(dir, "model.onnx")); err != nil {
		t.Fatal(err)
	}
}

func (m Toy) graph() *onnx.Graph {
	g := onnx.NewGraph("toy")
	r := rand.New(rand.NewPCG(1, 2))
	weight := func(rows, columns int64, scale float64) *onnx.Value {
		w := make([]float32, rows*columns)
		for i := range w {
			w[i] = float32(r.NormFloat64() * scale)
		}
		return g.Const(onnx.Float32s([]int64{rows, columns}, w))
	}
	batch, sequence := onnx.Sym("batch"), onnx.Sym("sequence")
	total := sequence
	if m.Cache {
		total = onnx.Sym("(past+sequence)")
	}
	ids := g.Input("input_ids", onnx.Int64, onnx.Shape{batch, sequence})
	mask := g.Input("attention_mask", onnx.Int64, onnx.Shape{batch, total})
	length := func(v *onnx.Value) *onnx.Value { return g.Gather(g.ShapeOf(v), g.Scalar(onnx.Int64, 1), 0) }
	zero, one := g.Scalar(onnx.Int64, 0), g.Scalar(onnx.Int64, 1)
	queries := g.AssumeShape(g.Range(g.Sub(length(mask), length(ids)), length(mask), one), onnx.Shape{sequence})
	keys := g.AssumeShape(g.Range(zero, length(mask), one), onnx.Shape{total})
	at := queries
	if m.Positions {
		at = g.Input("position_ids", onnx.Int64, onnx.Shape{batch, sequence})
	}
	embedding := weight(toyWords, toyWidth, 1)
	x := g.Add(g.Gather(embedding, ids, 0), g.Gather(weight(toyLimit, toyWidth, 0.5), at, 0))
	heads := func(v *onnx.Value) *onnx.Value {
		return g.Transpose(g.Reshape(g.MatMul(v, weight(toyWidth, toyWidth, 0.6)), 0, 0, toyHeads, toySize), 0, 2, 1, 3)
	}
	q, k, v := heads(x), heads(x), heads(x)
	if m.Cache {
		past := onnx.Shape{batch, onnx.Sym("heads"), onnx.Sym("past"), onnx.Fix(toySize)}
		grow := func(name string, now *onnx.Value) *onnx.Value {
			old := g.AssumeShape(g.Cast(g.Input("past_key_values.0."+name, m.outside(), past), onnx.Float32), onnx.Shape{batch, onnx.Fix(toyHeads), onnx.Sym("past"), onnx.Fix(toySize)})
			all := g.AssumeShape(g.Concat(2, old, now), onnx.Shape{batch, onnx.Fix(toyHeads), total, onnx.Fix(toySize)})
			g.Output("present.0."+name, g.Cast(all, m.outside()))
			return all
		}
		k, v = grow("key", k), grow("value", v)
	}
	past := g.GreaterOrEqual(g.Unsqueeze(queries, 1), keys) // sequence x total
	seen := g.Equal(g.Unsqueeze(mask, 1, 2), one)           // batch x 1 x 1 x total
	scores := g.Mul(g.MatMul(q, g.Transpose(k, 0, 1, 3, 2)), g.Const(onnx.Float32s(nil, []float32{1 / float32(math.Sqrt(toySize))})))
	scores = g.Where(g.And(past, seen), scores, g.Const(onnx.Float32s(nil, []float32{-1e9})))
	y := g.Reshape(g.Transpose(g.MatMul(g.Softmax(scores, -1), v), 0, 2, 1, 3), 0, 0, toyWidth)
	y = g.Add(x, g.MatMul(y, weight(toyWidth, toyWidth, 0.6)))
	logits := g.MatMul(y, g.Transpose(embedding, 1, 0))
	if m.Bad != 0 {
		logits = g.Mul(logits, g.Const(onnx.Float32s(nil, []float32{m.Bad})))
	}
	g.Output("logits", g.Cast(logits, m.outside()))
	return g
}

// outside is the type of what a graph exchanges beside tokens.
func (m Toy) outside() onnx.DType {
	if m.Half {
		return onnx.Float16
	}
	return onnx.Float32
}

// ToyForms are the forms of graph that exports come in.
func ToyForms() map[string]Toy {
	forms := make(map[string]Toy)
	for i := range 4 {
		m := Toy{Positions: i&1 > 0, Cache: i&2 > 0}
		forms[fmt.Sprintf("positions %s, cache %s", strconv.FormatBool(m.Positions), strconv.FormatBool(m.Cache))] = m
	}
	return forms
}
