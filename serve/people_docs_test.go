package serve

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
)

// triage is a policy with a model, which the first feature makes err, and a reviewer.
func triage() *policy.Policy {
	r := policy.DefaultPriceRange()
	return &policy.Policy{
		Actions:  &costs.Actions{Experts: []costs.Expert{{Name: "model"}, {Name: "reviewer", Fee: 0.1}}, Advice: []costs.Advice{{Name: "none"}}, Features: costs.FeatureSource{Dim: 2}},
		Standard: network.Standardizer{Mean: []float32{0, 0}, Scale: []float32{1, 1}},
		Dim:      2, Method: "auto", Recipe: "auto", Decoder: policy.DecoderEstimate,
		Estimate: &policy.Estimate{
			Blend: estimate.Blend{Parts: []estimate.Part{{Weight: 1, Estimator: estimate.Linear{
				Affine: network.Affine{Out: 2, In: 2, W: []float32{1, 0, 0, 0}, B: []float32{0, 0.05}},
			}}}},
			Constant: []float64{0.3, 0.05}, Margin: 0.01, Prices: &r,
		},
	}
}

// TestPeopleExample runs the example of docs/people.md: its configuration, and each of its commands in one shell. Without these commands
// it is skipped, or fails under CI=true.
func TestPeopleExample(t *testing.T) {
	for _, program := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	text := page(t, "people.md")
	_, yaml, _ := strings.Cut(text, "```yaml\n")
	yaml, rest, _ := strings.Cut(yaml, "```")
	_, console, _ := strings.Cut(rest, "```console\n")
	console, _, _ = strings.Cut(console, "```")
	folder := t.TempDir()
	m, err := triage().Export()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteFile(filepath.Join(folder, "triage.onnx")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "serve.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, func(c *Config) {
		read, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		read.Listen = "127.0.0.1:0"
		*c = read
	}, nil)
	if report := Check(t.Context(), r.config, Options{Runtime: orttest.OneThread(t)}); len(report.Problems) > 0 {
		t.Error("a check beside the running server:", report.Problems)
	}
	_, console, _ = strings.Cut(console, "http://127.0.0.1:8080\n")
	var script, want strings.Builder
	for line := range strings.Lines(console) {
		if command, is := strings.CutPrefix(line, "$ "); is {
			script.WriteString(command)
		} else {
			want.WriteString(line)
		}
	}
	shell := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", strings.ReplaceAll(script.String(), "http://127.0.0.1:8080", r.url))
	out, err := shell.CombinedOutput()
	if err != nil || string(out) != want.String() {
		t.Errorf("%v\n%s\nThe page says\n%s", err, out, want.String())
	}
	if _, _, metrics := r.do(t, "GET", "/metrics", ""); !strings.Contains(metrics, `pipe_people_open{expert="reviewer"} 0`) || !strings.Contains(metrics, `pipe_person_left_seconds{person="ben"}`) {
		t.Error("the metrics lack people")
	}
}
