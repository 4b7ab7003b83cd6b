package featurize

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/dataerror"
	"pipe/onnx"
	"pipe/onnx/hf"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

func openText(t *testing.T, rt *ort.Runtime, name string) *TextEncoder {
	t.Helper()
	e, err := OpenTextEncoder(rt, name, DefaultTextEncoderOptions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func vectors(t *testing.T, e *TextEncoder, texts ...string) []float32 {
	t.Helper()
	out := make([]float32, len(texts)*e.Dim())
	if err := e.Encode(context.Background(), out, texts); err != nil {
		t.Fatal(err)
	}
	return out
}

// words draws texts of a few letters and blanks.
func words(r *rand.Rand, n int) []string {
	texts := make([]string, n)
	for i := range texts {
		for range r.IntN(15) {
			texts[i] += string("abcd fghij"[r.IntN(10)])
		}
	}
	return texts
}

// writeExport writes the graph of a folder as an export of other programs would
// be: hidden states under some name.
func writeExport(t *testing.T, folder, path string, o hf.Options) {
	t.Helper()
	m, err := hf.Model(folder, o)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o777)
	}
	if err == nil {
		err = m.WriteFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Weights, exports with and without a head, and the file that Encoder makes give
// the same vectors, up to rounding.
func TestRoadsAgree(t *testing.T) {
	rt, folder := orttest.Open(t, 0), hftest.Folder(t)
	texts := words(rand.New(rand.NewPCG(1, 1)), 50)
	want := vectors(t, openText(t, rt, folder), texts...)
	head, err := hf.ReadHead(folder)
	if err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(folder, "pooled.onnx")
	writeExport(t, folder, beside, hf.Options{Head: head})
	inside := filepath.Join(folder, "onnx", "model.onnx")
	roads := map[string]*TextEncoder{"export with head": openText(t, rt, beside)}
	writeExport(t, folder, inside, hf.Options{})
	roads["folder with export"], roads["export"] = openText(t, rt, folder), openText(t, rt, inside)
	model, err := ReadTextModel(folder, DefaultTextModelOptions())
	if err != nil {
		t.Fatal(err)
	}
	file, err := model.Encoder()
	if err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), "encoder.onnx")
	if err := file.WriteFile(alone); err != nil {
		t.Fatal(err)
	}
	roads["own file"] = openText(t, rt, alone)
	for road, e := range roads {
		for i, v := range vectors(t, e, texts...) {
			if math.Abs(float64(v-want[i])) > 1e-6 {
				t.Fatalf("%s: value %d is %g, want %g", road, i, v, want[i])
			}
		}
	}
	if got := roads["own file"]; got.Digest() != roads["folder with export"].Digest() || got.Name() != "small" {
		t.Errorf("the file is %s, %s", got.Name(), got.Digest())
	}
}

// A text's vector has the same bits in any company, also where texts are of one
// token, and where batches are many.
func TestVectorsOfSmallModel(t *testing.T) {
	rt, r := orttest.Open(t, 0), rand.New(rand.NewPCG(3, 4))
	for _, special := range []bool{true, false} {
		folder := hftest.Folder(t)
		if !special {
			editJSON(t, folder, "tokenizer.json", func(f map[string]any) { f["post_processor"] = nil })
		}
		e := openText(t, rt, folder)
		texts := words(r, 300)
		for i := range texts {
			texts[i] = "a" + texts[i]
		}
		texts[0], texts[1] = "a", "abcdefghijklmnopqrstuvwxyz"
		all := vectors(t, e, texts...)
		for n, text := range texts {
			if !slices.Equal(vectors(t, e, text), all[n*e.Dim():(n+1)*e.Dim()]) {
				t.Fatalf("text %d (%q) has another vector alone", n, text)
			}
		}
		for range 20 {
			pick := r.Perm(len(texts))[:1+r.IntN(100)]
			var some []string
			for _, n := range pick {
				some = append(some, texts[n])
			}
			got := vectors(t, e, some...)
			for i, n := range pick {
				if !slices.Equal(got[i*e.Dim():(i+1)*e.Dim()], all[n*e.Dim():(n+1)*e.Dim()]) {
					t.Fatalf("text %d (%q) has another vector among %d", n, texts[n], len(pick))
				}
			}
		}
	}
}

func editJSON(t *testing.T, folder, name string, edit func(map[string]any)) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	var f map[string]any
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	edit(f)
	if err := hftest.WriteJSON(folder, name, f); err != nil {
		t.Fatal(err)
	}
}

