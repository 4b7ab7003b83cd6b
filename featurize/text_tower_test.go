package featurize

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/realdata"
	"pipe/onnx/hf"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
)

// Texts come out as the official library's vectors, from weights and from the
// export, with the tokenizer of another folder.
func TestTextTowerEqualsGolden(t *testing.T) {
	rt, folder := orttest.Open(t, 0), realdata.Folder(t, "models", "tiny-random", "clip-tiny-random")
	var golden struct {
		Texts   []string    `json:"texts"`
		Vectors [][]float32 `json:"text_embeds"`
	}
	text, err := os.ReadFile(filepath.Join(folder, "golden.json"))
	if err == nil {
		err = json.Unmarshal(text, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := TextModelOptions{Tokenizer: realdata.Folder(t, "tokenizers", "clip-vit-large-patch14")}
	alone := t.TempDir()
	for _, name := range []string{"config.json", "model.safetensors"} {
		if err := os.Symlink(filepath.Join(folder, name), filepath.Join(alone, name)); err != nil {
			t.Fatal(err)
		}
	}
	for road, name := range map[string]string{"export": folder, "weights": alone} {
		e, err := OpenTextEncoder(rt, name, TextEncoderOptions{TextModelOptions: o})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		sameValues(t, road, vectors(t, e, golden.Texts...), slices.Concat(golden.Vectors...), 5e-7)
	}
	if _, err := ReadTextModel(folder, DefaultTextModelOptions()); err == nil || !strings.Contains(err.Error(), "name it") {
		t.Errorf("a folder without a tokenizer: %v", err)
	}
}

// Weights, the export and the file that Encoder makes agree, in any company.
func TestTextTowerRoadsAgree(t *testing.T) {
	rt, folder := orttest.Open(t, 0), hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	texts := append(words(rand.New(rand.NewPCG(6, 6)), 60), "", "abcdefghijklmnopqrstuvwxyzabcdefgh")
	weights := openText(t, rt, folder)
	want := vectors(t, weights, texts...)
	for i, text := range texts {
		if !slices.Equal(vectors(t, weights, text), want[i*weights.Dim():(i+1)*weights.Dim()]) {
			t.Errorf("text %d (%q) has another vector alone", i, text)
		}
	}
	model, err := ReadTextModel(folder, DefaultTextModelOptions())
	if err != nil {
		t.Fatal(err)
	}
	if info := model.Info(); info.Pooling != hf.PoolModel || info.Dim != 12 || info.MaxLength != 77 {
		t.Errorf("the model is %+v", info)
	}
	file, err := model.Encoder()
	if err == nil {
		err = file.WriteFile(filepath.Join(folder, "own.onnx"))
	}
	if err != nil {
		t.Fatal(err)
	}
	writeExport(t, folder, filepath.Join(folder, "text_model.onnx"), hf.Options{Tower: hf.TowerText})
	for _, road := range []string{"", "own.onnx", "text_model.onnx"} {
		sameValues(t, "road "+road, vectors(t, openText(t, rt, filepath.Join(folder, road)), texts...), want, 1e-6)
	}
}
