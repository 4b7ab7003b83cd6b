package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/pipeline/exitcode"
)

// twice are, for every command that writes files, two command lines with the same output and different content. They
// use the same flags with different settings.
var twice = map[string][2]string{
	"bench":          {"bench synthetic --config tiny.yaml --out out", "bench synthetic --config tiny2.yaml --out out"},
	"calibrate":      {"calibrate --policy policy.onnx --in table.parquet --risk 0.9 --out out.onnx", "calibrate --policy policy.onnx --in table.parquet --risk 0.95 --out out.onnx"},
	"convert":        {"convert small --out out.onnx", "convert clip --out out.onnx"},
	"costs":          {"costs --config costs.yaml --out out", "costs --config costs2.yaml --out out"},
	"decide":         {"decide --policy policy.onnx --in table.parquet --out out.csv", "decide --policy policy.onnx --in table.parquet --scores --out out.csv"},
	"demo":           {"demo --out out", "demo --rows 1500 --seed 2 --out out"},
	"eval":           {"eval --in table.parquet --resamples 50 --out out", "eval --in table.parquet --resamples 51 --lambda 0,1 --out out"},
	"featurize":      {"featurize --columns columns.yaml --in raw.csv --out out", "featurize --columns columns.yaml --in raw.csv --seed 7 --out out"},
	"generate fraud": {"generate fraud --rows 400 --columns 55 --out out", "generate fraud --rows 300 --columns 55 --seed 2 --out out"},
	"generate pages": {"generate pages --pages 500 --out out", "generate pages --pages 400 --seed 2 --out out"},
	"import":         {"import --config import.yaml --out out.parquet", "import --config import2.yaml --out out.parquet"},
	"index":          {"index --pages pages --out out.bm25", "index --pages pages --k1 1.5 --out out.bm25"},
	"init":           {"init answers.csv --replace --out out.yaml", "init more.csv --replace --out out.yaml"},
	"merge":          {"merge table.parquet table.parquet --keep-same --out out.parquet", "merge table.parquet table.parquet --keep-same --fee expert=large:0.5 --out out.parquet"},
	"monitor":        {"monitor --policy policy.onnx --baseline table.parquet --in table.parquet --out out", "monitor --policy policy.onnx --baseline table.parquet --in table.parquet --alpha 0.01 --out out"},
	"ope":            {"ope --costs logged.parquet --split train,val,test --policy policy.onnx --out out.html", "ope --costs logged.parquet --split train,val,test --policy policy.onnx --estimator ips --out out.html"},
	"report":         {"report a.JSON b.json --out out", "report b.json a.JSON --out out"},
	"train": {
		"train --in table.parquet --recipe paper --config short.yaml --seeds 2 --out out",
		"train --in table.parquet --recipe paper --config short.yaml --seeds 2 --seed 40 --out out",
	},
}

