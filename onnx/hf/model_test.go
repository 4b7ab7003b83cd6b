package hf_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/onnx"
	"pipe/onnx/hf"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
)

// small writes the small model.
func small(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := hftest.WriteBERT(folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

func writeWeights(t *testing.T, folder, name string, w map[string]*onnx.Tensor) {
	t.Helper()
	b, err := hftest.Safetensors(w)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name), b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// build builds the model of a folder, which must pass our check.
func build(t *testing.T, folder string, o hf.Options) *onnx.Model {
	t.Helper()
	m, err := hf.Model(folder, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	return m
}

func marshal(t *testing.T, m *onnx.Model) []byte {
	t.Helper()
	b, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// texts are two texts, the first one padded with a token that must not matter.
func texts(padding int64) map[string]*onnx.Tensor {
	return map[string]*onnx.Tensor{
		"input_ids":      onnx.Int64s([]int64{2, 4}, []int64{2, 9, 3, padding, 2, 7, 8, 3}),
		"attention_mask": onnx.Int64s([]int64{2, 4}, []int64{1, 1, 1, 0, 1, 1, 1, 1}),
		"token_type_ids": onnx.Int64s([]int64{2, 4}, make([]int64, 8)),
	}
}

// Heads transform the hidden states as specified, and padding does not matter.
func TestHeads(t *testing.T) {
	rt, folder := orttest.Open(t, 1), small(t)
	hidden := run(t, rt, build(t, folder, hf.Options{}), texts(0))[hf.HiddenStates].Float32s()
	const d = hftest.Hidden
	mean := make([]float32, 2*d)
	for i := range d {
		mean[i] = (hidden[i] + hidden[d+i] + hidden[2*d+i]) / 3
		for k := range 4 {
			mean[d+i] += hidden[(4+k)*d+i] / 4
		}
	}
	cls := slices.Concat(hidden[:d], hidden[4*d:5*d])
	for _, c := range []struct {
		head hf.Head
		want []float32
	}{{hf.Head{Pooling: hf.PoolMean}, mean}, {hf.Head{Pooling: hf.PoolCLS}, cls}} {
		m := build(t, folder, hf.Options{Head: &c.head})
		near(t, c.head.Pooling, run(t, rt, m, texts(0))[hf.SentenceEmbedding].Float32s(), c.want)
		near(t, c.head.Pooling+", other padding", run(t, rt, m, texts(40))[hf.SentenceEmbedding].Float32s(), c.want)
		c.head.Normalize = true
		unit := run(t, rt, build(t, folder, hf.Options{Head: &c.head}), texts(0))[hf.SentenceEmbedding].Float32s()
		for n := range 2 {
			square := float32(0)
			for i := range d {
				square += unit[n*d+i] * unit[n*d+i]
			}
			near(t, "length", []float32{square}, []float32{1})
		}
	}
}

// Shards, half precision and a prefix of the names give the same model as a single plain file.
func TestCheckpointsInOtherForms(t *testing.T) {
	folder, w := small(t), hftest.BERTWeights()
	for _, v := range w { // round to numbers that half precision represents
		for i := 0; i < len(v.Raw); i += 4 {
			v.Raw[i], v.Raw[i+1] = 0, 0
		}
	}
	writeWeights(t, folder, "model.safetensors", w)
	want := marshal(t, build(t, folder, hf.Options{}))
	half, prefixed := map[string]*onnx.Tensor{}, map[string]*onnx.Tensor{}
	for name, v := range w {
		b := &onnx.Tensor{DType: onnx.BFloat16, Shape: v.Shape}
		for i := 0; i < len(v.Raw); i += 4 {
			b.Raw = append(b.Raw, v.Raw[i+2:i+4]...)
		}
		half[name], prefixed["bert."+name] = b, v
	}
	for what, w := range map[string]map[string]*onnx.Tensor{"bfloat16": half, "prefixed": prefixed} {
		writeWeights(t, folder, "model.safetensors", w)
		if !slices.Equal(marshal(t, build(t, folder, hf.Options{})), want) {
			t.Errorf("%s: another model", what)
		}
	}
	if err := os.Remove(filepath.Join(folder, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	shards, index := map[string]map[string]*onnx.Tensor{"a.safetensors": {}, "b.safetensors": {}}, map[string]string{}
	for i, name := range slices.Sorted(maps.Keys(w)) {
		file := []string{"a.safetensors", "b.safetensors"}[i%2]
		shards[file][name], index[name] = w[name], file
	}
	for file, part := range shards {
		writeWeights(t, folder, file, part)
	}
	if err := hftest.WriteJSON(folder, "model.safetensors.index.json", map[string]any{"weight_map": index}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(marshal(t, build(t, folder, hf.Options{})), want) {
		t.Error("shards: another model")
	}
	files, err := hf.ModelFiles(folder)
	if err != nil || len(files) != 4 {
		t.Errorf("files are %v (%v)", files, err)
	}
}

// relatives are BERT's weights under the names of another architecture, with its configuration. None distinguishes two
// texts.
func relatives(w map[string]*onnx.Tensor) map[string]func() (map[string]any, map[string]*onnx.Tensor) {
	distil := strings.NewReplacer(
		"encoder.layer", "transformer.layer", "attention.self.query", "attention.q_lin", "attention.self.key", "attention.k_lin",
		"attention.self.value", "attention.v_lin", "attention.output.dense", "attention.out_lin",
		"attention.output.LayerNorm", "sa_layer_norm", "intermediate.dense", "ffn.lin1", "output.dense", "ffn.lin2", "output.LayerNorm", "output_layer_norm",
	)
	return map[string]func() (map[string]any, map[string]*onnx.Tensor){
		"distilbert": func() (map[string]any, map[string]*onnx.Tensor) {
			b, out := hftest.BERTConfig(), map[string]*onnx.Tensor{}
			for name, v := range w {
				out["distilbert."+distil.Replace(name)] = v
			}
			return map[string]any{
				"model_type": "distilbert", "n_layers": b["num_hidden_layers"], "n_heads": b["num_attention_heads"], "dim": b["hidden_size"],
				"hidden_dim": b["intermediate_size"], "vocab_size": b["vocab_size"], "max_position_embeddings": b["max_position_embeddings"],
			}, out
		},
		"roberta": func() (map[string]any, map[string]*onnx.Tensor) {
			c, out := hftest.BERTConfig(), maps.Clone(w)
			c["model_type"], c["pad_token_id"], c["type_vocab_size"] = "roberta", 5, 1
			c["max_position_embeddings"] = hftest.Positions + 6
			p := w["embeddings.position_embeddings.weight"]
			moved := make([]byte, 6*hftest.Hidden*4, 6*hftest.Hidden*4+len(p.Raw))
			out["embeddings.position_embeddings.weight"] = &onnx.Tensor{
				DType: p.DType, Shape: []int64{hftest.Positions + 6, hftest.Hidden}, Raw: append(moved, p.Raw...),
			}
			out["embeddings.token_type_embeddings.weight"] = onnx.Float32s([]int64{1, hftest.Hidden}, make([]float32, hftest.Hidden))
			return c, out
		},
	}
}

// Architectures that are BERT under other names give the same results as BERT with the same weights.
func TestRelativesOfBERT(t *testing.T) {
	rt, folder, w := orttest.Open(t, 1), small(t), hftest.BERTWeights()
	w["embeddings.token_type_embeddings.weight"] = onnx.Float32s([]int64{2, hftest.Hidden}, make([]float32, 2*hftest.Hidden))
	writeWeights(t, folder, "model.safetensors", w)
	head := &hf.Head{Pooling: hf.PoolMean}
	in := texts(5)
	want := run(t, rt, build(t, folder, hf.Options{Head: head}), in)[hf.SentenceEmbedding].Float32s()
	delete(in, "token_type_ids")
	for name, relative := range relatives(w) {
		config, weights := relative()
		if err := hftest.WriteJSON(folder, "config.json", config); err != nil {
			t.Fatal(err)
		}
		writeWeights(t, folder, "model.safetensors", weights)
		near(t, name, run(t, rt, build(t, folder, hf.Options{Head: head}), in)[hf.SentenceEmbedding].Float32s(), want)
		if c, err := hf.ReadConfig(folder); err != nil || c.MaxPositions != hftest.Positions {
			t.Errorf("%s: texts have up to %d tokens (%v)", name, c.MaxPositions, err)
		}
	}
}

// A mismatch is an error that names it.
func TestBadFolders(t *testing.T) {
	config := func(key string, value any) func(string) error {
		return func(folder string) error {
			c := hftest.BERTConfig()
			c[key] = value
			return hftest.WriteJSON(folder, "config.json", c)
		}
	}
	weights := func(change func(map[string]*onnx.Tensor)) func(string) error {
		return func(folder string) error {
			w := hftest.BERTWeights()
			change(w)
			b, err := hftest.Safetensors(w)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(folder, "model.safetensors"), b, 0o666)
		}
	}
	remove := func(name string) func(string) error {
		return func(folder string) error { return os.Remove(filepath.Join(folder, name)) }
	}
	for want, spoil := range map[string]func(folder string) error{
		`model_type "gpt2" is not known; known are `:  config("model_type", "gpt2"),
		"num_attention_heads is 0":                    config("num_attention_heads", 0),
		"hidden_size is 1000000000000":                config("hidden_size", 1000000000000),
		"is not a multiple of 3":                      config("num_attention_heads", 3),
		"layer_norm_eps is -1":                        config("layer_norm_eps", -1),
		"position_embedding_type is \"relative_key\"": config("position_embedding_type", "relative_key"),
		"is_decoder":                                  config("is_decoder", true),
		"hidden_act \"swish\" is not known":           config("hidden_act", "swish"),
		"shape [64 16], config.json asks for [65 16]": config("vocab_size", 65),
		`no tensor "encoder.layer.2.`:                 config("num_hidden_layers", 3),
		`no tensor "encoder.layer.2.attention.self`:   config("num_hidden_layers", 1<<24), // at once, not after all layers
		"cannot unmarshal":                            config("hidden_size", "sixteen"),
		"pad_token_id 23 leaves no position of 24": func(folder string) error {
			c := hftest.BERTConfig()
			c["model_type"], c["pad_token_id"] = "roberta", 23
			return hftest.WriteJSON(folder, "config.json", c)
		},
		"no tensor \"embeddings.LayerNorm.bias\"": weights(func(w map[string]*onnx.Tensor) { delete(w, "embeddings.LayerNorm.bias") }),
		"holds int64": weights(func(w map[string]*onnx.Tensor) {
			w["embeddings.LayerNorm.bias"] = onnx.Int64s([]int64{hftest.Hidden}, make([]int64, hftest.Hidden))
		}),
		"no model.safetensors": remove("model.safetensors"),
		"no such file":         remove("config.json"),
		`is in "../x.safetensors", not in a safetensors file of the folder`: func(folder string) error {
			if err := os.Remove(filepath.Join(folder, "model.safetensors")); err != nil {
				return err
			}
			return hftest.WriteJSON(folder, "model.safetensors.index.json", map[string]any{"weight_map": map[string]string{"a": "../x.safetensors"}})
		},
	} {
		folder := small(t)
		if err := spoil(folder); err != nil {
			t.Fatal(err)
		}
		if _, err := hf.Model(folder, hf.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestBadHeads(t *testing.T) {
	modules := func(list ...any) func(string) error {
		return func(folder string) error { return hftest.WriteJSON(folder, "modules.json", list) }
	}
	pooling := func(fields map[string]any) func(string) error {
		return func(folder string) error { return hftest.WriteJSON(folder, "1_Pooling/config.json", fields) }
	}
	for want, spoil := range map[string]func(folder string) error{
		`module "Dense" is not known`: modules(map[string]string{"type": "sentence_transformers.models.Dense"}),
		"has no Pooling":              modules(map[string]string{"type": "sentence_transformers.models.Transformer"}),
		"not inside the folder":       modules(map[string]string{"type": "x.Pooling", "path": "../other"}),
		"sets no pooling_mode":        pooling(map[string]any{"pooling_mode_mean_tokens": false}),
		"is neither true nor false":   pooling(map[string]any{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": 1}),
		"pooling_mode_max_tokens":     pooling(map[string]any{"pooling_mode_max_tokens": true}),
		"known are one of":            pooling(map[string]any{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true}),
	} {
		folder := small(t)
		if err := spoil(folder); err != nil {
			t.Fatal(err)
		}
		if h, err := hf.ReadHead(folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v (%v)", want, err, h)
		}
	}
	if h, err := hf.ReadHead(t.TempDir()); h != nil || err != nil {
		t.Errorf("a folder without modules.json has head %v (%v)", h, err)
	}
}

// The checker of the ONNX project accepts every graph.
func TestOfficialCheckerAgrees(t *testing.T) {
	py, dir := judge.Python(t, "onnx"), t.TempDir()
	var paths []string
	for _, activation := range []string{"gelu", "gelu_new", "relu"} {
		folder := small(t)
		c := hftest.BERTConfig()
		c["hidden_act"] = activation
		if err := hftest.WriteJSON(folder, "config.json", c); err != nil {
			t.Fatal(err)
		}
		for name, head := range map[string]*hf.Head{"plain": nil, "mean": {Pooling: hf.PoolMean, Normalize: true}, "cls": {Pooling: hf.PoolCLS}} {
			path := filepath.Join(dir, activation+name+".onnx")
			if err := build(t, folder, hf.Options{Head: head}).WriteFile(path); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
	}
	folder := hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	for _, o := range []hf.Options{
		{Tower: hf.TowerText},
		{Tower: hf.TowerVision},
		{Tower: hf.TowerText, Head: &hf.Head{Pooling: hf.PoolModel}},
		{Tower: hf.TowerVision, Head: &hf.Head{Pooling: hf.PoolModel, Normalize: true}},
	} {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("clip%d.onnx", len(paths))))
		if err := build(t, folder, o).WriteFile(paths[len(paths)-1]); err != nil {
			t.Fatal(err)
		}
	}
	if out := judge.Run(t, py, "", "import sys, onnx\nfor p in sys.argv[1:]: onnx.checker.check_model(p, full_check=True)", paths...); out != "" {
		t.Error(out)
	}
}

// A name is looked up as a path, then in the cache, by its main revision.
func TestResolve(t *testing.T) {
	cache, folder := t.TempDir(), t.TempDir()
	t.Setenv("HF_HUB_CACHE", cache)
	snapshot := filepath.Join(cache, "models--org--name", "snapshots", "abc")
	refs := filepath.Join(cache, "models--org--name", "refs")
	for _, dir := range []string{snapshot, refs} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	resolve := func(name, want string) {
		t.Helper()
		if got, err := hf.Resolve(name); err != nil || got != want {
			t.Errorf("%q is found at %q (%v), want %q", name, got, err, want)
		}
	}
	missing := func(name, hint string) {
		t.Helper()
		_, err := hf.Resolve(name)
		var m *hf.MissingModelError
		if !errors.As(err, &m) || !strings.Contains(m.Hint(), hint) {
			t.Errorf("%q: %v", name, err)
		}
	}
	missing("org/name", "run `hf download org/name`")
	revision := func(text string) {
		if err := os.WriteFile(filepath.Join(refs, "main"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	revision("abc\n")
	resolve("org/name", snapshot)
	resolve(folder, folder)
	missing("org/other", "hf download org/other")
	missing(filepath.Join(folder, "absent"), "give a folder")
	missing("../absent", "give a folder")
	missing("out/encoder.onnx", "an .onnx file")
	revision("../../../etc")
	if _, err := hf.Resolve("org/name"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a revision that leads out: %v", err)
	}
	t.Setenv("HF_HUB_CACHE", "")
	home := t.TempDir()
	t.Setenv("HF_HOME", home)
	if err := os.Rename(cache, filepath.Join(home, "hub")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "hub", "models--org--name", "refs", "main"), []byte("abc"), 0o666); err != nil {
		t.Fatal(err)
	}
	resolve("org/name", filepath.Join(home, "hub", "models--org--name", "snapshots", "abc"))
}
