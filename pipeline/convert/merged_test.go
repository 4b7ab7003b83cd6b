package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/featurize"
	"pipe/internal/realdata"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/inspect"
	"pipe/pipeline/stage"
)

// decided is the output of Decide, with scores.
func decided(t *testing.T, rt *ort.Runtime, o decide.StreamOptions) string {
	t.Helper()
	var out bytes.Buffer
	o.Scores, o.OutFormat = true, "csv"
	if _, err := decide.Stream(t.Context(), rt, o, nil, &out, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A merged file decides on every row with the same scores as its encoder and then its policy; also if experts are
// excluded.
func TestMergedFileDecidesAsItsParts(t *testing.T) {
	rt, dir := orttest.Open(t, 1), t.TempDir()
	texts := decidetest.Texts(500)
	var rows strings.Builder
	for i, s := range texts {
		fmt.Fprintf(&rows, "{\"id\": %d, \"claim\": %q}\n", i, s)
	}
	if err := os.WriteFile(filepath.Join(dir, "claims.jsonl"), []byte(rows.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	decidetest.Pictures(t, dir, 70)
	var list strings.Builder
	list.WriteString("id,file\n")
	for i := range 70 {
		fmt.Fprintf(&list, "p%d,%d.png\n", i, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "photos.csv"), []byte(list.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, model, tower string
		image              bool
		dim                int
	}{
		{"texts", hftest.Folder(t), "", false, hftest.Hidden},
		{"images", hftest.CLIPFolder(t, hftest.SpellingCLIP(1)), "", true, 12},
		{"images of a tower alone", hftest.VisionFolder(t, hftest.CLIPFolder(t, hftest.SpellingCLIP(1)), "CLIPVisionModel", "vision_model."), "", true, 24},
		{"texts of a CLIP", hftest.CLIPFolder(t, hftest.SpellingCLIP(1)), "text", false, 12},
		{"images of another", realdata.Folder(t, "models", "tiny-random", "clip-tiny-random"), "", true, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := t.TempDir()
			encoder, merged := filepath.Join(at, "encoder.onnx"), filepath.Join(at, "merged.onnx")
			r, err := Run(t.Context(), Options{Model: c.model, Tower: c.tower, Out: storage.File(encoder)})
			if err != nil {
				t.Fatal(err)
			}
			o := decide.DefaultStreamOptions()
			o.Policy, o.Encoder = storage.File(decidetest.EncoderPolicy(t, at, r.Encoder.Dim, costs.FeatureSource{}, "")), encoder
			if o.Text, o.In = "claim", storage.File(filepath.Join(dir, "claims.jsonl")); c.image {
				o.Text, o.Image, o.In = "", "file", storage.File(filepath.Join(dir, "photos.csv"))
			}
			if _, err := Run(t.Context(), Options{Model: encoder, Merge: o.Policy, Out: storage.File(merged)}); err != nil {
				t.Fatal(err)
			}
			for _, without := range [][]policy.Part{nil, {policy.Expert("large")}} {
				o.Prices.Without = without
				want := decided(t, rt, o)
				alone := o
				alone.Policy, alone.Encoder = storage.File(merged), ""
				if got := decided(t, rt, alone); got != want || strings.Count(got, "\n") < 71 {
					t.Errorf("without %v: the merged file decides %.300s\nits parts %.300s", without, got, want)
				}
			}
		})
	}
}

// Options that do not suit a merged file are an *stage.OptionError before a row is read; a file whose halves contradict
// each other is bad data.
func TestMergedFileRefusals(t *testing.T) {
	rt, dir := orttest.Open(t, 1), t.TempDir()
	model, merged := hftest.Folder(t), filepath.Join(dir, "merged.onnx")
	policy := decidetest.EncoderPolicy(t, dir, hftest.Hidden, costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}, "")
	if _, err := Run(t.Context(), Options{Model: model, Merge: storage.File(policy), Out: storage.File(merged)}); err != nil {
		t.Fatal(err)
	}
	run := func(path string, change func(o *decide.StreamOptions)) error {
		o := decide.DefaultStreamOptions()
		o.Policy = storage.File(path)
		change(&o)
		_, err := decide.Stream(t.Context(), rt, o, strings.NewReader("{\"claim\": \"a\"}\n"), &bytes.Buffer{}, stage.Quiet)
		return err
	}
	text := func(o *decide.StreamOptions) { o.Text = "claim" }
	var option *stage.OptionError
	for want, change := range map[string]func(o *decide.StreamOptions){
		"has an encoder in front and reads texts: name the column or field that contains them (--text)": func(*decide.StreamOptions) {},
		"has an encoder of texts in front, the rows contain images":                                     func(o *decide.StreamOptions) { o.Image = "claim" },
		"has its encoder in front: another one cannot be used":                                          func(o *decide.StreamOptions) { o.Text, o.Encoder = "claim", model },
	} {
		if err := run(merged, change); !errors.As(err, &option) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if err := run(policy, text); !errors.As(err, &option) || !strings.Contains(err.Error(), "texts and images need an encoder") {
		t.Error(err)
	}
	m, err := onnx.ReadFile(merged)
	if err != nil {
		t.Fatal(err)
	}
	var info featurize.EncoderInfo
	if err := json.Unmarshal([]byte(m.Metadata()["pipe.encoder.info"]), &info); err != nil {
		t.Fatal(err)
	}
	about := func(change func(e *featurize.EncoderInfo)) string {
		e := info
		change(&e)
		return stage.JSON(e)
	}
	for _, c := range []struct{ key, value, want string }{
		{"pipe.dim", "17", "pipe.dim is 17, pipe.actions say 16"},
		{"pipe.encoder.info", about(func(e *featurize.EncoderInfo) { e.Dim = 17 }), "the encoder in front is not the policy's"},
		{"pipe.encoder.info", about(func(e *featurize.EncoderInfo) { e.Input = "smell" }), `input is "smell"`},
		{"pipe.encoder.info", "{", "pipe.encoder.info"},
		{"pipe.encoder.format", "2", "the encoder has format 2"},
		{"pipe.actions", strings.ReplaceAll(m.Metadata()["pipe.actions"], `"dim":16`, `"dim":0`), "sees vectors of 0 numbers"},
		{"pipe.encoder.tokenizer", "{}", "the encoder in front"},
	} {
		meta := m.Metadata()
		meta[c.key] = c.value
		m.SetMetadata(meta)
		changed := filepath.Join(t.TempDir(), "changed.onnx")
		if err := m.WriteFile(changed); err != nil {
			t.Fatal(err)
		}
		meta[c.key] = mustMetadata(t, merged)[c.key]
		m.SetMetadata(meta)
		err := run(changed, text)
		var bad *costs.DataError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %.40s: want %q, got %v", c.key, c.value, c.want, err)
		}
		if _, err := inspect.File(t.Context(), storage.File(changed), inspect.DefaultOptions()); c.key != "pipe.encoder.tokenizer" && !errors.As(err, &bad) {
			t.Errorf("%s = %.40s: inspect says %v", c.key, c.value, err)
		}
	}
	// The graph knows the width too, not only the metadata.
	for _, n := range m.Proto.Graph.Node {
		if n.Name != nil && strings.HasPrefix(*n.Name, "policy/") {
			for i, in := range n.Input {
				if in == "encoder/sentence_embedding" {
					n.Input[i] = "input_ids"
				}
			}
		}
	}
	tokens := filepath.Join(dir, "tokens.onnx")
	if err := m.WriteFile(tokens); err != nil {
		t.Fatal(err)
	}
	var bad *costs.DataError
	if err := run(tokens, text); !errors.As(err, &bad) || !strings.Contains(err.Error(), `also needs the input "input_ids"`) {
		t.Error(err)
	}
}

func mustMetadata(t *testing.T, path string) map[string]string {
	t.Helper()
	m, err := onnx.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return m.Metadata()
}