// workFor creates the input files of the command lines in a folder.
func workFor(t *testing.T, folder string) {
	t.Helper()
	if err := writeSamples(folder); err != nil {
		t.Fatal(err)
	}
	experts := "costs:\n  instances: {kind: table, file: rows.csv, split: split}\n  split: {kind: column}\n  advice: [{name: none, kind: none}]\n" +
		"  features: [{kind: columns, columns: [x]}]\n  experts:\n  - {name: a, fee: FEE, kind: precomputed, file: rows.csv, prediction: answer}\n"
	outcomes := "outcomes: {file: rows.csv, columns: {id: id, expert: who, loss: x}}\nfees: {experts: {a: FEE}}\n" +
		"features: [{file: rows.csv, id: id, columns: [x]}]\nsplit: {validation: 0.25, seed: 1}\n"
	raw := "id,fraud,amount\n"
	for i := range 40 {
		raw += "r" + strings.Repeat("i", i) + "," + string(rune('0'+i%2)) + "," + strings.Repeat("1", 1+i%4) + "\n"
	}
	answers := ""
	for i := range 40 {
		answers += fmt.Sprintf("r%d,%d,%d,%d\n", i, 100*i, i%2, i%3/2)
	}
	for name, text := range map[string]string{
		"answers.csv":  "id,length,small_correct,large_correct\n" + answers,
		"more.csv":     "id,size,cheap_correct,dear_correct\n" + answers,
		"tiny.yaml":    "synthetic: {sizes: [60], seeds: 1, test: 50, map: 4, network: {epochs: 1}}\n",
		"tiny2.yaml":   "synthetic: {sizes: [80], seeds: 1, test: 60, map: 4, network: {epochs: 1}}\n",
		"costs.yaml":   strings.ReplaceAll(experts, "FEE", "0.1"),
		"costs2.yaml":  strings.ReplaceAll(strings.ReplaceAll(experts, "FEE", "0.2"), "prediction: answer", "prediction: label"),
		"import.yaml":  strings.ReplaceAll(outcomes, "FEE", "0.1"),
		"import2.yaml": strings.ReplaceAll(outcomes, "FEE", "0.2"),
		"rows.csv":     "id,who,split,label,answer,x\na,a,train,u,u,0\nb,a,train,v,u,1\nc,a,val,u,u,0\nd,a,val,v,v,1\n",
		"raw.csv":      raw,
		"columns.yaml": "columns:\n  id: id\n  label: fraud\n  labels: [\"0\", \"1\"]\n  max_levels: 4\n  min_count: 1\n  groups:\n  - {name: base, numeric: [amount]}\n",
		"a.JSON":       `{"format": 1, "benchmark": "eval", "title": "a", "rows": [{"method": "auto", "true_loss_mean": 0.1}]}`,
		"b.json":       `{"format": 1, "benchmark": "eval", "title": "b", "rows": [{"method": "auto", "true_loss_mean": 0.2}]}`,
		"short.yaml":   "train: {network: {epochs: 3}}\n",
		"pages/wiki-001.jsonl": `{"id": "A", "text": "films about oil", "lines": ""}` + "\n" +
			`{"id": "B", "text": "oil is dry", "lines": ""}` + "\n",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// outputs are the files in out and those whose names begin with out, except locks and records of finished work.
func outputs(t *testing.T, folder string) map[string]string {
	t.Helper()
	t.Chdir(folder)
	all := contents(t)
	for name := range all {
		work := strings.Contains(name, ".work/") || strings.HasSuffix(name, "/lock")
		if !strings.HasPrefix(name, "out") || work {
			delete(all, name)
		}
	}
	return all
}

// If two runs write to the same output at once, one wins: the result is that of one of them running alone, and a run
// that did not produce it fails.
func TestTwoRunsAtOnce(t *testing.T) {
	needRuntime(t)
	if testing.Short() {
		t.Skip("runs of separate processes, in which the race detector finds nothing new")
	}
	if known := slices.Sorted(maps.Keys(overwriting)); !slices.Equal(slices.Sorted(maps.Keys(twice)), known) {
		t.Errorf("commands that leave files are %v, here are %v", known, slices.Sorted(maps.Keys(twice)))
	}
	for name, lines := range twice {
		t.Run(name, func(t *testing.T) {
			var alone []map[string]string
			for _, line := range lines {
				folder := t.TempDir()
				workFor(t, folder)
				p := start(t, folder, nil, strings.Fields(line)...)
				if err := <-p.ended; err != nil {
					t.Fatalf("%s: %v, %s", line, err, p.stderr.String())
				}
				alone = append(alone, outputs(t, folder))
			}
			if len(alone[0]) == 0 || maps.Equal(alone[0], alone[1]) {
				t.Fatalf("they leave the same %d files", len(alone[0]))
			}
			for range 2 {
				together(t, lines, alone)
			}
		})
	}
}

func together(t *testing.T, lines [2]string, alone []map[string]string) {
	t.Helper()
	folder := t.TempDir()
	workFor(t, folder)
	runs := make([]*program, 2)
	for i, line := range lines {
		runs[i] = start(t, folder, func(c *exec.Cmd) { c.Stdout = nil }, strings.Fields(line)...)
	}
	won := 0
	for _, p := range runs {
		switch err := <-p.ended; {
		case err == nil:
			won++
		case p.ProcessState.ExitCode() != exitcode.Failure || strings.Count(p.stderr.String(), "pipe: error: ") != 1:
			t.Errorf("%v: %v, %s", p.Args, err, p.stderr.String())
		}
	}
	left := outputs(t, folder)
	if won == 0 || !maps.Equal(left, alone[0]) && !maps.Equal(left, alone[1]) {
		t.Errorf("%d won, and the files are neither those of one nor of the other: %v, not %v or %v", won,
			slices.Sorted(maps.Keys(left)), slices.Sorted(maps.Keys(alone[0])), slices.Sorted(maps.Keys(alone[1])))
	}
}

// After two trainings into one folder, it contains the policies of the second one.
func TestTrainingReplacesTraining(t *testing.T) {
	needRuntime(t)
	folders := [2]string{t.TempDir(), t.TempDir()}
	for i, folder := range folders {
		workFor(t, folder)
		lines := twice["train"]
		for _, line := range lines[i:] {
			if err := os.MkdirAll(filepath.Join(folder, "out"), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "out", "mine.onnx"), []byte("x"), 0o666); err != nil {
				t.Fatal(err)
			}
			p := start(t, folder, nil, strings.Fields(line)...)
			if err := <-p.ended; err != nil {
				t.Fatalf("%s: %v, %s", line, err, p.stderr.String())
			}
		}
	}
	if first, second := outputs(t, folders[0]), outputs(t, folders[1]); !maps.Equal(first, second) {
		t.Errorf("after two trainings there are %v, after one %v", slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second)))
	}
}
