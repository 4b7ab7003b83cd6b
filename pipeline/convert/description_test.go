package convert

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/featurize"
	"pipe/featurize/tokenizer"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/eval"
	"pipe/pipeline/inspect"
	"pipe/pipeline/train"
)

// described reads the description beside a policy, and checks what must hold for every one: it is of these bytes, and its
// names, inputs and digest are those of the file.
func described(t *testing.T, path string) *decide.Description {
	t.Helper()
	d, err := decide.ReadDescription(t.Context(), decide.DescriptionFile(storage.File(path)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := decide.ReadPolicy(t.Context(), storage.File(path))
	if err != nil {
		t.Fatal(err)
	}
	digest, err := f.Digest()
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnx.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	same, err := d.Describes(t.Context(), storage.File(path))
	if err != nil || !same || d.Digest != digest || int64(d.Bytes) != size.Size() {
		t.Errorf("%s: description of %d bytes with digest %s, the file has %d and %s; %v", path, d.Bytes, d.Digest, size.Size(), digest, err)
	}
	if a := f.Info.Actions; !reflect.DeepEqual(d.Experts, a.Experts) || !reflect.DeepEqual(d.Advice, a.Advice) || len(d.Unavailable) != len(a.Unavailable) || d.Lambda != f.Info.Lambda || d.Dim != f.Info.Dim {
		t.Errorf("%s: %+v", path, d)
	}
	for i, v := range m.Inputs() {
		if d.Inputs[i].Name != v.Name || d.Inputs[i].Type != v.DType.String() || "["+strings.Trim(fmt.Sprint(d.Inputs[i].Shape), "[]")+"]" != v.Shape.String() {
			t.Errorf("%s: input %+v, the file has %v", path, d.Inputs[i], v)
		}
	}
	if len(d.Outputs) != len(m.Outputs()) || d.Outputs[0].Name != policy.ActionOutput {
		t.Errorf("%s: outputs %+v", path, d.Outputs)
	}
	return d
}

// The description of an any-price policy has the prices to feed, and that of a file with fixed prices the fixed ones.
func TestDescriptionsOfPrices(t *testing.T) {
	dir := t.TempDir()
	anyPrice, fixed := filepath.Join(dir, "any.onnx"), filepath.Join(dir, "fixed.onnx")
	m, err := decidetest.AnyPrice(3).Export()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time over the first
		if _, err := decide.WritePolicy(t.Context(), storage.File(anyPrice), m); err != nil {
			t.Fatal(err)
		}
	}
	d := described(t, anyPrice)
	in := d.Prices.Inputs
	if !reflect.DeepEqual(in.Experts, []float32{0.1, 0.1, 0.1}) || !reflect.DeepEqual(in.Advice, []float32{0, 0.1, 0.2}) || len(in.Pairs) != 9 || fmt.Sprint(in.Available) != "[true true true true true false true true true]" {
		t.Errorf("inputs %+v", in)
	}
	if d.Prices.Lambda != [2]float64{0, 8} || fmt.Sprint(d.Unavailable) != `[{"quoted" long}]` || d.Encoder != nil || d.Fixed != nil {
		t.Errorf("%+v", d)
	}
	if _, err := Run(t.Context(), Options{Model: anyPrice, Out: storage.File(fixed), Prices: frozenAt()}); err != nil {
		t.Fatal(err)
	}
	if f := described(t, fixed); f.Prices != nil || f.FrozenFrom != d.Digest || f.Lambda != 3 || f.Experts[2].Fee != 0.02 || fmt.Sprint(f.Without) != "[pair=c/short]" || len(f.Unchecked) != 3 {
		t.Errorf("%+v", f)
	}
	e, err := inspect.File(t.Context(), decide.DescriptionFile(storage.File(fixed)), inspect.DefaultOptions())
	if p, ok := e.(*inspect.PolicyExplanation); err != nil || !ok || p.File != fixed {
		t.Errorf("%+v, %v", e, err)
	}
	if err := os.Rename(decide.DescriptionFile(storage.File(anyPrice)).String(), decide.DescriptionFile(storage.File(fixed)).String()); err != nil {
		t.Fatal(err)
	}
	var data *costs.DataError
	if _, err = inspect.File(t.Context(), decide.DescriptionFile(storage.File(fixed)), inspect.DefaultOptions()); !errors.As(err, &data) || !strings.Contains(err.Error(), "describes another file") {
		t.Error(err)
	}
}

// The description of a merged file has the tokenizer, or how pixels are made. An encoder that takes the place of the policy
// takes the description away, but no other file of that name.
func TestDescriptionsOfMergedFiles(t *testing.T) {
	orttest.Open(t, 1)
	for name, model := range map[string]string{"text": hftest.Folder(t), "image": hftest.CLIPFolder(t, hftest.SpellingCLIP(1))} {
		at := t.TempDir()
		merged, dim := filepath.Join(at, "merged.onnx"), map[string]int{"text": hftest.Hidden, "image": 12}[name]
		front := decidetest.EncoderPolicy(t, at, dim, costs.FeatureSource{}, "")
		for range 2 { // beside an earlier description, and with the same bytes
			if _, err := Run(t.Context(), Options{Model: model, Merge: storage.File(front), Out: storage.File(merged)}); err != nil {
				t.Fatal(err)
			}
		}
		d := described(t, merged)
		about, err := os.ReadFile(decide.DescriptionFile(storage.File(merged)).String())
		if err != nil || d.Encoder == nil || d.Encoder.Input != name || d.Encoder.Dim != dim {
			t.Fatalf("%+v, %v", d, err)
		}
		if name == "image" && (d.Encoder.Preprocess == nil || d.Encoder.Preprocess.Width == 0 || d.Tokens != nil || d.Tokenizer != nil) {
			t.Errorf("%+v", d)
		}
		if name == "text" {
			checkTokenizer(t, d, model)
		}
		if n := bytes.Count(about, []byte("\n")); n > 200 {
			t.Errorf("%d lines", n)
		}
		if _, err := Run(t.Context(), Options{Model: model, Out: storage.File(merged)}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(decide.DescriptionFile(storage.File(merged)).String()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the description of the policy stays: %v", err)
		}
		other := []byte(`{"audio": {"sample_rate": 22050}}`)
		if err := os.WriteFile(decide.DescriptionFile(storage.File(merged)).String(), other, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(t.Context(), Options{Model: model, Out: storage.File(merged)}); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(decide.DescriptionFile(storage.File(merged)).String()); err != nil || !bytes.Equal(b, other) {
			t.Errorf("%s, %v", b, err)
		}
	}
}

// checkTokenizer compares the tokenizer in a description with that of the model.
func checkTokenizer(t *testing.T, d *decide.Description, model string) {
	t.Helper()
	own, err := tokenizer.Load(model)
	if err != nil {
		t.Fatal(err)
	}
	inside, err := tokenizer.Parse(d.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	o := tokenizer.Options{Special: true, MaxLength: d.Tokens.MaxLength}
	for _, s := range []string{"", "A Text, of Ångström", strings.Repeat("x y ", 600)} {
		if a, b := own.Encode(s, o), inside.Encode(s, o); !reflect.DeepEqual(a, b) {
			t.Errorf("%.20q: ids %v, not %v", s, b.IDs, a.IDs)
		}
	}
	m, err := featurize.ReadTextModel(model, featurize.DefaultTextModelOptions())
	if err != nil {
		t.Fatal(err)
	}
	id, ok := own.ID("[CLS]")
	if got, has := d.Tokens.Special["[CLS]"]; !ok || !has || got != id || d.Tokens.MaxLength != m.MaxLength || !d.Tokens.Lowercase {
		t.Errorf("%+v", d.Tokens)
	}
}

// Training writes a description beside every policy, and removes those of policies that it removes.
func TestTrainingDescribesPolicies(t *testing.T) {
	rt, dir := orttest.Open(t, 1), t.TempDir()
	o := train.DefaultOptions()
	o.Recipe, o.Methods, o.Out, o.Seeds, o.Network.Epochs = "paper", nil, storage.File(dir), 2, 2
	tensor := coststest.Users(40, 3, 1)
	train := func() *train.Report {
		r, err := train.RunOn(t.Context(), rt, tensor, o, filepath.Join(dir, "checkpoints"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := train()
	for _, p := range first.Policies {
		described(t, filepath.Join(dir, p.File))
	}
	before, err := os.ReadFile(filepath.Join(dir, decide.DescriptionFile(storage.File(first.Policies[0].File)).String()))
	if err != nil {
		t.Fatal(err)
	}
	o.Seeds = 1
	second := train()
	if there, err := filepath.Glob(filepath.Join(dir, "*.onnx*")); err != nil || len(first.Policies) != 2 || len(second.Policies) != 1 || len(there) != 2 {
		t.Errorf("left are %v, %v", there, err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, decide.DescriptionFile(storage.File(second.Policies[0].File)).String())); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the same training has another description: %s and %s, %v", before, after, err)
	}
	if list, err := eval.PolicyFiles(t.Context(), storage.Files(dir)); err != nil || len(list) != 1 {
		t.Errorf("policies in the folder are %v, %v", list, err)
	}
}

// Files that are no description are refused, and so are those of later versions.
func TestReadDescription(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.onnx.json")
	for text, want := range map[string]string{
		"":                  "unexpected end",
		`{"kind": "other"}`: "is not the description of a policy",
		`{"kind": "policy", "sha256": "a", "format": 2}`:   "format 2 is newer than 1",
		`{"kind": "policy", "kind": "policy"}`:             "kind",
		`{"kind": "policy", "sha256": "a", "lambda": "1"}`: "lambda",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		var data *costs.DataError
		if _, err := decide.ReadDescription(t.Context(), storage.File(path)); !errors.As(err, &data) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
