package decideapi

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"testing"

	"pipe/costs"
	"pipe/onnx/hf/hftest"
	"pipe/pipeline/decide"
	"pipe/pipeline/decide/decidetest"
	"pipe/serve/policies/policiestest"
)

// encoded has policies with encoders: of texts, of images, of raw rows, and one of texts that is merged with its encoder.
func encoded(t *testing.T) options {
	t.Helper()
	o, models := defaults(), t.TempDir()
	o.files = t.TempDir()
	text, image := hftest.Folder(t), hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	file := func(name string) string { return filepath.Join(o.files, name+".onnx") }
	for name, source := range map[string]costs.FeatureSource{
		"text": {Name: "text small", Dim: hftest.Hidden}, "image": {Name: "image clip", Dim: 12}, "row": {Name: "groups base", Dim: decidetest.TableDim},
	} {
		if err := decidetest.WriteEncoderPolicy(file(name), source.Dim, source, ""); err != nil {
			t.Fatal(err)
		}
	}
	table := filepath.Join(models, "encoder.json")
	if err := decidetest.WriteTable(table); err != nil {
		t.Fatal(err)
	}
	policiestest.Merge(t, file("text"), text, file("merged"))
	o.encoders = map[string]string{"text": text, "image": image, "row": table}
	return o
}

// TestEncoders checks that decisions on texts, conversations, images and raw rows are those of a router on the same file.
func TestEncoders(t *testing.T) {
	o := encoded(t)
	w := newWorld(t, o)
	texts, png := decidetest.Texts(6), decidetest.PNG()
	rows := []map[string]string{{"amount": "12.50", "n_1": "x"}, {"amount": "3", "when": "1767323045"}, {"n_1": "7"}}
	chat := fmt.Sprintf(`{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": %s}]}`, inJSON(t, texts[0]))
	image := inJSON(t, base64.StdEncoding.EncodeToString(png))
	for _, c := range []struct {
		policy string
		bodies []string
		want   func(r *decide.Router) ([]decide.Decision, error)
	}{
		{"text", []string{inJSON(t, map[string]any{"texts": texts})}, func(r *decide.Router) ([]decide.Decision, error) { return r.Texts(t.Context(), texts) }},
		{"merged", []string{inJSON(t, map[string]any{"texts": texts})}, func(r *decide.Router) ([]decide.Decision, error) { return r.Texts(t.Context(), texts) }},
		{"text", []string{inJSON(t, map[string]any{"text": texts[0]}), chat}, func(r *decide.Router) ([]decide.Decision, error) { return r.Texts(t.Context(), texts[:1]) }},
		{"image", []string{
			`{"image": ` + image + `}`, `{"images": ["data:image/png;base64,` + image[1:] + `]}`,
			`{"messages": [{"role": "user", "content": [{"type": "text", "text": "what?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,` + image[1:] + `}}]}]}`,
		}, func(r *decide.Router) ([]decide.Decision, error) { return r.Images(t.Context(), [][]byte{png}) }},
		{"row", []string{
			inJSON(t, map[string]any{"rows": rows}), `{"rows": [{"amount": 12.50, "n_1": "x", "when": null}, {"amount": 3, "when": "1767323045"}, {"n_1": 7}]}`,
		}, func(r *decide.Router) ([]decide.Decision, error) { return r.Rows(t.Context(), rows) }},
	} {
		router, err := decide.Open(t.Context(), filepath.Join(o.files, c.policy+".onnx"), decide.Options{Encoder: o.encoders[c.policy]})
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.want(router)
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range c.bodies {
			got := w.decide(t, fmt.Sprintf(`{"policy": %q, %s`, c.policy, body[1:]))
			if len(got.Decisions) != len(want) {
				t.Fatalf("%s: %d decisions, want %d", c.policy, len(got.Decisions), len(want))
			}
			for i, d := range got.Decisions {
				if d.Index != want[i].Action || d.Expert != want[i].Expert || d.Score != want[i].Scores[d.Index] {
					t.Errorf("%s, row %d: %+v, want %+v", c.policy, i, d.pairOf, want[i])
				}
			}
		}
		if err := router.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for body, code := range map[string]string{
		`{"policy": "image", "image": "AAAA"}`: "wrong_row", `{"policy": "row", "row": {"nothing": 1}}`: "wrong_row", `{"policy": "row", "row": {"amount": "much"}}`: "wrong_row",
		`{"policy": "text", "messages": [{"role": "system", "content": "s"}]}`: "wrong_messages", `{"policy": "image", "text": "x"}`: "wrong_input",
	} {
		if status, got := w.post(t, "/v1/decide", body); status != 422 || got["error"].(map[string]any)["code"] != code {
			t.Errorf("%s: %d %v, want %s", body, status, got, code)
		}
	}
}
