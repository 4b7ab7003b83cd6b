// Package tools_test checks the scripts of this folder.
package tools_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program stands in for a build of the program: it writes the files of the tests under --out.
const program = `#!/bin/sh
set -e
command=$1
while [ $# -gt 0 ]; do
	if [ "$1" = --out ]; then out=$2; fi
	shift
done
case $command in
import) echo tensor >"$out" ;;
train) mkdir -p "$out"; echo policy >"$out/policy.onnx" ;;
eval) mkdir -p "$out"; echo '{"title": "Ranking", "rows": [{"method": "ours", "true_loss_mean": 0.25}]}' >"$out/report.json"; echo ranking >"$out/report.md" ;;
esac
`

// TestSameBytes compares a program with changed ones: a change of a byte or figure fails, a change of words does not.
func TestSameBytes(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("the script needs Python: %v", err)
	}
	tests := map[string]struct {
		from, to string // what differs between the programs
		code     int
		says     string
	}{
		"nothing":        {"", "", 0, "no figure and no byte differs"},
		"words":          {"Ranking", "Policies by loss", 0, "1 in words only"},
		"page":           {"echo ranking", "echo policies", 0, "1 in words only"},
		"tensor":         {"echo tensor", "echo Tensor", 1, "./cifar10.parquet: differs"},
		"policy":         {"echo policy", "echo policy.", 1, "./paper/policy.onnx: differs"},
		"figure":         {"0.25", "0.26", 1, "./report/report.json: differs"},
		"name":           {"ours", "auto", 1, "./report/report.json: differs"},
		"missing file":   {`echo policy >"$out/policy.onnx"`, "true", 1, "./paper/policy.onnx: differs"},
		"another file":   {`echo policy >`, `echo more >"$out/more.onnx"; echo policy >`, 1, "./paper/more.onnx: differs"},
		"failing early":  {"import) ", "import) false; ", 1, "import failed with"},
		"failing later":  {"eval) ", "eval) exit 3; ", 1, "import failed with"},
		"invalid report": {`{"title"`, `{"title`, 1, "./report/report.json: differs"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.from != "" && !strings.Contains(program, test.from) {
				t.Fatalf("the program has no %q", test.from)
			}
			dir := t.TempDir()
			before, after := filepath.Join(dir, "before"), filepath.Join(dir, "after")
			write(t, before, program)
			write(t, after, strings.ReplaceAll(program, test.from, test.to))
			cmd := exec.Command("./samebytes.sh", before, after, "import")
			cmd.Env = append(os.Environ(), "PIPE_DATA="+dir, "KEEP=", "FULL=")
			out, err := cmd.CombinedOutput()
			if got := code(t, err); got != test.code || !strings.Contains(string(out), test.says) {
				t.Errorf("exit code %d, want %d with %q:\n%s", got, test.code, test.says, out)
			}
		})
	}
}

// TestSameBytesSteps runs no program: every configuration has its step, and unknown steps are refused.
func TestSameBytesSteps(t *testing.T) {
	script, err := os.ReadFile("samebytes.sh")
	if err != nil {
		t.Fatal(err)
	}
	configs, err := filepath.Glob("../configs/*.yaml")
	if err != nil || len(configs) < 10 {
		t.Fatalf("configurations: %v, %v", configs, err)
	}
	for _, path := range configs {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		table, imported := strings.CutPrefix(name, "import-")
		if imported && strings.Contains(string(script), "for t in ") && strings.Contains(string(script), " "+table) {
			continue
		}
		if !strings.Contains(string(script), "configs/"+name+".yaml") {
			t.Errorf("no step runs %s", path)
		}
	}
	out, err := exec.Command("./samebytes.sh", "/bin/true", "/bin/true", "nothing").CombinedOutput()
	if code(t, err) != 2 || !strings.Contains(string(out), "unknown step nothing") {
		t.Errorf("a step that does not exist: %v\n%s", err, out)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func code(t *testing.T, err error) int {
	t.Helper()
	var status *exec.ExitError
	if errors.As(err, &status) {
		return status.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}
