package eval

import (
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// TestPicturesOfExamples: the page shows the images of examples, those of the configuration, and no others.
func TestPicturesOfExamples(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"images/n1/a.jpg", "images/n1/b.jpg", "images/n2/c.jpg"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := jpeg.Encode(f, image.NewGray(image.Rect(0, 0, 400, 200)), nil); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"classes.json": `{"0": ["n1", "tench"], "1": ["n2", "goldfish"]}`,
		"answers.csv":  "id,prediction\nn1/a.jpg,n1\nn1/b.jpg,n1\nn2/c.jpg,n1\n",
		"images.yaml": `costs:
  instances: {kind: images, folder: images, classes: classes.json}
  advice: [{name: none, fee: 0, kind: none}]
  experts: [{name: known, fee: 0, kind: precomputed, file: answers.csv, prediction: prediction}]
  features: [{kind: pooled, grid: 1}]
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	o := DefaultOptions()
	o.Tensor, o.Pictures, o.Runtime = storage.File(filepath.Join(dir, "costs.parquet")), storage.File(filepath.Join(dir, "images.yaml")), ort.DefaultConfig()
	wrong := report.Example{ID: "n2/c.jpg", Label: "n2", Policy: report.Outcome{Pair: "known/none", Answer: "n1", Loss: 1}}
	r := &report.Report{Examples: []report.Examples{{Policy: "p", Kind: report.Lost, Shown: []report.Example{wrong}}}}
	var err error
	if r.Album, err = o.album(t.Context(), r, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	if len(r.Album.JPEG) != 1 || len(r.Album.JPEG["n2/c.jpg"]) == 0 {
		t.Errorf("%d pictures", len(r.Album.JPEG))
	}
	var page strings.Builder
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if text := page.String(); strings.Count(text, "data:image/jpeg") != 1 || !strings.Contains(text, "<s>tench</s>") || !strings.Contains(text, "label goldfish") {
		t.Errorf("%d images in\n%s", strings.Count(text, "data:image/jpeg"), text)
	}
	none, err := o.album(t.Context(), &report.Report{}, stage.Quiet)
	if none != nil || err != nil {
		t.Errorf("no examples: %v, %v", none, err)
	}
	r.Examples[0].Shown[0].ID = "other.jpg"
	if _, err := o.album(t.Context(), r, stage.Quiet); err == nil || !strings.Contains(err.Error(), `no instance "other.jpg"`) {
		t.Errorf("an image of another tensor: %v", err)
	}
}
