package costing

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// TestConfigsOfCostsAreValid reads every configuration of the repository that
// has a costs section.
func TestConfigsOfCostsAreValid(t *testing.T) {
	t.Setenv("PIPE_DATA", t.TempDir())
	for _, file := range []string{"cifar10-small.yaml", "imagenet-small.yaml", "imagenet.yaml"} {
		cfg := Config{Costs: part.DefaultConfig()}
		if err := config.Load(t.Context(), storage.File(filepath.Join("..", "..", "configs", file)), &cfg); err != nil {
			t.Error(err)
		}
		if len(cfg.Costs.Experts) == 0 || cfg.Costs.Experts[0].Settings["model"] == nil {
			t.Errorf("%s: experts %+v", file, cfg.Costs.Experts)
		}
	}
}

// TestBuildCostsFromAFile runs the stage on a configuration with precomputed
// answers, which needs no runtime library.
func TestBuildCostsFromAFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rows.csv":    "id,label,x\na,yes,1\nb,no,2\nc,yes,3\nd,no,4\n",
		"answers.csv": "id,prediction\na,yes\nb,yes\nc,yes\nd,yes\n",
		"costs.yaml": `costs:
  instances: {kind: table, file: rows.csv}
  split: {kind: stratified, validation: 0.5}
  advice: [{name: none, kind: none}]
  experts:
    - {name: optimist, fee: 0.1, kind: precomputed, file: answers.csv, prediction: prediction}
  features: [{kind: columns, columns: [x]}]
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Config: storage.File(filepath.Join(dir, "costs.yaml")), Out: storage.File(filepath.Join(dir, "out"))}
	r, err := Run(context.Background(), o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Losses) != 1 || r.Losses[0] != (ActionLoss{"optimist/none", 0.5}) || r.Train != 2 || r.Val != 2 {
		t.Errorf("report %+v", r)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "optimist/none  0.5000") {
		t.Errorf("%v\n%s", err, &text)
	}
	b, err := json.Marshal(r)
	if err != nil || !bytes.Contains(b, []byte(`"losses":[{"action":"optimist/none","loss":0.5}]`)) {
		t.Errorf("%v\n%s", err, b)
	}
}

func TestCostsConfigRefusesUnknownKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("costs:\n  experst: []\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Run(context.Background(), Options{Config: storage.File(file), Out: storage.File("unused")}, stage.Quiet)
	if err == nil || !strings.Contains(err.Error(), `line 2: unknown key "experst"`) {
		t.Errorf("got %v", err)
	}
}
