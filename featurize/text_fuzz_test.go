package featurize

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/featurize/tokenizer"
	"pipe/onnx/hf/hftest"
)

// FuzzTextFolder: the small files of the folder of an encoder of texts are an error, or an encoder that takes at least one
// token and no more than the model has positions.
func FuzzTextFolder(f *testing.F) {
	folder := hftest.Folder(f)
	tokens, err := tokenizer.Load(filepath.Join(folder, tokenizerFile))
	if err != nil {
		f.Fatal(err)
	}
	seed := make([][]byte, 4)
	names := []string{"config.json", "sentence_bert_config.json", "modules.json", filepath.Join("1_Pooling", "config.json")}
	if err := os.MkdirAll(filepath.Join(folder, "1_Pooling"), 0o777); err != nil {
		f.Fatal(err)
	}
	for i, name := range names {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			f.Fatal(err)
		}
		seed[i] = text
	}
	config := seed[0]
	modules := []byte(`[{"path": "", "type": "sentence_transformers.models.Transformer"}, {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]`)
	pooling := []byte(`{"pooling_mode_cls_token": true}`)
	f.Add(seed[0], seed[1], seed[2], seed[3])
	for _, length := range []string{`{"max_seq_length": 9223372036854775807}`, `{"max_seq_length": 0}`, `{"max_seq_length": -1}`, `{"max_seq_length": "7"}`, `{}`, `null`, `[`} {
		f.Add(config, []byte(length), modules, pooling)
	}
	for _, change := range [][2]string{{`"max_position_embeddings"`, `"x"`}, {`"num_attention_heads"`, `"x"`}, {`"hidden_size"`, `"x"`}} {
		f.Add([]byte(strings.Replace(string(config), change[0], change[1], 1)), []byte(`{"max_seq_length": 7}`), modules, pooling)
	}
	f.Fuzz(func(t *testing.T, config, length, modules, pooling []byte) {
		for i, b := range [][]byte{config, length, modules, pooling} {
			if err := os.WriteFile(filepath.Join(folder, names[i]), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		m := &textFolder{modelFolder: modelFolder{path: folder}} // without its graph, which is slow to build
		if m.describe() != nil {
			return
		}
		positions := int(m.config.MaxPositions)
		n, err := m.maxLength(tokens, 0)
		if err == nil && (n < 1 || positions > 0 && n > positions || m.head.Pooling == "") {
			t.Fatalf("texts of %d tokens for %d positions, pooled by %q", n, positions, m.head.Pooling)
		}
	})
}
