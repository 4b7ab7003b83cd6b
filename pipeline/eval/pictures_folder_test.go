package eval

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// Images are found by id inside the folder, and never outside it.
func TestPicturesInFolder(t *testing.T) {
	dir := t.TempDir()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 200, 100))); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"secret.png": picture.Bytes(), "in/cat/1.png": picture.Bytes(), "in/bad.png": []byte("no image")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777), os.WriteFile(filepath.Join(dir, name), b, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	o := DefaultOptions()
	o.Pictures = storage.File(filepath.Join(dir, "in"))
	with := func(ids ...string) *report.Report {
		x := report.Examples{Kind: report.Won, Policy: "p.onnx"}
		for _, id := range ids {
			x.Shown = append(x.Shown, report.Example{ID: id, Policy: report.Outcome{Answer: "dog", Loss: 1}})
		}
		return &report.Report{Rows: []report.Row{{Method: "auto"}}, Verdict: []report.Verdict{{Deploy: report.DeployNothing}}, Examples: []report.Examples{x}}
	}
	r := with("cat/1.png", "cat/2.png", "../secret.png", filepath.Join(dir, "secret.png"))
	var err error
	if r.Album, err = o.album(t.Context(), r, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	if len(r.Album.JPEG) != 1 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "3 of the 4 rows") {
		t.Errorf("%d pictures, notes %q", len(r.Album.JPEG), r.Notes)
	}
	if small, _, err := image.DecodeConfig(bytes.NewReader(r.Album.JPEG["cat/1.png"])); err != nil || small.Width != 160 || small.Height != 80 {
		t.Errorf("%+v, %v", small, err)
	}
	var page bytes.Buffer
	if err := r.WriteHTML(&page); err != nil || strings.Count(page.String(), "<img ") != 1 || !strings.Contains(page.String(), "<s>dog</s>") {
		t.Errorf("%v, %d pictures on the page", err, strings.Count(page.String(), "<img "))
	}
	var data *costs.DataError
	if _, err := o.album(t.Context(), with("bad.png"), stage.Quiet); !errors.As(err, &data) {
		t.Errorf("a file that is no image: %v", err)
	}
}
