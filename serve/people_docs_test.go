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
	yaml, console := peopleExample(t)
	r, _ := startPeople(t, yaml)
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

// peopleExample is the configuration of docs/people.md, and its commands.
func peopleExample(t *testing.T) (yaml, console string) {
	_, yaml, _ = strings.Cut(page(t, "people.md"), "```yaml\n")
	yaml, rest, _ := strings.Cut(yaml, "```")
	_, console, _ = strings.Cut(rest, "```console\n")
	console, _, _ = strings.Cut(console, "```")
	return yaml, console
}

// startPeople starts a server with a configuration that it reads again from a file.
func startPeople(t *testing.T, yaml string) (r *running, file string) {
	folder := t.TempDir()
	m, err := triage().Export()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteFile(filepath.Join(folder, "triage.onnx")); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(folder, "serve.yaml")
	write(t, file, yaml)
	r = start(t, func(c *Config) {
		read, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		read.Listen = "127.0.0.1:0"
		*c = read
	}, nil)
	r.reread = func() (Config, error) { return Load(file) }
	return r, file
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPeopleReload: a reload takes over who answers. What it refuses changes nothing, and the answer says why.
func TestPeopleReload(t *testing.T) {
	yaml, _ := peopleExample(t)
	r, file := startPeople(t, yaml)
	ann := strings.Replace(yaml, "name: ben", "name: ann", 1)
	for _, step := range []struct{ yaml, want, person string }{
		{strings.Replace(ann, "folder: people ", "folder: others ", 1), `{"kind":"people","what":"refused","reason":"people: folder: is `, "ben"},
		{strings.Replace(ann, "answers: [reviewer]", "answers: [robot]", 1), `{"kind":"people","what":"refused","reason":"people: list.0.answers: there is no expert`, "ben"},
		{ann + "  colour: red\n", `{"kind":"people","what":"refused","reason":"`, "ben"},
		{"policies: {paths: [triage.onnx]}\n", `{"kind":"people","what":"refused","reason":"people: experts: `, "ben"},
		{ann, `{"kind":"people","what":"loaded"}`, "ann"},
	} {
		write(t, file, step.yaml)
		_, _, body := r.do(t, "POST", "/v1/policies/reload", "")
		if _, _, status := r.do(t, "GET", "/v1/people", ""); !strings.Contains(body, step.want) || !strings.Contains(status, `"name":"`+step.person+`"`) {
			t.Errorf("%s: %s\n%s", step.want, body, status)
		}
	}
}
