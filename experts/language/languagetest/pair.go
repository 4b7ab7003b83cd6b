package languagetest

import (
	"path/filepath"
	"testing"

	"pipe/onnx"
)

// WritePairGraph writes a graph into a folder that scores pairs by their ids and types,
// whatever the filling: a class per weight.
func WritePairGraph(t testing.TB, dir string, weights ...float32) {
	t.Helper()
	g := onnx.NewGraph("pairs")
	shape := onnx.Shape{onnx.Sym("batch"), onnx.Sym("sequence")}
	ids, mask := g.Input("input_ids", onnx.Int64, shape), g.Input("attention_mask", onnx.Int64, shape)
	types := g.Input("token_type_ids", onnx.Int64, shape)
	total := func(v *onnx.Value) *onnx.Value {
		return g.Cast(g.ReduceSum(g.Mul(v, mask), true, 1), onnx.Float32)
	}
	sum := g.Mul(total(ids), g.Const(onnx.Float32s([]int64{1, int64(len(weights))}, weights)))
	g.Output("logits", g.Add(sum, total(types)))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteFile(filepath.Join(dir, "model.onnx")); err != nil {
		t.Fatal(err)
	}
}

// WritePairFolder writes a classifier over bytes of three classes, which have the given
// names, and returns its folder.
func WritePairFolder(t testing.TB, classes ...string) string {
	t.Helper()
	dir := t.TempDir()
	names := make(map[string]string)
	for i, c := range classes {
		names[string(rune('0'+i))] = c
	}
	WriteJSON(t, filepath.Join(dir, "config.json"), map[string]any{"model_type": "bert", "vocab_size": 300, "id2label": names})
	WriteJSON(t, filepath.Join(dir, "tokenizer.json"), ByteTokenizer("[PAD]", "[CLS]", "[SEP]"))
	WritePairGraph(t, dir, 1, -1, 0.5)
	return dir
}
