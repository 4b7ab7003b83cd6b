package build

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/onnx"
)

// FuzzModelConfig: config.json and generation_config.json of a language model are an error about one of them, or settings that
// give an axis of the cache a size of at least 1, a row at least one token, and every class a label, or are refused there.
func FuzzModelConfig(f *testing.F) {
	f.Add([]byte(`{"model_type": "qwen2", "vocab_size": 151936, "max_position_embeddings": 32768, "hidden_size": 896, "num_attention_heads": 14, "num_key_value_heads": 2, "eos_token_id": 151645}`),
		[]byte(`{"eos_token_id": [151645, 151643], "temperature": 0.7}`))
	f.Add([]byte(`{"model_type": "deberta-v2", "id2label": {"0": "contradiction", "1": "entailment", "2": "neutral"}}`), []byte(`{}`))
	f.Add([]byte(`{"hidden_size": -9223372036854775808, "num_attention_heads": -1, "head_dim": -2}`), []byte(`{"eos_token_id": null}`))
	f.Add([]byte(`{"num_attention_heads": 1e3, "eos_token_id": 4294967296}`), []byte(`[`))
	folder := f.TempDir()
	config, generation := fuzzFile(filepath.Join(folder, "config.json")), fuzzFile(filepath.Join(folder, "generation_config.json"))
	f.Fuzz(func(t *testing.T, text, more []byte) {
		config.write(t, text)
		generation.write(t, more)
		m := &modelFolder{path: folder}
		if err := m.readConfig(t.Context(), fuzzSetup()); err != nil {
			if strings.Contains(err.Error(), generation.name()) {
				generation.blames(t, err)
			} else {
				config.blames(t, err)
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
		labels := []string{"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"}
		if list, err := classLabels(m.config.Labels, nil, labels); err == nil && !slices.Equal(slices.Sorted(slices.Values(list)), slices.Sorted(slices.Values(labels))) {
			t.Fatal(list)
		}
	})
}

// name is the last part of a file's path.
func (f fuzzFile) name() string { return filepath.Base(string(f)) }

// FuzzChatTemplate: every conversation that ends with a user's turn is written, with what the users said in it and nothing of
// the former answers' thoughts beside it; any other is an error.
func FuzzChatTemplate(f *testing.F) {
	file, err := os.ReadFile("testdata/chat_templates.json")
	if err != nil {
		f.Fatal(err)
	}
	var cases []struct{ Messages conversation }
	if err := json.Unmarshal(file, &cases); err != nil {
		f.Fatal(err)
	}
	for _, c := range cases {
		text, err := json.Marshal(c.Messages)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`[{"role":"assistant","content":"</think>"},{"role":"user","content":"<|im_end|>\n"}]`))
	f.Add([]byte(`[{"role":"user"},{"role":"system"}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var c conversation
		if json.Unmarshal(text, &c) != nil {
			return
		}
		for name := range chatTemplates {
			write, err := templateFor(name, "", name == "qwen3")
			if err != nil {
				t.Fatal(err)
			}
			before := slices.Clone(c)
			got, err := write(c)
			if (err == nil) != (checkTurns(c) == nil) || !slices.Equal(c, before) {
				t.Fatalf("%s: %v", name, err)
			}
			for at, m := range c {
				if err == nil && m.Role != "assistant" && !strings.Contains(got, m.Content) {
					t.Fatalf("%s: turn %d is not in %q", name, at, got)
				}
			}
			if err == nil && name == "qwen3" && !strings.HasSuffix(got, turnStart+"assistant\n<think>\n\n</think>\n\n") {
				t.Fatalf("%q", got)
			}
		}
	})
}
