package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/pipeline/exitcode"
)

// The hostile names in the files of TestHostileNames. Each is dangerous somewhere: in a terminal, a line, a table, XML,
// HTML or Markdown.
const (
	hostileExpert = "\x1b[31mred\x1b[0m</text><script>alert(1)</script>&\"'\x07\u009b2J"
	hostileOther  = "a|b\n## forged\npipe: error: forged\t*x*"
	hostileAdvice = "user\u202egpj\u2066 ]]> <!-- \x00 <img src=x onerror=alert(1)>"
	hostileFile   = "co\x1b]0;title\x07sts.parquet"
)

func hostileTensor(rows int) *costs.Tensor {
	return sampleTable(&costs.Actions{
		Experts:  []costs.Expert{{Name: hostileExpert, Fee: 0.01}, {Name: hostileOther, Fee: 0.05}},
		Advice:   []costs.Advice{{Name: "none"}, {Name: hostileAdvice, Fee: 0.02}},
		Features: costs.FeatureSource{Name: "f\x1b[5m", Dim: 2},
	}, rows)
}

// shown checks text for people: it has nothing that a terminal interprets, and no line that comes from a name.
func shown(t *testing.T, what, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError {
			t.Errorf("%s has %U: %q", what, r, text[max(0, i-40):min(len(text), i+20)])
			break
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "pipe: error: forged") || strings.HasPrefix(line, "## forged") {
			t.Errorf("%s has a forged line: %q", what, line)
		}
	}
}

