package main

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/pipeline/exitcode"
)

// overwriting are, for every command that writes files, command lines whose output would replace an input. IN is the
// input, under one of its names. If the output is a folder, the input lies in it under the name of an output. A command
// without inputs has no line.
var overwriting = map[string][]struct{ in, args string }{
	"bench": {
		{"kept/report.md", "bench synthetic --config IN --out kept"},
		{"kept/costs.parquet", "bench fever --config bench.yaml --out kept"},
	},
	"demo": nil, // reads no file
	"init": {
		{"rows.csv", "init IN --out IN --replace"},
		{"features.csv", "init rows.csv --features IN --out IN --replace"},
	},
	"convert": {
		{"small/config.json", "convert small --out IN"},
		{"small/model.safetensors", "convert small --out IN"},
		{"policy.onnx", "convert small --merge IN --out IN"},
		{"encoder.onnx", "convert IN --out IN"},
		{"small/tokenizer.json", "convert encoder.onnx --tokenizer small --out IN"},
		{"encoder.onnx_data", "convert encoder.onnx --out IN"},
		{"weights.bin", "convert apart.onnx --out IN"},
		{"kept/served.onnx.json", "convert small --tokenizer IN --merge policy.onnx --out kept/served.onnx"},
		{"kept/small.json", "convert small --tokenizer IN --merge policy.onnx --out kept/small"},
	},
	"calibrate": {
		{"anyprice.onnx", "calibrate --policy IN --in costs.parquet --risk 0.5 --out IN"},
		{"kept/guarded.onnx.json", "calibrate --policy anyprice.onnx --in costs.parquet --actions IN --risk 0.5 --out kept/guarded.onnx"},
		{"costs.parquet", "calibrate --policy anyprice.onnx --in IN --risk 0.5 --out IN"},
	},
	"costs": {
		{"costs.yaml.parquet", "costs --config costs.yaml --out IN"},
		{"rows.csv.parquet", "costs --config costs.yaml --out IN"},
		{"photos.parquet", "costs --config costs.yaml --out IN"},
		{"kept/costs.parquet", "costs --config costs.yaml --out kept"},
		{"costs.parquet", "costs --config bench.yaml --base IN --out IN"},
		{"kept/answers.jsonl", "costs --config costs.yaml --out new.parquet --answers kept"},
		{"new-advice.jsonl.gz", "costs --config costs.yaml --out new.parquet"},
	},
	"decide": {
		{"policy.onnx", "decide --policy IN --in costs.parquet --out IN"},
		{"costs.parquet", "decide --policy policy.onnx --in IN --out IN"},
		{"parts/a.parquet", "decide --policy policy.onnx --in parts --out IN"},
		{"rows.csv", "decide --policy policy.onnx --encoder encoder.json --in IN --out IN"},
		{"encoder.json", "decide --policy policy.onnx --encoder IN --in rows.csv --out IN"},
		{"small/vocab.txt", "decide --policy texts.onnx --encoder small --text x --in rows.csv --out IN"},
		{"photo.png", "decide --policy images.onnx --encoder clip --image x --in rows.csv --out IN"},
	},
	"eval": {
		{"kept/report.json", "eval --in costs.parquet --actions IN --out kept"},
		{"kept/report.csv", "eval --in IN --out kept"},
		{"kept/loss.svg", "eval --in costs.parquet --policy IN --out kept"},
	},
	"featurize": {
		{"kept/table.parquet", "featurize --columns columns.yaml --in IN --out kept"},
		{"kept/encoder.json", "featurize --columns IN --in rows.csv --out kept"},
		{"kept/featurize.json", "featurize --columns columns.yaml --in rows.csv --join IN --out kept"},
		{"rows.csv", "featurize --text id --in IN --out IN"},
		{"parts/a.parquet", "featurize --text id --in parts --out IN"},
	},
	"generate fraud": nil,
	"generate pages": nil,
	"import": {
		{"import.yaml", "import --config IN --out IN"},
		{"rows.csv", "import --config import.yaml --out IN"},
		{"features.csv", "import --config import.yaml --out IN"},
		{"parts/a.parquet", "import --config parts.yaml --out IN"},
		{"features.csv", "import --config import.yaml --append --out IN"},
	},
	"index": {
		{"pages/wiki-001.jsonl", "index --pages pages --out IN"},
		{"pages/wiki-001.jsonl", "index --pages IN --out IN"},
	},
	"merge": {
		{"costs.parquet", "merge IN parts --out IN"},
		{"parts/a.parquet", "merge costs.parquet parts --out IN"},
		{"encoder.json", "merge costs.parquet parts --fees IN --out IN"},
	},
	"monitor": {
		{"monitor.state", "monitor --policy IN --baseline costs.parquet --in rows.csv --state IN"},
		{"kept/monitor.json", "monitor --policy policy.onnx --baseline costs.parquet --actions IN --in rows.csv --out kept"},
		{"kept/monitor.html", "monitor --policy policy.onnx --baseline costs.parquet --in IN --out kept"},
		{"parts/a.parquet", "monitor --policy policy.onnx --baseline costs.parquet --in parts --state IN"},
		{"costs.parquet", "monitor --policy policy.onnx --baseline IN --in rows.csv --state IN"},
	},
	"ope": {
		{"kept/monitor.html", "ope --costs costs.parquet --actions IN --policy policy.onnx --out kept/monitor.html"},
		{"kept/comparison.html", "ope --log kept --policy IN --out IN"},
	},
	"report": {
		{"kept/comparison.json", "report IN kept/report.json --out kept"},
		{"kept/comparison.html", "report kept/report.json IN --out kept"},
	},
	"train": {
		{"kept/train.json", "train --in costs.parquet --actions IN --out kept"},
		{"kept/ours.onnx", "train --in costs.parquet --config IN --out kept"},
		{"kept/more.onnx", "train --in IN --out kept"},
		{"kept/ours.onnx", "train --in costs.parquet --warm IN --out kept"},
		{"kept/ours.onnx.json", "train --in costs.parquet --config IN --out kept"},
	},
}