// What does not fit is a dataerror.Error that names it.
func TestBadTextModels(t *testing.T) {
	rt := orttest.Open(t, 1)
	export := func(build func(g *onnx.Graph)) func(t *testing.T, folder string) {
		return func(t *testing.T, folder string) {
			g := onnx.NewGraph("other")
			build(g)
			m, err := g.Build(onnx.BuildOptions{})
			if err == nil {
				err = m.WriteFile(filepath.Join(folder, "model.onnx"))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	ids := onnx.Shape{onnx.Sym("batch"), onnx.Sym("sequence")}
	for want, spoil := range map[string]func(t *testing.T, folder string){
		"the graph has inputs pixels (float32 [batch sequence])": export(func(g *onnx.Graph) {
			g.Output("last_hidden_state", g.Unsqueeze(g.Input("pixels", onnx.Float32, ids), 2))
		}),
		"but no input_ids": export(func(g *onnx.Graph) {
			g.Output("last_hidden_state", g.Cast(g.Unsqueeze(g.Input("attention_mask", onnx.Int64, ids), 2), onnx.Float32))
		}),
		"has outputs logits (float32 [batch sequence])": export(func(g *onnx.Graph) {
			g.Output("logits", g.Cast(g.Input("input_ids", onnx.Int64, ids), onnx.Float32))
		}),
		"vectors of shape [1 6], not [1 7]": export(func(g *onnx.Graph) { // as many numbers as tokens
			s := g.ReduceMax(g.Cast(g.Input("input_ids", onnx.Int64, ids), onnx.Float32), false, 0)
			g.Output("sentence_embedding", g.AssumeShape(g.Unsqueeze(s, 0), onnx.Shape{onnx.Fix(1), onnx.Sym("width")}))
		}),
		"ids up to 55, but the model has 40 tokens": func(t *testing.T, folder string) {
			writeExport(t, folder, filepath.Join(folder, "model.onnx"), hf.Options{})
			editJSON(t, folder, "config.json", func(f map[string]any) { f["vocab_size"] = 40 })
		},
		"tokenizer.json: no such file": func(t *testing.T, folder string) {
			if err := os.Remove(filepath.Join(folder, "tokenizer.json")); err != nil {
				t.Fatal(err)
			}
		},
		"is not supported": func(t *testing.T, folder string) {
			editJSON(t, folder, "tokenizer.json", func(f map[string]any) { f["normalizer"] = map[string]any{"type": "Nmt"} })
		},
		"max_seq_length is -3": func(t *testing.T, folder string) {
			editJSON(t, folder, "sentence_bert_config.json", func(f map[string]any) { f["max_seq_length"] = -3 })
		},
		"is not known; known are": func(t *testing.T, folder string) {
			editJSON(t, folder, "config.json", func(f map[string]any) { f["model_type"] = "gpt2" })
		},
	} {
		folder := hftest.Folder(t)
		spoil(t, folder)
		e, err := OpenTextEncoder(rt, folder, DefaultTextEncoderOptions())
		if err == nil {
			err = e.Encode(context.Background(), make([]float32, 2*e.Dim()), []string{"ab", "abcd"})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q, got %v", want, err)
			}
			e.Close()
			continue
		}
		var data *dataerror.Error
		if !errors.As(err, &data) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := OpenTextEncoder(rt, hftest.Folder(t), TextEncoderOptions{TextModelOptions: TextModelOptions{MaxLength: hftest.Positions + 1}}); err == nil {
		t.Error("more tokens than positions")
	}
	if _, err := OpenTextEncoder(rt, hftest.Folder(t), TextEncoderOptions{TextModelOptions: TextModelOptions{MaxLength: -1}, Workers: -1}); err == nil {
		t.Error("negative options")
	}
	if _, err := OpenTextEncoder(rt, "no/such-model", DefaultTextEncoderOptions()); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no model: %v", err)
	}
}

// A vector that is not finite is an error that names the text, and so is a
// cancelled call.
func TestEncodeErrors(t *testing.T) {
	rt, folder := orttest.Open(t, 1), hftest.Folder(t)
	w := hftest.BERTWeights()
	table := w["embeddings.word_embeddings.weight"].Float32s()
	const z = 4 + 2*25 // "z" at the start of a word
	table[z*hftest.Hidden] = float32(math.NaN())
	w["embeddings.word_embeddings.weight"] = onnx.Float32s([]int64{hftest.Vocab, hftest.Hidden}, table)
	b, err := hftest.Safetensors(w)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "model.safetensors"), b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	e := openText(t, rt, folder)
	dst := make([]float32, 3*e.Dim())
	err = e.Encode(context.Background(), dst, []string{"a", "b", "z"})
	if err == nil || !strings.Contains(err.Error(), "text 2: the vector is not finite") {
		t.Errorf("a vector that is not finite: %v", err)
	}
	if err := e.Encode(context.Background(), dst, []string{"a"}); err == nil {
		t.Error("room for other texts")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.Encode(ctx, dst, []string{"a", "b", "c"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := e.Encode(context.Background(), nil, nil); err != nil {
		t.Errorf("no texts: %v", err)
	}
}

// The digest follows all that decides a vector, and nothing else.
func TestTextDigest(t *testing.T) {
	digest := func(maxLength int, change func(folder string)) string {
		t.Helper()
		folder := hftest.Folder(t)
		change(folder)
		m, err := ReadTextModel(folder, TextModelOptions{MaxLength: maxLength})
		if err != nil {
			t.Fatal(err)
		}
		return m.Digest()
	}
	nothing := func(string) {}
	want := digest(0, nothing)
	if got := digest(20, nothing); got != want { // 20 is what the folder says
		t.Error("the digest depends on more than it should")
	}
	for what, got := range map[string]string{
		"length": digest(12, nothing),
		"pooling": digest(0, func(f string) {
			editJSON(t, f, "1_Pooling/config.json", func(c map[string]any) { c["pooling_mode_mean_tokens"], c["pooling_mode_cls_token"] = false, true })
		}),
		"tokenizer": digest(0, func(f string) { editJSON(t, f, "tokenizer.json", func(c map[string]any) { c["normalizer"] = nil }) }),
		"config":    digest(0, func(f string) { editJSON(t, f, "config.json", func(c map[string]any) { c["layer_norm_eps"] = 1e-6 }) }),
		"weights": digest(0, func(f string) {
			path := filepath.Join(f, "model.safetensors")
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b[len(b)-1] ^= 1
			if err := os.WriteFile(path, b, 0o666); err != nil {
				t.Fatal(err)
			}
		}),
	} {
		if got == want {
			t.Errorf("the digest does not depend on the %s", what)
		}
	}
}