// TestHostileNames passes hostile names through every command that displays names.
func TestHostileNames(t *testing.T) {
	if testing.Short() {
		t.Skip("runs of separate processes, in which the race detector finds nothing new")
	}
	needRuntime(t)
	t.Chdir(t.TempDir())
	if err := writeSamples("."); err != nil {
		t.Fatal(err)
	}
	if err := costs.Write(t.Context(), storage.File(hostileFile), hostileTensor(400)); err != nil {
		t.Fatal(err)
	}
	fixed := &policy.Policy{
		Actions: hostileTensor(4).Actions, Method: "auto", Recipe: "auto", Lambda: 1, Tau: 1, Decoder: policy.DecoderFixed, Dim: 2, Fixed: 1,
		Info: map[string]string{"remark": "\x1b[31m\n", "guard": `{"fixed":"\u001b[31m","fallback":true}`},
	}
	m, err := fixed.Export()
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(string) error{
		"fixed\x1b.onnx": m.WriteFile,
		"short.yaml":     text("train: {recipe: paper, seeds: 1, network: {epochs: 2}}\n"),
		"bad\x1b.yaml":   text("outcomes: {file: \"rows\\e[31m.csv\", columns: {id: id, expert: who, loss: \"x\\n\"}}\nfeatures: [{file: a, id: b, columns: [c]}]\nsplit: {validation: 0.2}\n"),
		"rows\x1b.csv":   text("id,u\x1b[31m\na,1\n"),
		"rows.jsonl":     text(`{"id": "a", "features": [1, 2], "more\u001b\nb": 1}` + "\n" + `{"id": "\u001b[31m", "features": [1]}` + "\n"),
		"c.yaml":         text("columns: {\"\\e[31m\": 1}\n"),
		"pages.jsonl":    text(`{"id": "A\u001b[31m\nB", "text": "oil \u001b[0m\npipe: error: forged \u202e", "lines": ""}` + "\n"),
	} {
		if err := write(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitcode.OK, []string{"inspect", hostileFile, "fixed\x1b.onnx"}},
		{exitcode.OK, []string{"train", "--in", hostileFile, "--config", "short.yaml", "--out", "po\x1blicies"}},
		{exitcode.OK, []string{"eval", "--in", hostileFile, "--policy", "po\x1blicies", "--resamples", "50", "--lambda", "0,1", "--out", "re\x1bport"}},
		{exitcode.OK, []string{"decide", "--policy", "fixed\x1b.onnx", "--in", hostileFile, "--out", "out.csv"}},
		{exitcode.OK, []string{"index", "--pages", "pages.jsonl", "--out", "p\x1b.bm25", "--query", "oil\x1b[0m"}},
		{exitcode.Usage, []string{"decide", "--policy", "fixed\x1b.onnx", "--in", hostileFile, "--without", "expert=\x1b[31m\npipe: error: forged"}},
		{exitcode.BadData, []string{"decide", "--policy", "fixed\x1b.onnx", "--in", "rows\x1b.csv"}},
		{exitcode.BadData, []string{"decide", "--policy", "policy.onnx", "--in", "rows.jsonl"}},
		{exitcode.BadData, []string{"eval", "--in", "costs.parquet", "--policy", "fixed\x1b.onnx"}},
		{exitcode.BadData, []string{"import", "--config", "bad\x1b.yaml", "--out", "x.parquet"}},
		{exitcode.BadData, []string{"featurize", "--columns", "c.yaml", "--in", "rows\x1b.csv", "--out", "x"}},
		{exitcode.BadData, []string{"inspect", "none\x1b\npipe: error: forged"}},
		{exitcode.Usage, []string{"bench", "no\x1b\npipe: error: forged"}},
		{exitcode.Usage, []string{"train", "--no\x1b\npipe: error: forged"}},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), c.args, nil, &stdout, &stderr)
		if code != c.code {
			t.Errorf("%q: exit code %d, want %d: %s", c.args, code, c.code, stderr.String())
		}
		shown(t, fmt.Sprintf("standard output of %q", c.args), stdout.String())
		shown(t, fmt.Sprintf("standard error of %q", c.args), stderr.String())
	}
	checkReport(t, "re\x1bport")
	// JSON is for programs: it contains the names unchanged.
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"inspect", hostileFile, "--json"}, nil, &stdout, &stderr); code != exitcode.OK {
		t.Fatal(stderr.String())
	}
	var e struct {
		Experts []costs.Expert `json:"experts"`
		Advice  []costs.Advice `json:"advice"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &e); err != nil || e.Experts[0].Name != hostileExpert || e.Advice[1].Name != hostileAdvice {
		t.Errorf("JSON has %+v (%v)", e, err)
	}
}

func text(s string) func(string) error {
	return func(path string) error { return os.WriteFile(path, []byte(s), 0o666) }
}

// checkReport parses every form of a report.
func checkReport(t *testing.T, folder string) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		kind := filepath.Ext(f.Name())
		kinds = append(kinds, kind)
		switch kind {
		case ".svg":
			if elements := parsed(t, f.Name(), b, true); slices.Contains(elements, "script") {
				t.Errorf("%s has a script", f.Name())
			}
			shown(t, f.Name(), string(b))
		case ".html":
			elements := parsed(t, f.Name(), b, false)
			own := slices.Index(elements, "script") // the page's, which sorts tables
			if own >= 0 && slices.Contains(elements[own+1:], "script") || own < 0 || slices.Contains(elements, "img") {
				t.Errorf("%s has elements that a name brought: %v", f.Name(), slices.Compact(slices.Sorted(slices.Values(elements))))
			}
			shown(t, f.Name(), string(b))
		case ".md":
			shown(t, f.Name(), string(b))
			if strings.Contains(string(b), "<script") || strings.Contains(string(b), "<img") {
				t.Errorf("%s has elements that a name brought", f.Name())
			}
		case ".json":
			if !json.Valid(b) {
				t.Errorf("%s is not JSON", f.Name())
			}
		}
	}
	for _, want := range []string{".svg", ".html", ".md", ".json"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("the report has no %s", want)
		}
	}
}

// parsed returns the elements of XML, or of HTML whose elements are closed.
func parsed(t *testing.T, name string, b []byte, strict bool) (elements []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(b))
	d.Strict = strict
	if !strict {
		d.AutoClose, d.Entity = xml.HTMLAutoClose, xml.HTMLEntity
	}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return elements
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return elements
		}
		if start, ok := token.(xml.StartElement); ok {
			elements = append(elements, strings.ToLower(start.Name.Local))
		}
	}
}