// needRuntime skips a test without ONNX Runtime, which must be found from any folder.
func needRuntime(t *testing.T) {
	t.Helper()
	t.Setenv(ort.EnvLibrary, runtimeLibrary(t))
}

// runtimeLibrary returns the absolute path of ONNX Runtime, and skips a test without it.
func runtimeLibrary(t *testing.T) string {
	t.Helper()
	library, _, err := ort.Locate("")
	if err == nil {
		library, err = filepath.Abs(library)
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("needs ONNX Runtime: ", err)
	}
	return library
}

// inputsFor creates the files of the command lines in the working folder.
func inputsFor(t *testing.T) {
	t.Helper()
	needRuntime(t)
	t.Chdir(t.TempDir())
	if err := writeSamples("."); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"bench.yaml":           "costs: {experts: [{model: kept/costs.parquet}]}\n",
		"columns.yaml":         "columns: {id: id}\n",
		"costs.yaml":           "costs:\n  instances: {kind: table, file: rows.csv.parquet}\n  experts:\n  - {kind: precomputed, file: kept/costs.parquet, other: [photos.parquet, new-advice.jsonl.gz, kept/answers.jsonl, costs.yaml.parquet]}\n",
		"costs.yaml.parquet":   "x",
		"rows.csv.parquet":     "x",
		"photos.parquet":       "x",
		"new-advice.jsonl.gz":  "x",
		"import.yaml":          "outcomes: {file: rows.csv}\nfeatures: [{file: ./features.csv}]\n",
		"parts.yaml":           "outcomes: {file: parts}\n",
		"weights.bin":          "x",
		"rows.csv":             "id,x\na,photo.png\n",
		"features.csv":         "id,x\n",
		"encoder.json":         "{}",
		"encoder.onnx":         "x",
		"encoder.onnx_data":    "x",
		"small/vocab.txt":      "x",
		"pages/wiki-001.jsonl": `{"id": "A", "text": "x", "lines": ""}` + "\n",
		"parts/a.parquet":      "x",
		"kept/table.parquet":   "x", "kept/encoder.json": "x", "kept/featurize.json": "x", "kept/train.json": "x", "kept/ours.onnx": "train: {}",
		"kept/ours.onnx.json": "{}", "kept/guarded.onnx.json": "{}", "kept/served.onnx.json": "{}", "kept/small.json": "{}",
		"kept/more.onnx": "x", "kept/monitor.json": "x", "kept/monitor.html": "x", "monitor.state": "x", "kept/comparison.json": "x", "kept/comparison.html": "x", "kept/report.json": "x", "kept/report.csv": "x", "kept/report.md": "x", "kept/loss.svg": "x",
		"kept/costs.parquet": "x", "kept/answers.jsonl": "x",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	modelApart(t, "apart.onnx", "weights.bin")
}

