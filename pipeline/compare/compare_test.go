package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// sample is a report with one policy that saves, at two lambdas.
func sample(change func(*report.Report)) *report.Report {
	half, one := 0.5, 1.0
	saved := report.Interval{Mean: 0.1, Low: 0.05, High: 0.15}
	r := &report.Report{
		Format: 1, Benchmark: "eval", Title: "A title", Outcomes: "sha256:1", Settings: map[string]string{"seed": "0", "split": "val"},
		Rows: []report.Row{
			{Method: "auto", Lambda: &half, N: 100, TrueLossMean: 0.2},
			{Method: "auto", Lambda: &half, N: 10, TrueLossMean: 0.9},
			{Method: "auto", Lambda: &one, TrueLossMean: 0.3},
			{Method: "best_fixed_train", Lambda: &one, TrueLossMean: 0.4, Pair: "a/none"},
		},
		Verdict: []report.Verdict{
			{Lambda: 1, Deploy: report.DeployPolicy, Policy: "auto-lambda1.onnx", Method: "auto", Rows: 9, Savings: []report.Saving{
				{Against: []string{report.AgainstFixed}, Pair: "a/none", Reference: 0.4, Cost: saved, Loss: saved, Money: saved},
			}},
			{Lambda: 0.5, Deploy: report.DeployConstant, Pair: "a/none", As: []string{report.AgainstFixed}, Reason: report.GuardFell, Policy: "auto-lambda0.5.onnx", Rows: 9},
		},
		Constants:   []report.ConstantPoint{{Pair: "a/none", Loss: 0.4, Money: 0.1}},
		Calibration: []report.Calibration{{Policy: "auto-lambda1.onnx", Error: 0.03}},
	}
	change(r)
	return r
}

// A report does not differ from itself.
func TestSameReport(t *testing.T) {
	a := sample(func(*report.Report) {})
	c := Reports("a", "b", a, a)
	if !c.SameRows || len(c.Settings) != 0 || len(c.Verdicts) != 2 || len(c.Methods) != 3 {
		t.Fatalf("%+v", c)
	}
	for _, v := range c.Verdicts {
		if v.Changed || v.A.Sentence == "" || v.A.Sentence != v.B.Sentence {
			t.Errorf("%+v", v)
		}
	}
	for _, m := range c.Methods {
		if *m.Change != 0 {
			t.Errorf("%+v", m)
		}
	}
	if *c.Methods[0].A != 0.2 {
		t.Errorf("true loss %g is not that of most training rows", *c.Methods[0].A)
	}
	if *c.Constants[0].Loss != 0 || *c.Constants[0].Money != 0 || *c.Calibration[0].Change != 0 {
		t.Errorf("%+v %+v", c.Constants[0], c.Calibration[0])
	}
}

// What changed is B - A, and what only one report has is there without a change.
func TestChanges(t *testing.T) {
	a := sample(func(*report.Report) {})
	b := sample(func(r *report.Report) {
		r.Outcomes = "sha256:2"
		r.Settings["seed"], r.Settings["new"] = "1", "x"
		r.Rows[2].TrueLossMean, r.Rows[3].Method = 0.25, "oracle"
		r.Verdict[0].Deploy, r.Verdict[0].Pair, r.Verdict[0].Reason = report.DeployConstant, "a/none", report.Dearer
		r.Verdict = r.Verdict[:1]
		r.Constants[0].Loss, r.Calibration[0].Error = 0.5, 0.01
	})
	c := Reports("a", "b", a, b)
	if c.SameRows || !strings.Contains(c.Notes[0], "different rows") {
		t.Errorf("same rows: %v, notes %q", c.SameRows, c.Notes)
	}
	if v := c.Verdicts; v[0].Lambda != 0.5 || v[0].B != nil || !v[0].Changed || v[1].A.What != "auto-lambda1.onnx" || v[1].B.What != "a/none" || !v[1].Changed || v[1].A.Saved.Mean != 0.1 {
		t.Errorf("%+v", v)
	}
	found := map[string]Method{}
	for _, m := range c.Methods {
		found[m.Method+" "+report.Number(m.Lambda)] = m
	}
	if m := found["auto 1"]; math.Abs(*m.Change+0.05) > 1e-12 {
		t.Errorf("%+v", m)
	}
	if m := found["best_fixed_train 1"]; m.A == nil || m.B != nil || m.Change != nil || m.PairA != "a/none" {
		t.Errorf("%+v", m)
	}
	if m := found["oracle 1"]; m.A != nil || m.B == nil || m.Change != nil {
		t.Errorf("%+v", m)
	}
	if math.Abs(*c.Constants[0].Loss-0.1) > 1e-12 || math.Abs(*c.Calibration[0].Change+0.02) > 1e-12 {
		t.Errorf("%+v %+v", c.Constants[0], c.Calibration[0])
	}
	if len(c.Settings) != 2 || c.Settings[0] != (Setting{"new", "", "x"}) || c.Settings[1] != (Setting{"seed", "0", "1"}) {
		t.Errorf("%+v", c.Settings)
	}
}

// Reports in files and folders are read; other files are errors of the data; outputs do not replace inputs.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a", "b"} {
		var b bytes.Buffer
		if err := sample(func(r *report.Report) { r.Title = "<i>" + name }).WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Mkdir(at(name), 0o755), os.WriteFile(filepath.Join(at(name), "report.json"), b.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Files(t.Context(), storage.File(at("a")), storage.File(filepath.Join(at("b"), "report.json")), storage.File(at("out")))
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(at("out/comparison.json"))
	var back Comparison
	if err = errors.Join(err, json.Unmarshal(written, &back)); err != nil || back.A.Title != "<i>a" || len(back.Methods) != len(c.Methods) {
		t.Errorf("%v: %+v", err, back)
	}
	html, err := os.ReadFile(at("out/comparison.html"))
	if err != nil || !strings.Contains(string(html), "&lt;i&gt;a") || strings.Contains(string(html), "<i>a") {
		t.Errorf("%v: the page does not escape titles", err)
	}
	var text bytes.Buffer
	if err := c.WriteText(&text); err != nil || !strings.Contains(text.String(), "True loss by method") {
		t.Errorf("%v\n%s", err, text.String())
	}
	if err := os.WriteFile(at("bad.json"), []byte(`{"a": 1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	var data *costs.DataError
	for _, bad := range []string{at("bad.json"), at("out/comparison.json")} {
		if _, err := Files(t.Context(), storage.File(at("a")), storage.File(bad), storage.Location{}); !errors.As(err, &data) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	var option *stage.OptionError
	if err := os.Rename(at("a/report.json"), at("a/comparison.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := Files(t.Context(), storage.File(at("a/comparison.json")), storage.File(at("b")), storage.File(at("a"))); !errors.As(err, &option) {
		t.Errorf("an output over an input: %v", err)
	}
}
