package decide

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/featurize/pixel"
	"pipe/internal/storage"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/stage"
)

// seeingOptions are options to decide with a policy on the vectors of a model's images.
func seeingOptions(t *testing.T, model string) StreamOptions {
	t.Helper()
	o := DefaultStreamOptions()
	o.Encoder, o.Image, o.Workers = model, "file", 2
	o.Policy = storage.File(decidetest.EncoderPolicy(t, t.TempDir(), 12, costs.FeatureSource{Name: "image clip", Dim: 12}, ""))
	return o
}

// Images named in CSV and JSONL, with relative or absolute paths, get the decisions of their vectors.
func TestDecideImages(t *testing.T) {
	rt, model, dir := orttest.Open(t, 1), hftest.CLIPFolder(t, hftest.SpellingCLIP(1)), t.TempDir()
	names, images := decidetest.Pictures(t, dir, 20)
	_, _, features := decidetest.EncodeImages(t, rt, model, images)
	o := seeingOptions(t, model)
	var table, lines, vectors strings.Builder
	table.WriteString("id,other,file\n")
	for i, name := range names {
		fmt.Fprintf(&table, "%d,x,%s\n", i, name)
		fmt.Fprintf(&lines, "{\"file\": %q, \"label\": 1}\n", filepath.Join(dir, name))
		text := strings.ReplaceAll(fmt.Sprintf("%v", features[12*i:12*i+12]), " ", ", ")
		fmt.Fprintf(&vectors, "{\"features\": %s}\n", text)
	}
	o.In = storage.File(filepath.Join(dir, "photos.csv"))
	if err := os.WriteFile(o.In.String(), []byte(table.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	decide := func(o StreamOptions, in string) (string, *Summary) {
		var out bytes.Buffer
		done, err := Stream(t.Context(), rt, o, strings.NewReader(in), &out, stage.Quiet)
		if err != nil {
			t.Fatal(err)
		}
		return out.String(), done
	}
	plain := DefaultStreamOptions()
	plain.Policy = o.Policy
	want, _ := decide(plain, vectors.String())
	got, done := decide(o, "")
	if got != want || strings.Count(got, "\n") != 21 {
		t.Errorf("decisions differ:\n%s\n%s", got, want)
	}
	if done.Decoder != pixel.StandardDecoder().Name() || done.Trained != "another" {
		t.Errorf("decoder %q, the policy's %q", done.Decoder, done.Trained)
	}
	o.In = storage.File("-")
	if got, _ := decide(o, lines.String()); got != want {
		t.Errorf("by full paths:\n%s\n%s", got, want)
	}
}

// A bad image ends the run with file, row and column. It is the first one in the file, in whatever order they are
// decoded.
func TestDecideBadImages(t *testing.T) {
	rt, model, dir := orttest.Open(t, 1), hftest.CLIPFolder(t, hftest.SpellingCLIP(1)), t.TempDir()
	names, _ := decidetest.Pictures(t, dir, 40)
	good, err := os.ReadFile(filepath.Join(dir, names[0]))
	if err != nil {
		t.Fatal(err)
	}
	var tiny bytes.Buffer
	if err := png.Encode(&tiny, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"cut.png": good[:len(good)/2], "empty.jpg": nil, "page.jpg": []byte("<html></html>"), "tiny.png": tiny.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	o := seeingOptions(t, model)
	o.In = storage.File(filepath.Join(dir, "photos.csv"))
	for bad, want := range map[string]string{
		"absent.png": "no such file or directory",
		"cut.png":    "the file is truncated",
		"empty.jpg":  "the file is empty",
		"page.jpg":   "nor WebP: it is a web page",
		"tiny.png":   "1 x 1 pixels, the limit min_side is 8",
		"":           "the path is empty",
	} {
		rows := append(append([]string{"file"}, names[:20]...), bad, names[21], "later.png")
		if bad == "" {
			rows = []string{"file,id", ",x"}
		}
		if err := os.WriteFile(o.In.String(), []byte(strings.Join(rows, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		row := 22
		if bad == "" {
			row = 2
		}
		_, err := Stream(t.Context(), rt, o, strings.NewReader(""), &bytes.Buffer{}, stage.Quiet)
		at := fmt.Sprintf("photos.csv\": row %d: column file: image %q: ", row, bad)
		var data *costs.DataError
		if !errors.As(err, &data) || !strings.Contains(err.Error(), at) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q and %q, got %v", at, want, err)
		}
	}
	o.Encoder = hftest.Folder(t)
	var option *stage.OptionError
	if _, err := Stream(t.Context(), rt, o, strings.NewReader(""), &bytes.Buffer{}, stage.Quiet); !errors.As(err, &option) || !strings.Contains(err.Error(), "reads texts, the rows contain images") {
		t.Error("an encoder of texts sees images: ", err)
	}
	o.Image, o.Text, o.Encoder = "", "file", model
	if _, err := Stream(t.Context(), rt, o, strings.NewReader(""), &bytes.Buffer{}, stage.Quiet); err == nil || !strings.Contains(err.Error(), `the policy sees "image clip", made of images; the encoder clip reads texts`) {
		t.Error(err)
	}
}