// modelApart is a model whose weights are in a file with an unrelated name.
func modelApart(t *testing.T, path, weights string) {
	t.Helper()
	m, err := onnx.ReadFile("policy.onnx")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteExternal(path, 0); err != nil {
		t.Fatal(err)
	}
	light, err := os.ReadFile(path)
	if err == nil {
		m, err = onnx.Parse(light)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tensor := range m.Proto.GetGraph().GetInitializer() {
		for _, entry := range tensor.GetExternalData() {
			if entry.GetKey() == "location" {
				entry.Value = &weights
			}
		}
	}
	if err := errors.Join(m.WriteFile(path), os.Remove(path+".data")); err != nil {
		t.Fatal(err)
	}
}

// An output that would become part of an input folder is refused; others are not.
func TestOutputsStayOutOfFoldersThatAreRead(t *testing.T) {
	inputsFor(t)
	for args, want := range map[string]int{
		"decide --policy policy.onnx --in parts --out parts/new.parquet":            exitcode.Usage,
		"decide --policy policy.onnx --in parts --out ./parts/../parts/new.parquet": exitcode.Usage,
		"train --in parts --out parts":                                              exitcode.BadData,
		"index --pages pages --out pages/x.jsonl":                                   exitcode.Usage,
		"index --pages pages --out pages/x.bm25":                                    exitcode.OK,
		"decide --policy policy.onnx --in parts --out parts/new.csv":                exitcode.BadData, // the existing part is not a Parquet file
	} {
		var stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), strings.NewReader(""), &bytes.Buffer{}, &stderr); code != want {
			t.Errorf("%s: exit code %d, want %d: %s", args, code, want, stderr.String())
		}
	}
}

