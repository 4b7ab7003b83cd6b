package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/pipeline/exitcode"
)

// Eval says whether it wrote figures, and a later run with fewer of them leaves none of the earlier one.
func TestEvalFigures(t *testing.T) {
	needRuntime(t)
	t.Chdir(t.TempDir())
	if err := writeSamples("."); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lambdas, says string
		want          []string
	}{
		{"1", "no figures: ", nil},
		{"0,1,2", "figures in figures", []string{"figures/loss.svg"}},
		{"1", "no figures: ", nil},
	} {
		var out, stderr bytes.Buffer
		if code := run(t.Context(), []string{"eval", "--in", "table.parquet", "--resamples", "50", "--lambda", c.lambdas, "--figures", "figures"}, nil, &out, &stderr); code != exitcode.OK {
			t.Fatalf("exit code %d, %s", code, &stderr)
		}
		got, _ := filepath.Glob("figures/*")
		if !strings.Contains(stderr.String(), c.says) || !slices.Equal(got, c.want) {
			t.Errorf("--lambda %s: says %q, files %q, want %q", c.lambdas, stderr.String(), got, c.want)
		}
	}
}

// A wrong file name is an error with a hint.
func TestWrongNamesHaveHints(t *testing.T) {
	needRuntime(t)
	t.Chdir(t.TempDir())
	for _, name := range []string{"policies/a.onnx", "policies/b.onnx", "sheet.xlsx"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, ".", map[string]string{name: ""})
	}
	for line, want := range map[string]string{
		"decide --policy policies --in x.csv": "hint: name a file in it: policies/a.onnx, policies/b.onnx",
		"serve --policy nope":                 `has no "nope"`,
		"init nope.csv":                       `has no "nope.csv"`,
		"init sheet.xlsx":                     "as CSV",
	} {
		var out, stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(line), nil, &out, &stderr); code == exitcode.OK || !strings.Contains(stderr.String(), want) {
			t.Errorf("pipe %s: exit code %d, says %q, want %q", line, code, stderr.String(), want)
		}
	}
}
