package imports

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/costing"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/stage"
)

// bothFolder is a folder with texts and images of 30 instances, the answers of one expert, and two encoders.
func bothFolder(t *testing.T) string {
	t.Helper()
	orttest.Open(t, 1) // skips without the library
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bert"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := hftest.WriteBERT(filepath.Join(dir, "bert")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(hftest.CLIPFolder(t, hftest.SpellingCLIP(1)), filepath.Join(dir, "clip")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "photos"), 0o777); err != nil {
		t.Fatal(err)
	}
	names, _ := decidetest.Pictures(t, filepath.Join(dir, "photos"), 30)
	rows, answers, list := "id,label,text,photo,right\n", "id,prediction\n", "path,label\n"
	for n, name := range names {
		label := []string{"yes", "no"}[n%2]
		rows += fmt.Sprintf("%s,%s,%s,%s,%d\n", name, label, strings.Repeat("ab ", n%7+1)+fmt.Sprint(n%11), name, 1-n%2)
		answers += name + ",yes\n"
		list += name + "," + label + "\n"
	}
	for file, text := range map[string]string{"rows.csv": rows, "answers.csv": answers, "list.csv": list} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func writeConfig(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// built is the tensor of pipe costs.
func built(t *testing.T, dir, instances, feature string) *costs.Tensor {
	t.Helper()
	file := writeConfig(t, dir, "costs.yaml", "costs:\n  instances: "+instances+"\n  advice: [{name: none, kind: none}]\n"+
		"  experts: [{name: a, fee: 0, kind: precomputed, file: answers.csv, prediction: prediction}]\n  features: ["+feature+"]\n")
	out := filepath.Join(dir, "built.parquet")
	if _, err := costing.Run(t.Context(), costing.Options{Config: storage.File(file), Out: storage.File(out), Restart: true, Runtime: ort.DefaultConfig()}, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	return readTensor(t, out)
}

// imported is the tensor of pipe import, and its error.
func imported(t *testing.T, dir, features string) (*costs.Tensor, error) {
	t.Helper()
	file := writeConfig(t, dir, "import.yaml", "outcomes: {file: rows.csv, columns: {id: id}, wide: {value: correct, pairs: [{expert: a, column: right}]}}\n"+
		"features: [{id: id, label: label, "+features+"}]\n")
	out := filepath.Join(dir, "imported.parquet")
	if _, err := Run(t.Context(), Options{Config: storage.File(file), Out: storage.File(out), Runtime: ort.DefaultConfig()}, nil); err != nil {
		return nil, err
	}
	return readTensor(t, out), nil
}

func readTensor(t *testing.T, file string) *costs.Tensor {
	t.Helper()
	tensor, err := costs.Read(t.Context(), storage.File(file), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return tensor
}

// TestImportedFeaturesAreThoseOfCosts: for the same texts and images, both commands write the same features, losses, names
// and digests.
func TestImportedFeaturesAreThoseOfCosts(t *testing.T) {
	dir := bothFolder(t)
	for _, c := range []struct{ instances, feature, features string }{
		{"{kind: table, file: rows.csv, text: text}", "{kind: text, encoder: bert}", "text: {column: text, encoder: bert}"},
		{"{kind: images, folder: photos, list: list.csv}", "{kind: image, encoder: clip}", "image: {column: photo, folder: photos, encoder: clip}"},
	} {
		want := built(t, dir, c.instances, c.feature)
		got, err := imported(t, dir, c.features)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.IDs, want.IDs) || !slices.Equal(got.Features, want.Features) || !slices.Equal(got.Loss, want.Loss) || !slices.Equal(got.Splits, want.Splits) {
			t.Errorf("%s: the tensors differ", c.features)
		}
		if got.Actions.Features != want.Actions.Features {
			t.Errorf("%s: features are %v, not %v", c.features, got.Actions.Features, want.Actions.Features)
		}
		for _, key := range []string{costs.FeatureDigest, costs.DecoderDigest} {
			if got.Actions.Digests[key] != want.Actions.Digests[key] {
				t.Errorf("%s: digest %s is %q, not %q", c.features, key, got.Actions.Digests[key], want.Actions.Digests[key])
			}
		}
	}
}

// TestImportedImagesAreKept: vectors are made once, by content: the same bytes under another name are found again. A bad
// image is an error with its instance.
func TestImportedImagesAreKept(t *testing.T) {
	dir := bothFolder(t)
	all, err := imported(t, dir, "image: {column: photo, folder: photos, encoder: clip}, text: {column: text, encoder: bert}, length: [text]")
	if err != nil {
		t.Fatal(err)
	}
	alone, err := imported(t, dir, "image: {column: photo, folder: photos, encoder: clip}")
	if err != nil {
		t.Fatal(err)
	}
	for n := range alone.IDs {
		if row := all.Row(n); !slices.Equal(row[len(row)-alone.Dim:], alone.Row(n)) {
			t.Fatalf("row %d differs", n)
		}
	}
	kept, err := filepath.Glob(filepath.Join(dir, "experts", "embeddings-*"))
	if err != nil || len(kept) != 2 {
		t.Fatalf("kept %v, %v", kept, err)
	}
	sizes := func() (sum int64) {
		for _, file := range kept {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			sum += info.Size()
		}
		return sum
	}
	before := sizes()
	if err := os.Rename(filepath.Join(dir, "photos"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	moved, err := imported(t, dir, "image: {column: photo, folder: moved, encoder: clip}")
	if err != nil || !slices.Equal(moved.Features, alone.Features) || sizes() != before {
		t.Errorf("the images were encoded again: %v", err)
	}
	bad := filepath.Join(dir, "moved", "3.png")
	if err := os.WriteFile(bad, []byte("not an image"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = imported(t, dir, "image: {column: photo, folder: moved, encoder: clip}")
	if want := `column photo: instance "3.png": "3.png": `; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "rows.csv") {
		t.Error(err)
	}
	if err := os.Remove(bad); err != nil {
		t.Fatal(err)
	}
	if _, err = imported(t, dir, "image: {column: photo, folder: moved, encoder: clip}"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}
