package imports

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/identity"
	"pipe/featurize"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

// TestImportedTexts: the features are the vectors of the joined texts, beside other features, and are made once. If they
// are the only ones, the tensor says which encoder a policy needs.
func TestImportedTexts(t *testing.T) {
	rt := orttest.Open(t, 1)
	encoder, err := featurize.OpenTextEncoder(rt, hftest.Folder(t), featurize.DefaultTextEncoderOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "small"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := hftest.WriteBERT(filepath.Join(dir, "small")); err != nil {
		t.Fatal(err)
	}
	table := "id,title,body,words,right\n"
	var texts []string
	for n := range 20 {
		title, body := strings.Repeat("ab ", n%3+1), fmt.Sprintf("text %d", n%7)
		texts = append(texts, title+"\n"+body)
		table += fmt.Sprintf("%d,%s,%s,%d,%d\n", n, title, body, n, n%2)
	}
	table += "20,,no title,1,1\n" // has no text, so it is dropped
	if err := os.WriteFile(filepath.Join(dir, "t.csv"), []byte(table), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(features string) *costs.Tensor {
		t.Helper()
		file, out := filepath.Join(dir, "c.yaml"), filepath.Join(dir, "out", "t.parquet")
		text := "outcomes: {file: t.csv, columns: {id: id}, wide: {value: correct, pairs: [{expert: a, column: right}]}}\n" +
			"drop_incomplete: true\nfeatures: [{id: id, " + features + "}]\n"
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(t.Context(), Options{Config: storage.File(file), Out: storage.File(out), Runtime: ort.DefaultConfig()}, nil); err != nil {
			t.Fatal(err)
		}
		tensor, err := costs.Read(t.Context(), storage.File(out), costs.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return tensor
	}
	want := make([]float32, len(texts)*encoder.Dim())
	if err := encoder.Encode(t.Context(), want, texts); err != nil {
		t.Fatal(err)
	}
	alone := run("text: {columns: [title, body], encoder: small}")
	if !slices.Equal(alone.Features, want) {
		t.Error("the features are not the vectors of the texts")
	}
	info := featurize.EncoderInfo{Input: featurize.InputText, Name: "x", Dim: encoder.Dim(), Digest: encoder.Digest()}
	if err := identity.CheckEncoder(alone.Actions, info); err != nil {
		t.Error(err)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "out", "experts", "embeddings-*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %v, %v", kept, err)
	}
	before, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	both := run("columns: [words], text: {columns: [title, body], encoder: small}")
	for n := range texts {
		if row := both.Row(n); row[0] != float32(n) || !slices.Equal(row[1:], alone.Row(n)) {
			t.Fatalf("row %d is %v", n, row)
		}
	}
	if got := both.Blocks(); !slices.Equal(got, []int{1, encoder.Dim()}) || len(alone.Blocks()) > 1 {
		t.Errorf("blocks of features are %v, of a vector alone %v", got, alone.Blocks())
	}
	if after, err := os.ReadFile(kept[0]); err != nil || !slices.Equal(before, after) {
		t.Errorf("texts were encoded again, %v", err)
	}
	if identity.CheckEncoder(both.Actions, info) == nil {
		t.Error("the encoder alone does not make these features")
	}
}

// TestImportedTextsAreChecked: both parts of the setting are needed.
func TestImportedTextsAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"{columns: [a]}": "features[0].text.encoder is empty",
		"{encoder: x}":   "features[0].text.columns is empty",
	} {
		file := filepath.Join(t.TempDir(), "c.yaml")
		err := os.WriteFile(file, []byte("outcomes: {file: o.csv, columns: {id: i, expert: e, loss: l}}\nfeatures: [{file: f.csv, id: i, text: "+text+"}]\n"), 0o666)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Load(t.Context(), storage.File(file)); err == nil || !strings.Contains(err.Error(), want) || !isConfigError(err) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func isConfigError(err error) bool {
	_, ok := err.(*config.Error)
	return ok
}
