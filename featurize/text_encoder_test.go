package featurize

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pipe/featurize/tokenizer"
	"pipe/internal/realdata"
	"pipe/onnx/hf"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

// miniLM is the real encoder with the texts, token ids and vectors that the
// official library made.
type miniLM struct {
	folder string
	Texts  []string  `json:"texts"`
	IDs    [][]int32 `json:"ids"`
	want   []float32 // texts x 384
}

func openMiniLM(t testing.TB) *miniLM {
	t.Helper()
	m := &miniLM{folder: realdata.Folder(t, "models", "all-MiniLM-L6-v2")}
	text, err := os.ReadFile(filepath.Join(m.folder, "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, m); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(m.folder, "golden_embeddings.f32"))
	if err != nil {
		t.Fatal(err)
	}
	m.want = make([]float32, len(raw)/4)
	decodeRow(m.want, raw)
	return m
}

// encoded is the golden ids as the tokenizer would give them.
func (m *miniLM) encoded() []tokenizer.Encoding {
	out := make([]tokenizer.Encoding, len(m.IDs))
	for i, ids := range m.IDs {
		out[i] = tokenizer.Encoding{IDs: ids, Types: make([]int32, len(ids))}
	}
	return out
}

// bare is the encoder without a tokenizer.
func (m *miniLM) bare(t testing.TB, rt *ort.Runtime) *TextEncoder {
	t.Helper()
	head, err := hf.ReadHead(m.folder)
	if err != nil {
		t.Fatal(err)
	}
	graph, err := hf.Model(m.folder, hf.Options{Head: head})
	if err != nil {
		t.Fatal(err)
	}
	b, err := graph.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	o := rt.SessionOptions()
	o.Threads = 1
	s, err := rt.Session(b, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &TextEncoder{dim: 384, inputs: textInputs, session: s, workers: 2}
}

// cosine of two vectors.
func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

// sameDirections holds vectors to the golden ones. An approximated activation is 4e-6 off, rounding 1e-12.
func sameDirections(t *testing.T, got, want []float32, dim int) {
	t.Helper()
	worst := 1.0
	for n := 0; n < len(want); n += dim {
		worst = min(worst, cosine(got[n:n+dim], want[n:n+dim]))
	}
	if !(worst >= 0.9999999) {
		t.Errorf("the smallest cosine with the golden vectors is %.9f", worst)
	}
	t.Logf("the smallest cosine of %d is %.9f", len(want)/dim, worst)
}

// A text's vector has the same bits alone, in any order and among any others.
func TestVectorsDoNotDependOnNeighbours(t *testing.T) {
	m := openMiniLM(t)
	e := m.bare(t, orttest.Open(t, 0))
	ctx, texts := context.Background(), m.encoded()
	all := make([]float32, len(texts)*e.dim)
	if err := e.encode(ctx, all, texts); err != nil {
		t.Fatal(err)
	}
	sameDirections(t, all, m.want, e.dim)
	check := func(what string, got []float32, n int) {
		t.Helper()
		if !slices.Equal(got, all[n*e.dim:(n+1)*e.dim]) {
			t.Errorf("%s: text %d has another vector", what, n)
		}
	}
	one := make([]float32, e.dim)
	for n := range texts {
		if err := e.encode(ctx, one, texts[n:n+1]); err != nil {
			t.Fatal(err)
		}
		check("alone", one, n)
	}
	var many []tokenizer.Encoding
	for range 9 {
		many = append(many, texts...)
	}
	slices.Reverse(many)
	got := make([]float32, len(many)*e.dim)
	if err := e.encode(ctx, got, many); err != nil {
		t.Fatal(err)
	}
	for i := range many {
		check("among many", got[i*e.dim:(i+1)*e.dim], len(texts)-1-i%len(texts))
	}
}

// Texts come out as the official library's vectors, from the folder and from the
// file that Encoder makes of it, which are the same encoder.
func TestTextEncoderEqualsGolden(t *testing.T) {
	if testing.Short() {
		t.Skip("compares figures; TestVectorsDoNotDependOnNeighbours runs the same code in the short form")
	}
	m, rt := openMiniLM(t), orttest.Open(t, 0)
	model, err := ReadTextModel(m.folder, DefaultTextModelOptions())
	if err != nil {
		t.Fatal(err)
	}
	if model.MaxLength != 256 {
		t.Errorf("texts have up to %d tokens, want the 256 of sentence_bert_config.json", model.MaxLength)
	}
	file, err := model.Encoder()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "encoder.onnx")
	if err := file.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	var vectors [][]float32
	for _, name := range []string{m.folder, path} {
		e, err := OpenTextEncoder(rt, name, DefaultTextEncoderOptions())
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		got := make([]float32, len(m.Texts)*e.Dim())
		if err := e.Encode(context.Background(), got, m.Texts); err != nil {
			t.Fatal(err)
		}
		sameDirections(t, got, m.want, e.Dim())
		vectors = append(vectors, got)
		if e.Name() != "all-MiniLM-L6-v2" || e.Digest() != model.Digest() {
			t.Errorf("%s is called %s, %s", name, e.Name(), e.Digest())
		}
	}
	if !slices.Equal(vectors[0], vectors[1]) {
		t.Error("folder and file give different vectors")
	}
}
