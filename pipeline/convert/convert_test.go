package convert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/featurize"
	"pipe/internal/judge"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/hf"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/inspect"
	"pipe/pipeline/stage"
)

const mergedScript = `
import json, sys, numpy as np, onnx, onnxruntime
onnx.checker.check_model(sys.argv[1], full_check=True)
s = onnxruntime.InferenceSession(sys.argv[1])
rows = json.load(open(sys.argv[2]))
n = max(map(len, rows))
ids = np.array([r + [0] * (n - len(r)) for r in rows], np.int64)
mask = np.array([[1] * len(r) + [0] * (n - len(r)) for r in rows], np.int64)
out = s.run(["action", "expert", "advice"], {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})
print(json.dumps({"values": [o.tolist() for o in out], "note": s.get_modelmeta().custom_metadata_map["pipe.note"],
    "inputs": [i.name for i in s.get_inputs()], "outputs": [o.name for o in s.get_outputs()]}))
`

// One file of encoder and policy passes the official checker, and in Python maps padded token ids to the same actions
// as encoder and policy run one after the other here.
func TestMergedFileDecidesAlike(t *testing.T) {
	py, rt, encoder, dir := judge.Python(t, "onnx", "onnxruntime"), orttest.Open(t, 1), hftest.Folder(t), t.TempDir()
	text, err := featurize.ReadTextModel(encoder, featurize.DefaultTextModelOptions())
	if err != nil {
		t.Fatal(err)
	}
	e, err := text.Open(rt, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	texts := decidetest.Texts(200)
	features := make([]float32, len(texts)*e.Dim())
	if err := e.Encode(context.Background(), features, texts); err != nil {
		t.Fatal(err)
	}
	centre := make([]float32, e.Dim())
	for i, v := range features {
		centre[i%e.Dim()] += v / float32(len(texts))
	}
	trained := decidetest.EncoderPolicy(t, dir, hftest.Hidden, costs.FeatureSource{}, "", centre...)
	merged := filepath.Join(dir, "merged.onnx")
	if _, err := Run(context.Background(), Options{Model: encoder, Merge: storage.File(trained), Out: storage.File(merged)}); err != nil {
		t.Fatal(err)
	}
	d, err := policy.Open(rt, trained)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	want, err := d.Decide(context.Background(), features, len(texts))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]int32
	for _, s := range texts {
		o := text.Tokenizer.Defaults()
		o.MaxLength = text.MaxLength
		rows = append(rows, text.Tokenizer.Encode(s, o).IDs)
	}
	ids, err := json.Marshal(rows)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "ids.json"), ids, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Values          [][]int64
		Note            string
		Inputs, Outputs []string
	}
	out := judge.Run(t, py, dir, mergedScript, merged, filepath.Join(dir, "ids.json"))
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
	if s := fmt.Sprint(got.Note, got.Inputs, got.Outputs); s != "kept[input_ids attention_mask token_type_ids] [action expert advice scores]" {
		t.Error(s)
	}
	checkMergedExplanation(t, merged)
}

// checkMergedExplanation: inspect recognises a merged file as a policy and describes the encoder inside; it does not
// print the tokenizer in its metadata.
func checkMergedExplanation(t *testing.T, path string) {
	t.Helper()
	x, err := inspect.File(t.Context(), storage.File(path), inspect.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := x.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	s := b.String()
	if !strings.Contains(s, "encoder inside   small (bert), text of up to 20 tokens") || !strings.Contains(s, "note = kept") || strings.Contains(s, "WordPiece") {
		t.Error(s)
	}
}

// A policy trained on the vectors of another encoder, or on another kind of features, is refused; so is one that
// already has an encoder.
func TestMergeHoldsThePolicyAgainstTheEncoder(t *testing.T) {
	encoder, dir := hftest.Folder(t), t.TempDir()
	convert := func(policy string) error {
		_, err := Run(context.Background(), Options{Model: encoder, Merge: storage.File(policy), Out: storage.File(filepath.Join(dir, "merged.onnx"))})
		return err
	}
	text := costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}
	for want, policy := range map[string]string{
		"made by another encoder":                decidetest.EncoderPolicy(t, t.TempDir(), hftest.Hidden, text, "sha256:0"),
		"which is not the vector of one text":    decidetest.EncoderPolicy(t, t.TempDir(), hftest.Hidden, costs.FeatureSource{Name: "pooled 4x4", Dim: hftest.Hidden}, ""),
		"takes 7 features, the encoder makes 16": decidetest.EncoderPolicy(t, t.TempDir(), 7, costs.FeatureSource{}, ""),
		"sees vectors of 7 numbers, the encoder": decidetest.EncoderPolicy(t, t.TempDir(), 7, costs.FeatureSource{Name: "text small", Dim: 7}, ""),
	} {
		var option *stage.OptionError
		if err := convert(policy); !errors.As(err, &option) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "merged.onnx")); err == nil {
		t.Error("a file was left")
	}
	if err := convert(decidetest.EncoderPolicy(t, t.TempDir(), hftest.Hidden, text, "")); err != nil {
		t.Error(err)
	}
	once := filepath.Join(t.TempDir(), "once.onnx")
	if err := os.Rename(filepath.Join(dir, "merged.onnx"), once); err != nil {
		t.Fatal(err)
	}
	if err := convert(once); err == nil || !strings.Contains(err.Error(), "has an encoder in front already") {
		t.Errorf("merged twice: %v", err)
	}
}

