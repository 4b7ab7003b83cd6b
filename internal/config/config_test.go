package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/storage"
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
	KNN  bool           `yaml:"knn"`
	Free map[string]any `yaml:"free"`
	List []struct {
		A int `yaml:"a"`
	} `yaml:"list"`
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
	if problems := Decode([]byte(text), storage.File("/cfg"), env, &got); problems != nil {
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
		{"unknown keys", "name: a\nepoch: 3\nepochs: 1\nratee: 1\n", []string{`line 2: unknown key "epoch"; known are data, epochs, free, knn, list, name, named, nested, parts, rate`, `line 4: unknown key "ratee"`}},
		{"silent narrowing", "epochs: 5.5\n", []string{"line 1:", "5.5"}},
		{"variables", "name: ${A}\ndata: ${B}/${C}\n", []string{"line 1: variable A is not set", "line 2: variable B is not set", "line 2: variable C is not set"}},
		{"text for a number", "epochs: many\n", []string{`line 1: epochs: the string "many" does not fit: expected a whole number`}},
		{"list for a section", "[1]\n", []string{"line 1: a list does not fit: expected a section with keys"}},
		{"repeated key", "epochs: 1\nepochs: 2\n", []string{"line 2:", "already defined"}},
		{"validation", "name: x\n", []string{"epochs must be positive", "rate must be positive"}},
		{"empty", "", []string{"the file is empty"}},
		{"several documents", "epochs: 1\n---\nepochs: 2\n", []string{"several documents"}},
		{"no value", "epochs:\nname: ~\nparts: [a, null]\nnested: {file: }\n", []string{
			"line 1: epochs: there is no value", "line 2: name: there is no value", "line 3: parts[1]: there is no value", "line 4: nested.file: there is no value",
		}},
		{"an empty variable", "epochs: ${EMPTY}\n", []string{"line 1: epochs: there is no value"}},
		{"octal", "epochs: 010\n", []string{"line 1: epochs: 010 begins with 0"}},
		{"quoted number", "epochs: \"5\"\nrate: '0.5'\n", []string{`line 1: epochs: the string "5" does not fit`, `line 2: rate: the string "0.5" does not fit`}},
		{"too large", "epochs: 1e300\nrate: 1e400\n", []string{"line 1: epochs: ", "line 2: rate: "}},
		{"old words", "knn: yes\n", []string{`line 1: knn: the string "yes" does not fit: expected true or false`}},
		{"a number for a choice", "knn: 1\n", []string{"line 1: knn: ", "expected true or false"}},
		{"tags", "name: !!binary aGk=\nrate: !mine 5\n", []string{"line 1: the tag !!binary is not known", "line 2: the tag !mine is not known"}},
		{"repeated key of a section", "free: {a: 1, b: 2, a: 3}\n", []string{"already defined"}},
		{"unknown keys of sections", "nested: {fil: x}\nlist: [{a: 1}, {c: 1}]\n", []string{`line 1: unknown key "fil"; known are file`, `line 2: unknown key "c"; known are a`}},
		{"merged keys", "base: &b {rat: 1}\nnested: {<<: *b}\n", []string{`unknown key "base"`, `unknown key "rat"; known are file`}},
		{"capitals", "Name: x\n", []string{`unknown key "Name"`}},
		{"a key that is a variable", "${A}: 1\n", []string{"line 1: the key \"${A}\" has a variable"}},
		{"references that are none", "name: ${A-b}\ndata: ${A:?x}\nparts: ['${}', '${A:-${B}}', '${1}', '${']\n", []string{
			`line 1: "${A-b}"`, `line 2: "${A:?x}"`, `line 3: "${}"`, `line 3: "${A:-${B}}"`, `line 3: "${1}"`, `line 3: "${"`,
		}},
		{"broken", "name: [1\n", []string{"line 1: did not find"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(Decode([]byte(c.text), storage.File("/"), environment(map[string]string{"EMPTY": ""}), &sampleConfig{}), "\n")
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("problems %q do not mention %q", got, want)
				}
			}
		})
	}
}

