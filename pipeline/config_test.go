package pipeline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type sampleConfig struct {
	Name   string          `yaml:"name"`
	Rate   float64         `yaml:"rate"`
	Epochs int             `yaml:"epochs"`
	Data   Path            `yaml:"data"`
	Parts  []Path          `yaml:"parts"`
	Named  map[string]Path `yaml:"named"`
	Nested struct {
		File Path `yaml:"file"`
	} `yaml:"nested"`
}

func (c *sampleConfig) Validate() error {
	var problems []error
	if c.Epochs <= 0 {
		problems = append(problems, errors.New("epochs must be positive"))
	}
	if c.Rate <= 0 {
		problems = append(problems, errors.New("rate must be positive"))
	}
	return errors.Join(problems...)
}

func environment(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func TestConfigExpandsAndResolves(t *testing.T) {
	text := `
# ${NOT_READ} in a comment is not looked up
name: "run of ${WHO}: # ok"
rate: ${RATE}
epochs: ${EPOCHS:-7}
data: ${ROOT}/train.parquet
parts: [a.csv, /abs/b.csv]
named: {one: sub/c.csv}
nested:
  file: ../d.csv
`
	env := environment(map[string]string{"WHO": "A: {B}", "RATE": "0.25", "ROOT": "/data"})
	var got sampleConfig
	if problems := decodeConfig([]byte(text), "/cfg", env, &got); problems != nil {
		t.Fatal(problems)
	}
	want := sampleConfig{
		Name: "run of A: {B}: # ok", Rate: 0.25, Epochs: 7, Data: "/data/train.parquet",
		Parts: []Path{"/cfg/a.csv", "/abs/b.csv"}, Named: map[string]Path{"one": "/cfg/sub/c.csv"},
	}
	want.Nested.File = "/d.csv"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConfigReportsEveryProblem(t *testing.T) {
	cases := []struct {
		name, text string
		want       []string
	}{
		{"unknown keys", "name: a\nepoch: 3\nepochs: 1\nratee: 1\n", []string{`line 2: unknown key "epoch"`, `line 4: unknown key "ratee"`}},
		{"silent narrowing", "epochs: 5.5\n", []string{"line 1:", "5.5"}},
		{"variables", "name: ${A}\ndata: ${B}/${C}\n", []string{"line 1: variable A is not set", "line 2: variable B is not set", "line 2: variable C is not set"}},
		{"text for a number", "epochs: many\n", []string{`line 1: the text "many" does not fit: expected a whole number`}},
		{"list for a section", "[1]\n", []string{"line 1: a list does not fit: expected a section with keys"}},
		{"repeated key", "epochs: 1\nepochs: 2\n", []string{"line 2:", "already defined"}},
		{"validation", "name: x\n", []string{"epochs must be positive", "rate must be positive"}},
		{"empty", "", []string{"the file is empty"}},
		{"broken", "name: [1\n", []string{"line 1: did not find"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(decodeConfig([]byte(c.text), "/", environment(nil), &sampleConfig{}), "\n")
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("problems %q do not mention %q", got, want)
				}
			}
		})
	}
}

func TestLoadConfigNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte("bogus: 1\nworse: 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := LoadConfig(path, &sampleConfig{})
	var bad *ConfigError
	if !errors.As(err, &bad) || bad.File != path || len(bad.Problems) != 2 {
		t.Fatalf("error %v, want a *ConfigError for %s with two problems", err, path)
	}
	if err := LoadConfig(path+".absent", &sampleConfig{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v, want os.ErrNotExist", err)
	}
}
