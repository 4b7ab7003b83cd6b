package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pipe/pipeline/exitcode"
	"pipe/pipeline/propose"
)

// TestInitNext: the commands that init prints exist, a shell reads their paths as they are, and the import among them works.
func TestInitNext(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	for name, c := range map[string]struct {
		head, row string // arguments of the row: a number, two flags, a split
		has       []string
	}{
		"wide":      {"id,length,small_correct,large_correct", "q%[1]d,%[1]d,%[2]d,%[3]d", []string{"pipe eval --in costs.parquet --policy policies --out report"}},
		"test only": {"id,length,small_correct,large_correct,split", "q%[1]d,%[1]d,%[2]d,%[3]d,%[4]s", []string{"--split test"}},
		"decisions": {"id,length,model,correct,propensity", "q%[1]d,1%[1]d,m%[2]d,%[3]d,0.5", []string{"pipe ope --costs costs.parquet --policy policies/auto-lambda1.onnx"}},
		"gaps":      {"id,length,small_correct,large_correct\nx,9,1,", "q%[1]d,%[1]d,%[2]d,%[3]d", []string{"1 of 41 requests are left out", "large has the fewest outcomes, 40"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			text := c.head + "\n"
			for n := range 40 {
				text += fmt.Sprintf(c.row+"\n", n*n, n%2, n*7%3%2, []string{"train", "test"}[n%2])
			}
			if err := os.WriteFile("my $log's.csv", []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			try := func(args ...string) []byte {
				var out, stderr bytes.Buffer
				if code := run(t.Context(), args, nil, &out, &stderr); code != exitcode.OK {
					t.Fatalf("%q: exit code %d, %s", args, code, &stderr)
				}
				return out.Bytes()
			}
			shown := try("init", "my $log's.csv", "--json")
			var r propose.Report
			if err := json.Unmarshal(shown, &r); err != nil {
				t.Fatal(err)
			}
			said := strings.Join(r.Checks, "\n")
			for _, next := range r.Next {
				said += "\n" + next.Line
				words, err := exec.CommandContext(t.Context(), sh, "-c", `printf '%s\n' `+next.Line).Output()
				if err != nil {
					t.Fatal(err)
				}
				args := strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")[1:]
				command, rest, err := newRoot(newApp(strings.NewReader(""), io.Discard, io.Discard)).Find(args)
				if err == nil {
					err = command.ParseFlags(rest)
				}
				if err != nil || len(command.Flags().Args()) > 0 || !command.Runnable() {
					t.Errorf("%s: %v, arguments %q", next.Line, err, command.Flags().Args())
				}
				if args[0] == "import" {
					try(args...)
				}
			}
			for _, want := range c.has {
				if !strings.Contains(said, want) {
					t.Errorf("no %q in\n%s", want, said)
				}
			}
			if saved, err := os.ReadFile(r.File); err != nil || strings.Count(string(saved), "# CHECK: ") != len(r.Checks) {
				t.Errorf("%v: not every check of %q is in\n%s", err, r.Checks, saved)
			}
		})
	}
}

// TestInitNothingToLearn: where no outcome depends on the expert, init says so and writes nothing. One request that tells them apart is enough.
func TestInitNothingToLearn(t *testing.T) {
	for name, c := range map[string]struct{ head, row, other string }{
		"all right": {"id,length,small_correct,large_correct", "q%[1]d,%[1]d,1,1", "x,9,0,1"},
		"alike":     {"id,length,small_correct,large_correct", "q%[1]d,%[1]d,%[2]d,%[2]d", "x,9,0,1"},
		"long":      {"id,length,model,correct", "q%[1]d,%[1]d,small,1\nq%[1]d,%[1]d,large,1", "x,9,small,0\nx,9,large,1"},
		"decisions": {"id,length,model,correct,propensity", "q%[1]d,1%[1]d,m%[2]d,1,0.5", "x,9,m0,0,0.5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			text := c.head + "\n"
			for n := range 40 {
				text += fmt.Sprintf(c.row+"\n", n*n, n%2)
			}
			try := func(text string) (int, string) {
				if err := os.WriteFile("log.csv", []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
				var stderr bytes.Buffer
				return run(t.Context(), []string{"init", "log.csv"}, nil, io.Discard, &stderr), stderr.String()
			}
			code, said := try(text)
			if code != exitcode.BadData || !strings.Contains(said, "nothing to learn") || !strings.Contains(said, "hint: record requests") {
				t.Errorf("exit code %d: %s", code, said)
			}
			if _, err := os.Stat("log.yaml"); err == nil {
				t.Error("a configuration was written")
			}
			if code, said := try(text + c.other + "\n"); code != exitcode.OK {
				t.Errorf("with a request on which they differ: exit code %d: %s", code, said)
			}
		})
	}
}