// TestConfigValues checks how values are read that YAML has several forms for.
func TestConfigValues(t *testing.T) {
	env := environment(map[string]string{"EMPTY": "", "FULL": "x", "LIST": "[1, 2]", "DAY": "2024-01-02", "NULL": "null"})
	for text, want := range map[string]any{
		"${FULL:-y}": "x", "${EMPTY:-y}": "y", "${NONE:-y}": "y", "a${EMPTY}b": "ab", "${NONE:-}": nil, "'${NONE:-}'": "",
		"$${FULL}": "${FULL}", "$FULL": "$FULL", "'${FULL}${FULL}'": "xx", "${LIST}": "[1, 2]", "${DAY}": "2024-01-02", "'${NULL}'": "null",
		"2024-01-02": "2024-01-02", "!!str ${NONE:-5}": "5", "${NONE:-5}": 5, "{1: a, true: b, 2024-01-02: c, 01: d}": map[string]any{"1": "a", "true": "b", "2024-01-02": "c", "01": "d"},
	} {
		var got struct {
			V any `yaml:"v"`
		}
		if problems := Decode([]byte("v: "+text), storage.File("/"), env, &got); problems != nil {
			t.Errorf("%s: %q", text, problems)
		} else if diff := cmp.Diff(want, got.V); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// TestConfigIsBounded reads endless files, and files that expand without limit.
func TestConfigIsBounded(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
	}
	merges := "a0: &a0 {k: x}\n"
	for i := 1; i < 30; i++ {
		merges += fmt.Sprintf("a%d: &a%d {<<: [%s], k%d: x}\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","), i)
	}
	for name, text := range map[string]string{
		"aliases of aliases":   bomb + "b: *a29\n",
		"merges of merges":     merges,
		"nested without end":   strings.Repeat("[", 1_000_000),
		"nested sections":      strings.Repeat("{a: ", 100_000),
		"an alias of itself":   "a: &a [*a]\n",
		"a merge of itself":    "a: &a {<<: *a}\n",
		"a long variable name": "name: ${" + strings.Repeat("A", 100_000) + "}\n",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			problems := Decode([]byte(text), storage.File("/"), environment(nil), &map[string]any{})
			runtime.ReadMemStats(&after)
			if took, took2 := time.Since(begin), after.TotalAlloc-before.TotalAlloc; took > 20*time.Second || took2 > 1<<30 {
				t.Errorf("took %v and %d MiB", took, took2>>20)
			}
			if len(problems) == 0 {
				t.Error("it was read")
			}
		})
	}
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 1<<40); err != nil { // a sparse file
		t.Fatal(err)
	}
	if err := Load(t.Context(), storage.File(file), &sampleConfig{}); err == nil || !strings.Contains(err.Error(), "longer than 16 MiB") {
		t.Errorf("a file of 1 TiB: %v", err)
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte("bogus: 1\nworse: 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := Load(t.Context(), storage.File(path), &sampleConfig{})
	var bad *Error
	if !errors.As(err, &bad) || bad.File != path || len(bad.Problems) != 2 {
		t.Fatalf("error %v, want a *Error for %s with two problems", err, path)
	}
	if err := Load(t.Context(), storage.File(path+".absent"), &sampleConfig{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v, want os.ErrNotExist", err)
	}
}

// TestSecretsAreNotShown checks that no problem shows the value of a variable, wherever it stands.
func TestSecretsAreNotShown(t *testing.T) {
	const secret = "sk-0123456789 abcdef\"0123456789abcdef0123456789abcdef"
	env := environment(map[string]string{"KEY": secret})
	for _, text := range []string{
		"rate: ${KEY}\n", "knn: ${KEY}\n", "list: ${KEY}\n", "nested: ${KEY}\n", "epochs: x${KEY}x\n", "list: [{a: '${KEY}'}]\n", "nested: {file: [${KEY}]}\n", "free: {x: ${KEY}}\nname: [a, ${KEY}]\n",
	} {
		var got sampleConfig
		problems := strings.Join(Decode([]byte(text), storage.File("/cfg"), env, &got), "\n")
		if problems == "" || strings.Contains(problems, "0123456789") || strings.Contains(problems, "sk-") {
			t.Errorf("%q: %s", text, problems)
		}
	}
}

// A URL that cannot be parsed is shown without its parameters, as every other.
func TestRefusedURLsHideParameters(t *testing.T) {
	for _, url := range []Path{"ftp://b/x?key=SECRET", "hdfs://user:SECRET@b/x", "s3://b/../x?key=SECRET"} {
		name, err := url.MarshalJSON()
		if shown := url.String() + url.Location().URL() + string(name); err != nil || strings.Contains(shown, "SECRET") {
			t.Errorf("%s, %v", shown, err)
		}
	}
}
