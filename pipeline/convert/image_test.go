package convert

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/identity"
	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/internal/judge"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/inspect"
	"pipe/pipeline/stage"
)

// mean is the mean of rows of the given width.
func mean(rows []float32, width int) []float32 {
	out := make([]float32, width)
	for i, v := range rows {
		out[i%width] += v * float32(width) / float32(len(rows))
	}
	return out
}

const pixelScript = `
import json, sys, numpy as np, onnx, onnxruntime
onnx.checker.check_model(sys.argv[1], full_check=True)
s = onnxruntime.InferenceSession(sys.argv[1])
about = s.get_modelmeta().custom_metadata_map
p = json.loads(about["pipe.encoder.info"])["preprocess"]
pixels = np.fromfile(sys.argv[2], np.uint8).reshape(-1, p["height"], p["width"], 3)
out = s.run(["action", "expert", "advice"], {"pixels": pixels})
print(json.dumps({"values": [o.tolist() for o in out], "note": about["pipe.note"], "kind": about["pipe.kind"],
    "inputs": [f"{i.name} {i.type} {i.shape}" for i in s.get_inputs()], "outputs": [o.name for o in s.get_outputs()]}))
`

// One file of an image encoder and a policy passes the official checker, and in Python maps pixels to the same actions
// as encoder and policy run one after the other here.
func TestMergedFileDecidesAlikeFromPixels(t *testing.T) {
	py, rt, model, dir := judge.Python(t, "onnx", "onnxruntime"), orttest.Open(t, 1), hftest.CLIPFolder(t, hftest.SpellingCLIP(1)), t.TempDir()
	_, images := decidetest.Pictures(t, dir, 60)
	info, pixels, features := decidetest.EncodeImages(t, rt, model, images)
	trained := decidetest.EncoderPolicy(t, dir, info.Dim, costs.FeatureSource{}, "", mean(features, info.Dim)...)
	merged, raw := filepath.Join(dir, "merged.onnx"), filepath.Join(dir, "pixels")
	if _, err := Run(t.Context(), Options{Model: model, Merge: storage.File(trained), Out: storage.File(merged)}); err != nil {
		t.Fatal(err)
	}
	d, err := policy.Open(rt, trained)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	want, err := d.Decide(context.Background(), features, len(images))
	if err == nil {
		err = os.WriteFile(raw, pixels, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Values          [][]int64
		Note, Kind      string
		Inputs, Outputs []string
	}
	out := judge.Run(t, py, dir, pixelScript, merged, raw)
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err, out)
	}
	for i, want := range [][]int64{want.Action, want.Expert, want.Advice} {
		if !slices.Equal(got.Values[i], want) {
			t.Errorf("output %d in Python is %v, here %v", i, got.Values[i], want)
		}
	}
	if chosen := slices.Compact(slices.Sorted(slices.Values(want.Action))); len(chosen) < 3 {
		t.Errorf("only actions %v are chosen, which shows little", chosen)
	}
	if s := strings.Join(got.Inputs, ", "); s != "pixels tensor(uint8) ['batch', 32, 32, 3]" || got.Note != "kept" || got.Kind != "policy" {
		t.Error(s, got.Note, got.Kind)
	}
	x, err := inspect.File(t.Context(), storage.File(merged), inspect.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if e := x.(*inspect.PolicyExplanation).Encoder; e == nil || e.Input != featurize.InputImage || *e.Preprocess != pixel.CLIPPreprocess(32) {
		t.Errorf("encoder inside: %+v", e)
	}
}

// A policy on vectors of images fits only the encoder that made them, not one of texts, of another size, or with other
// weights.
func TestMergeHoldsPoliciesAgainstEncodersOfImages(t *testing.T) {
	model, other := hftest.CLIPFolder(t, hftest.SpellingCLIP(1)), hftest.CLIPFolder(t, hftest.SpellingCLIP(2))
	m, err := featurize.ReadImageModel(model, featurize.DefaultImageModelOptions())
	if err != nil {
		t.Fatal(err)
	}
	info := m.Info()
	seeing := decidetest.EncoderPolicy(t, t.TempDir(), info.Dim, costs.FeatureSource{Name: "image clip", Dim: info.Dim}, identity.Digest(identity.Block{Name: "image clip", Dim: info.Dim, Models: []string{info.Digest}}))
	reading := decidetest.EncoderPolicy(t, t.TempDir(), info.Dim, costs.FeatureSource{Name: "text clip", Dim: info.Dim}, "")
	narrow := pixel.CLIPPreprocess(32)
	narrow.Resize = 40
	for _, c := range []struct {
		want string
		o    Options
	}{
		{"", Options{Model: model, Merge: storage.File(seeing)}},
		{"", Options{Model: model, Merge: storage.File(reading), Tower: "text"}},
		{`the policy sees "text clip", made of texts; the encoder clip reads images`, Options{Model: model, Merge: storage.File(reading)}},
		{`the policy sees "image clip", made of images; the encoder clip reads texts`, Options{Model: model, Merge: storage.File(seeing), Tower: "text"}},
		{"made by another encoder than clip", Options{Model: other, Merge: storage.File(seeing)}},
		{"made by another encoder than clip", Options{Model: model, Merge: storage.File(seeing), Preprocess: &narrow}},
		{"reads images, for which most tokens, a tokenizer cannot be set", Options{Model: model, MaxLength: 3, Tokenizer: model}},
		{"reads texts: it has no tower of images", Options{Model: hftest.Folder(t), Tower: "vision", Preprocess: &narrow}},
		{"reads texts, for which preprocessing, an output, float16 cannot be set", Options{Model: hftest.Folder(t), Preprocess: &narrow, Output: "x", Precision: featurize.Float16}},
	} {
		c.o.Out = storage.File(filepath.Join(t.TempDir(), "out.onnx"))
		_, err := Run(t.Context(), c.o)
		var option *stage.OptionError
		switch {
		case c.want == "" && err != nil:
			t.Error(err)
		case c.want != "" && (!errors.As(err, &option) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}
