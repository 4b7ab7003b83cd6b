// Package hftest writes small models in the layout of Hugging Face; only tests
// import it.
package hftest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"pipe/onnx"
)

// The sizes of the small model.
const (
	Hidden    = 16
	Vocab     = 64 // rows of the table of tokens; the tokenizer has fewer
	Positions = 24
	layers    = 2
	inner     = 32
)

// Folder returns the path of a folder "small" that contains the model of WriteBERT.
func Folder(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := WriteBERT(folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

// WriteBERT writes a BERT with random weights: config.json, model.safetensors, a tokenizer that spells words letter by
// letter, and the sentence-transformers files for mean pooling and normalisation. It is always the same model.
func WriteBERT(folder string) error {
	files := map[string]any{
		"config.json": BERTConfig(), "tokenizer.json": spelling(),
		"modules.json": []any{
			map[string]any{"path": "", "type": "sentence_transformers.models.Transformer"},
			map[string]any{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
			map[string]any{"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
		},
		"1_Pooling/config.json":     map[string]any{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false},
		"sentence_bert_config.json": map[string]any{"max_seq_length": 20},
	}
	for name, content := range files {
		if err := WriteJSON(folder, name, content); err != nil {
			return err
		}
	}
	b, err := Safetensors(BERTWeights())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "model.safetensors"), b, 0o666)
}

// WriteJSON writes a file of a model's folder.
func WriteJSON(folder, name string, content any) error {
	b, err := json.Marshal(content)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o666)
}

// BERTConfig is the config.json of the small model.
func BERTConfig() map[string]any {
	return map[string]any{
		"model_type": "bert", "num_hidden_layers": layers, "num_attention_heads": 2, "hidden_size": Hidden,
		"intermediate_size": inner, "vocab_size": Vocab, "max_position_embeddings": Positions, "type_vocab_size": 2,
		"layer_norm_eps": 1e-12, "hidden_act": "gelu",
	}
}

// BERTWeights draws the weights of the small model.
func BERTWeights() map[string]*onnx.Tensor {
	r, w := rand.New(rand.NewPCG(1, 2)), map[string]*onnx.Tensor{}
	add := func(name string, shape ...int64) {
		values := make([]float32, onnx.Elements(shape))
		for i := range values {
			values[i] = float32(r.NormFloat64()) * 0.3
		}
		w[name] = onnx.Float32s(shape, values)
	}
	dense := func(name string, in, out int64) {
		add(name+".weight", out, in)
		add(name+".bias", out)
	}
	norm := func(name string) {
		add(name+".weight", Hidden)
		add(name+".bias", Hidden)
	}
	add("embeddings.word_embeddings.weight", Vocab, Hidden)
	add("embeddings.position_embeddings.weight", Positions, Hidden)
	add("embeddings.token_type_embeddings.weight", 2, Hidden)
	norm("embeddings.LayerNorm")
	for i := range layers {
		p := fmt.Sprintf("encoder.layer.%d.", i)
		for _, part := range []string{"query", "key", "value"} {
			dense(p+"attention.self."+part, Hidden, Hidden)
		}
		dense(p+"attention.output.dense", Hidden, Hidden)
		norm(p + "attention.output.LayerNorm")
		dense(p+"intermediate.dense", Hidden, inner)
		dense(p+"output.dense", inner, Hidden)
		norm(p + "output.LayerNorm")
	}
	return w
}

// spelling is a WordPiece tokenizer.json with only letters: a word of n letters is n tokens.
func spelling() map[string]any {
	special := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]"}
	vocab, added := map[string]int{}, []any{}
	for id, name := range special {
		vocab[name] = id
		added = append(added, map[string]any{
			"id": id, "content": name, "special": true,
			"single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
		})
	}
	for c := 'a'; c <= 'z'; c++ {
		vocab[string(c)] = len(vocab)
		vocab["##"+string(c)] = len(vocab)
	}
	token := func(name string) any { return map[string]any{"SpecialToken": map[string]any{"id": name, "type_id": 0}} }
	text := func(id string, kind int) any {
		return map[string]any{"Sequence": map[string]any{"id": id, "type_id": kind}}
	}
	one := func(name string) any {
		return map[string]any{"id": name, "ids": []int{vocab[name]}, "tokens": []string{name}}
	}
	return map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added,
		"normalizer":    map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": nil, "lowercase": true},
		"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"post_processor": map[string]any{
			"type": "TemplateProcessing", "single": []any{token("[CLS]"), text("A", 0), token("[SEP]")},
			"pair":           []any{token("[CLS]"), text("A", 0), token("[SEP]"), text("B", 1), token("[SEP]")},
			"special_tokens": map[string]any{"[CLS]": one("[CLS]"), "[SEP]": one("[SEP]")},
		},
		"decoder": map[string]any{"type": "WordPiece", "prefix": "##", "cleanup": true},
		"model": map[string]any{
			"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab,
		},
	}
}
