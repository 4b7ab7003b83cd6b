package languagetest

import (
	"encoding/json"
	"os"
	"testing"
)

// ReadJSON reads a JSON file into dst.
func ReadJSON(t testing.TB, file string, dst any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, dst)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// WriteJSON writes v as a JSON file.
func WriteJSON(t testing.TB, file string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(file, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ByteTokenizer is a byte-level BPE without merges.
func ByteTokenizer(special ...string) map[string]any {
	vocabulary := make(map[string]int)
	other := 0
	for b := range 256 {
		r := rune(b)
		if !(b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae) {
			r = rune(256 + other) // bytes that no letter stands for
			other++
		}
		vocabulary[string(r)] = b
	}
	var added []map[string]any
	for i, s := range special {
		added = append(added, map[string]any{"id": 256 + i, "content": s, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})
	}
	level := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
	return map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added,
		"normalizer": nil, "pre_tokenizer": level, "post_processor": nil, "decoder": level,
		"model": map[string]any{
			"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
			"fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": vocabulary, "merges": []string{},
		},
	}
}