// namesOf are other names of a file: another spelling, an absolute one, links to it and to its folder.
func namesOf(t *testing.T, file string) map[string]string {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	links := t.TempDir()
	soft, hard, folder := filepath.Join(links, "soft.parquet"), filepath.Join(links, "hard.parquet"), filepath.Join(links, "folder")
	for _, err := range []error{os.Symlink(filepath.Join(wd, file), soft), os.Link(file, hard), os.Symlink(wd, folder)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{
		"itself": file, "dots": "./parts/.././" + file, "absolute": filepath.Join(wd, file), "through a linked folder": filepath.Join(folder, file),
		"a link": soft, "a hard link": hard,
	}
}

// No command replaces a file that it reads, under any name of the output.
func TestOutputsKeepInputs(t *testing.T) {
	inputsFor(t)
	before := contents(t)
	for _, command := range slices.Sorted(maps.Keys(overwriting)) {
		for _, c := range overwriting[command] {
			for way, name := range namesOf(t, c.in) {
				if way == "a hard link" && slices.Contains([]string{"decide photo.png", "convert weights.bin", "import parts/a.parquet"}, command+" "+c.in) {
					continue // folders that may be large are not listed, so the other name is not found
				}
				last := strings.LastIndex(c.args, "IN")
				args := c.args
				if last >= 0 { // the last name is replaced by the other one
					args = strings.ReplaceAll(c.args[:last], "IN", c.in) + name + c.args[last+2:]
				}
				var stderr bytes.Buffer
				code := run(t.Context(), strings.Fields(args), strings.NewReader(""), &bytes.Buffer{}, &stderr)
				if code != exitcode.Usage || !strings.Contains(stderr.String(), "choose another --out") {
					t.Errorf("%s (%s): exit code %d, %s", args, way, code, stderr.String())
				}
			}
		}
	}
	if after := contents(t); !maps.Equal(after, before) {
		t.Error("files have changed")
	}
}

// Every command that writes files has its lines: a new one must declare what it reads and writes.
func TestEveryCommandKeepsItsInputs(t *testing.T) {
	var leaving []string
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Flags().Lookup("out") != nil {
			leaving = append(leaving, strings.TrimPrefix(c.CommandPath(), "pipe "))
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(newApp(nil, nil, nil)))
	slices.Sort(leaving)
	if known := slices.Sorted(maps.Keys(overwriting)); !slices.Equal(leaving, known) {
		t.Errorf("commands with --out are %v; this test knows %v", leaving, known)
	}
}

// Rows on standard input can come from a file, and decisions on standard output can be appended to it.
func TestStandardStreamsKeepInputs(t *testing.T) {
	inputsFor(t)
	rows, err := os.OpenFile("rows.csv", os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	want := contents(t)
	for _, args := range []string{"decide --policy policy.onnx --out rows.csv", "decide --policy policy.onnx", "decide --policy policy.onnx --in ./rows.csv"} {
		var stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), rows, rows, &stderr); code != exitcode.Usage || !strings.Contains(stderr.String(), "would replace") {
			t.Errorf("%s: exit code %d, %s", args, code, stderr.String())
		}
	}
	if !maps.Equal(contents(t), want) {
		t.Error("files have changed")
	}
}

// A run may replace files that it does not read, such as earlier outputs, also beside its inputs.
func TestOutputsReplaceOutputs(t *testing.T) {
	inputsFor(t)
	for _, args := range []string{
		"generate pages --pages 3 --out pages", // the corpus of an earlier run
		"index --pages pages --out pages/old.bm25",
		"index --pages pages --out pages/old.bm25",
		"convert small --out small/served.onnx",
		"convert small --out small/served.onnx",
		"convert small --merge texts.onnx --out small/served.onnx",
		"convert small --merge texts.onnx --out small/served.onnx",
	} {
		var stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), nil, &bytes.Buffer{}, &stderr); code != exitcode.OK {
			t.Errorf("%s: exit code %d, %s", args, code, stderr.String())
		}
	}
}

// A configuration from a named pipe can be read only once: the check of outputs leaves it to the command, and so it
// does for endless and damaged ones.
func TestConfigurationsAreReadOnce(t *testing.T) {
	needRuntime(t)
	folder := t.TempDir()
	workFor(t, folder)
	t.Chdir(folder)
	text, err := os.ReadFile("import.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo("once", 0o600); err != nil {
		missing(t, "named pipes", err)
	}
	go func() {
		f, err := os.OpenFile("once", os.O_WRONLY, 0)
		if err == nil {
			_, err = f.Write(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}()
	var stderr bytes.Buffer
	if code := run(t.Context(), strings.Fields("import --config once --out out.parquet"), nil, &bytes.Buffer{}, &stderr); code != exitcode.OK {
		t.Errorf("exit code %d, %s", code, stderr.String())
	}
	if code := run(t.Context(), strings.Fields("import --config /dev/zero --out out.parquet"), nil, &bytes.Buffer{}, &stderr); code != exitcode.BadData {
		t.Errorf("endless: exit code %d, %s", code, stderr.String())
	}
}

// contents are all files below the working folder.
func contents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
