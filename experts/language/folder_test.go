package language

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/internal/fuzztest"
	"pipe/onnx"
)

// FuzzModelConfig: config.json and generation_config.json of a language model are an error about one of them, or settings that
// give an axis of the cache a size of at least 1, a row at least one token.
func FuzzModelConfig(f *testing.F) {
	f.Add([]byte(`{"model_type": "qwen2", "vocab_size": 151936, "max_position_embeddings": 32768, "hidden_size": 896, "num_attention_heads": 14, "num_key_value_heads": 2, "eos_token_id": 151645}`),
		[]byte(`{"eos_token_id": [151645, 151643], "temperature": 0.7}`))
	f.Add([]byte(`{"model_type": "deberta-v2", "id2label": {"0": "contradiction", "1": "entailment", "2": "neutral"}}`), []byte(`{}`))
	f.Add([]byte(`{"hidden_size": -9223372036854775808, "num_attention_heads": -1, "head_dim": -2}`), []byte(`{"eos_token_id": null}`))
	f.Add([]byte(`{"num_attention_heads": 1e3, "eos_token_id": 4294967296}`), []byte(`[`))
	folder := f.TempDir()
	config, generation := fuzztest.File(filepath.Join(folder, "config.json")), fuzztest.File(filepath.Join(folder, "generation_config.json"))
	f.Fuzz(func(t *testing.T, text, more []byte) {
		config.Write(t, text)
		generation.Write(t, more)
		m := &Folder{path: folder}
		if err := m.readConfig(t.Context(), (&part.Build{Inputs: make(part.Inputs)}).Setup("part")); err != nil {
			if strings.Contains(err.Error(), generation.Name()) {
				generation.Blames(t, err)
			} else {
				config.Blames(t, err)
			}
			return
		}
		open := onnx.IO{Name: "past_key_values.0.key", DType: onnx.Float32, Shape: onnx.Shape{onnx.Sym("b"), onnx.Sym("h"), onnx.Sym("n"), onnx.Sym("s")}}
		if c, err := newCacheInput(open, &m.config); err == nil && (c.heads < 1 || c.size < 1) {
			t.Fatalf("%d heads of size %d", c.heads, c.size)
		}
		if n, err := rowLimit(0, m.config.Positions, longestRow); err != nil || n < 1 || n > longestRow {
			t.Fatalf("rows of %d tokens, %v", n, err)
		}
	})
}

func TestTokenIDsOfConfigurations(t *testing.T) {
	for text, want := range map[string][]int32{"7": {7}, "[7, 8]": {7, 8}, "null": nil} {
		var got tokenIDs
		if err := json.Unmarshal([]byte(text), &got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	var got tokenIDs
	if json.Unmarshal([]byte(`"end"`), &got) == nil {
		t.Errorf("a text is read as %v", got)
	}
}