// The same model gives the same bytes, and for a name that is not found the hint names the download.
func TestConvert(t *testing.T) {
	encoder, dir := hftest.Folder(t), t.TempDir()
	var files [][]byte
	for _, name := range []string{"a.onnx", "below/b.onnx"} {
		if _, err := Run(context.Background(), Options{Model: encoder, Out: storage.File(filepath.Join(dir, name))}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, b)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two runs give different files")
	}
	_, err := Run(context.Background(), Options{Model: "org/absent", Out: storage.File(filepath.Join(dir, "c.onnx"))})
	var missing *hf.MissingModelError
	if !errors.As(err, &missing) || !strings.Contains(missing.Hint(), "hf download org/absent") {
		t.Error(err)
	}
	if (Options{MaxLength: -1}).Validate() == nil {
		t.Error("options without a model pass")
	}
}

// A conversion does not overwrite its inputs: the policy, the model, a file in its folder.
func TestConvertKeepsItsInputs(t *testing.T) {
	encoder, dir := hftest.Folder(t), t.TempDir()
	policy := decidetest.EncoderPolicy(t, dir, hftest.Hidden, costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}, "")
	file := filepath.Join(encoder, "served.onnx") // one from which the folder's model is not read
	for range 2 {
		if _, err := Run(context.Background(), Options{Model: encoder, Out: storage.File(file)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []Options{
		{Model: encoder, Merge: storage.File(policy), Out: storage.File(policy)},
		{Model: file, Out: storage.File(file)},
		{Model: encoder, Out: storage.File(filepath.Join(encoder, "tokenizer.json"))},
		{Model: encoder, Out: storage.File(filepath.Join(encoder, "model.safetensors"))},
	} {
		before, err := os.ReadFile(o.Out.String())
		if err != nil {
			t.Fatal(err)
		}
		_, err = Run(context.Background(), o)
		var option *stage.OptionError
		if !errors.As(err, &option) || !strings.Contains(err.Error(), "choose another --out") {
			t.Errorf("%s: %v", o.Out, err)
		}
		if after, err := os.ReadFile(o.Out.String()); err != nil || !bytes.Equal(after, before) {
			t.Errorf("%s has changed, %v", o.Out, err)
		}
	}
}

// Texts in CSV and in JSONL get the decisions of their vectors.
func TestDecideTexts(t *testing.T) {
	rt, encoder, dir := orttest.Open(t, 1), hftest.Folder(t), t.TempDir()
	o := decide.DefaultStreamOptions()
	o.Policy = storage.File(decidetest.EncoderPolicy(t, dir, hftest.Hidden, costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}, ""))
	o.Encoder, o.Text = encoder, "claim"
	texts := decidetest.Texts(30)
	var csv, jsonl strings.Builder
	csv.WriteString("id,other,claim\n")
	for i, s := range texts {
		fmt.Fprintf(&csv, "%d,x,%s\n", i, s)
		fmt.Fprintf(&jsonl, "{\"claim\": %q, \"label\": 1, \"not used\": [\"\\ud83d\"]}\n\n", s)
	}
	var outs []string
	for _, in := range []string{csv.String(), jsonl.String()} {
		var out bytes.Buffer
		if _, err := decide.Stream(context.Background(), rt, o, strings.NewReader(in), &out, stage.Quiet); err != nil {
			t.Fatal(err)
		}
		outs = append(outs, out.String())
	}
	if outs[0] != outs[1] || strings.Count(outs[0], "\n") != 31 {
		t.Errorf("decisions differ:\n%s\n%s", outs[0], outs[1])
	}
	for want, in := range map[string]string{
		"column claim: is missing; the columns are id, text": "id,text\n1,a\n",
		"row 2: column claim: is missing or not a string":    "{\"claim\": \"a\"}\n{\"claim\": null}\n",

		"row 1: column claim":                              "{\"claim\": 7}\n",
		"row 1: column id":                                 "{\"claim\": \"a\", \"id\": []}\n",
		"row 1: the line ends within":                      "{\"claim\": \"a\"\n",
		`row 1: column claim: \ud800 is half`:              `{"claim": "\ud800"}`,
		`row 1: column id: \ud800 is half`:                 `{"claim": "a", "id": "\ud800"}`,
		"has no rows":                                      "claim\n",
		"is empty":                                         "",
		"the row has 1 fields, the header 2":               "id,claim\n1\n",
		"is Parquet; rows with texts must be CSV or JSONL": "PAR1",
	} {
		_, err := decide.Stream(context.Background(), rt, o, strings.NewReader(in), &bytes.Buffer{}, stage.Quiet)
		var data *costs.DataError
		if !errors.As(err, &data) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	o.Policy = storage.File(decidetest.EncoderPolicy(t, t.TempDir(), hftest.Hidden, costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}, "sha256:0"))
	var option *stage.OptionError
	if _, err := decide.Stream(context.Background(), rt, o, strings.NewReader(csv.String()), &bytes.Buffer{}, stage.Quiet); !errors.As(err, &option) {
		t.Errorf("another encoder: %v", err)
	}
}
