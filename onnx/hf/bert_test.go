package hf_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pipe/internal/realdata"
	"pipe/onnx"
	"pipe/onnx/hf"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

// golden was computed by the official library for a padded batch.
type golden struct {
	IDs    [][]int64     `json:"input_ids"`
	Mask   [][]int64     `json:"attention_mask"`
	Types  [][]int64     `json:"token_type_ids"`
	Hidden [][][]float32 `json:"last_hidden_state"`
	Mean   [][]float32   `json:"mean_normalized"`
}

func readGolden(t *testing.T, folder string) golden {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g golden) inputs() map[string]*onnx.Tensor {
	flat := func(rows [][]int64) *onnx.Tensor {
		var all []int64
		for _, r := range rows {
			all = append(all, r...)
		}
		return onnx.Int64s([]int64{int64(len(rows)), int64(len(rows[0]))}, all)
	}
	return map[string]*onnx.Tensor{"input_ids": flat(g.IDs), "attention_mask": flat(g.Mask), "token_type_ids": flat(g.Types)}
}

func run(t *testing.T, rt *ort.Runtime, m *onnx.Model, in map[string]*onnx.Tensor) map[string]*onnx.Tensor {
	t.Helper()
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	b, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	s, err := rt.Session(b, rt.SessionOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// near compares values with the golden ones. An approximated activation is off by 4e-5, rounding by 3e-7.
func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	within(t, what, got, want, 5e-6)
}

func within(t *testing.T, what string, got, want []float32, most float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	worst := 0.0
	for i := range want {
		worst = max(worst, math.Abs(float64(got[i])-float64(want[i])))
	}
	if !(worst <= most) {
		t.Errorf("%s differs by up to %g", what, worst)
	}
	t.Logf("%s differs by up to %.2g", what, worst)
}

// The graph built from the weights and the export of the official library agree with that library, also for padded
// texts.
func TestBERTEqualsGolden(t *testing.T) {
	folder := realdata.Folder(t, "models", "tiny-random", "bert-tiny-random")
	rt, g := orttest.Open(t, 1), readGolden(t, folder)
	var mean, hidden []float32
	for n, rows := range g.Hidden {
		for _, row := range rows {
			hidden = append(hidden, row...)
		}
		mean = append(mean, g.Mean[n]...)
	}
	head := &hf.Head{Pooling: hf.PoolMean, Normalize: true}
	plain, err := hf.Model(folder, hf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	export, err := onnx.ReadFile(filepath.Join(folder, "onnx", "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	pooled, err := hf.Model(folder, hf.Options{Head: head})
	if err != nil {
		t.Fatal(err)
	}
	for what, m := range map[string]*onnx.Model{"weights": plain, "export": export} {
		near(t, what, run(t, rt, m, g.inputs())[hf.HiddenStates].Float32s(), hidden)
		behind, err := hf.AddHead(m, hf.HiddenStates, head)
		if err != nil {
			t.Fatal(err)
		}
		near(t, what+" and a head", run(t, rt, behind, g.inputs())[hf.SentenceEmbedding].Float32s(), mean)
	}
	near(t, "weights with head", run(t, rt, pooled, g.inputs())[hf.SentenceEmbedding].Float32s(), mean)
}
