package builder

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/identity"
	"pipe/experts/builder/part"
	"pipe/featurize"
	"pipe/internal/realdata"
	"pipe/onnx/ort"
)

// newFEVERWorld is 120 real claims, and an expert on MiniLM that learns from 200
// others.
func newFEVERWorld(t *testing.T) *world {
	t.Helper()
	data, encoder := realdata.Folder(t, "fever"), realdata.Folder(t, "models", "all-MiniLM-L6-v2")
	w := &world{dir: t.TempDir(), cfg: part.DefaultConfig()}
	lines := bytes.SplitAfterN([]byte(readBytes(t, filepath.Join(data, "train_sr_10000.csv"))), []byte("\n"), 202)
	w.write(t, "train.csv", string(bytes.Join(lines[:201], nil)))
	pages := filepath.Join(data, "wiki-pages-001.jsonl")
	w.cfg.Instances = part.Part{Kind: "fever", Settings: map[string]any{"file": filepath.Join(data, "paper_dev.jsonl"), "rows": 120}}
	w.cfg.Labels = claimLabels
	w.cfg.Advice = []part.AdviceConfig{
		{Name: "none", Kind: "none"},
		{Name: "top-1", Fee: 0.015, Kind: "passages", Settings: map[string]any{"pages": pages, "top": 1}},
	}
	w.cfg.Experts = []part.ExpertConfig{{Name: "net", Kind: "embedding", Settings: map[string]any{"encoder": encoder, "train": "train.csv", "pages": pages}}}
	w.cfg.Features = []part.Part{{Kind: "text", Settings: map[string]any{"encoder": encoder}}}
	return w
}

// TestFEVERBuild runs the real encoder through a build, and through the features
// that rows outside of one get.
func TestFEVERBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("embeds 700 texts")
	}
	w := newFEVERWorld(t)
	_, tensor := w.build(t)
	a := tensor.Actions
	if a.Features.Name != "text all-MiniLM-L6-v2" || tensor.Dim != 384 {
		t.Fatalf("features %+v", a.Features)
	}
	o := w.options(t)
	rt, err := o.Runtime()
	if err != nil {
		t.Fatal(err)
	}
	e := openMiniLM(t, rt, featurize.DefaultTextEncoderOptions())
	if err := identity.CheckEncoder(a, textInfo(e)); err != nil {
		t.Fatal(err)
	}
	source, _ := w.cfg.Instances.Settings["file"].(string)
	claims := readBytes(t, source)
	text := firstClaim(t, claims, tensor.IDs[0])
	got := make([]float32, e.Dim())
	if err := e.Encode(t.Context(), got, []string{text}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, tensor.Features[:384]) {
		t.Errorf("%q has other features outside of the build", text)
	}
	refuse(t, e, a)
}

func openMiniLM(t *testing.T, rt *ort.Runtime, o featurize.TextEncoderOptions) *featurize.TextEncoder {
	t.Helper()
	e, err := featurize.OpenTextEncoder(rt, realdata.Folder(t, "models", "all-MiniLM-L6-v2"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func textInfo(e *featurize.TextEncoder) featurize.EncoderInfo {
	return featurize.EncoderInfo{Input: "text", Name: e.Name(), Dim: e.Dim(), Digest: e.Digest()}
}

// firstClaim finds the text of a claim in a file of claims.
func firstClaim(t *testing.T, claims, id string) string {
	t.Helper()
	for line := range strings.Lines(claims) {
		if strings.Contains(line, `"id": `+id+",") {
			_, rest, _ := strings.Cut(line, `"claim": "`)
			text, _, _ := strings.Cut(rest, `", "`)
			return text
		}
	}
	t.Fatalf("there is no claim %s", id)
	return ""
}

// refuse checks that an encoder makes no features but its own.
func refuse(t *testing.T, e *featurize.TextEncoder, a *costs.Actions) {
	t.Helper()
	for want, change := range map[string]func(a *costs.Actions){
		"made by another encoder":       func(a *costs.Actions) { a.Digests = map[string]string{costs.FeatureDigest: "sha256:0"} },
		"is not the vector of one text": func(a *costs.Actions) { a.Features.Name = "text a + text b" },
		"which is not the vector":       func(a *costs.Actions) { a.Features.Name = "pooled 4x4" },
		"MiniLM-L6-v2 reads texts":      func(a *costs.Actions) { a.Features.Name = "image a" },
		"vectors of 12 numbers":         func(a *costs.Actions) { a.Features.Dim = 12 },
		"encoder than all-MiniLM-L6-v2": func(a *costs.Actions) { a.Features.Name = "text other" },
	} {
		other := *a
		change(&other)
		if err := identity.CheckEncoder(&other, textInfo(e)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := os.Stat(e.Name()); err == nil {
		t.Errorf("the name %q is a path", e.Name())
	}
}
