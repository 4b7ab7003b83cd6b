package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/cmd/pipe-beam/engine"
	"pipe/cmd/pipe-beam/job"
	"pipe/pipeline/exitcode"
)

func TestMain(m *testing.M) {
	w := job.NewWorker(job.Stages())
	engine.Worker(w.Task, w.Close)
	os.Exit(m.Run())
}

// program runs the program, and checks its exit code and what it says.
func program(t *testing.T, code int, message string, args ...string) (stdout string) {
	t.Helper()
	var out, said bytes.Buffer
	got := run(t.Context(), args, &out, &said)
	text := said.String()
	if got != code || !strings.Contains(text, message) {
		t.Errorf("%v: exit code %d, want %d; %q, want %q", args, got, code, text, message)
	}
	hinted := strings.Contains(text, "pipe-beam: hint: ") || strings.Contains(text, "no such file") // which says all
	if code != exitcode.OK && (strings.Count(text, "pipe-beam: error: ") != 1 || !hinted) {
		t.Errorf("%v: not one error with a hint: %s", args, text)
	}
	return out.String()
}

// Every mistake in the command line is one error before anything is read or sent.
func TestFlags(t *testing.T) {
	work := t.TempDir()
	decide := "decide --policy p.onnx --in rows.csv --out out.csv --work " + work + " "
	check := "check --shards 2 --work " + work + " "
	for line, message := range map[string]string{
		"check --shards 2":                                           "--work needs a value",
		"check extra --work " + work:                                 `unexpected argument "extra"`,
		"check --work " + work:                                       "name the number of shards",
		"check --shards x --work " + work:                            "invalid argument",
		"check --shards 1000001 --work " + work:                      "1 to 1000000",
		check + "--runner hadoop":                                    `runner "hadoop": known are prism, flink, spark, dataflow`,
		check + "--runner flink":                                     "needs the endpoint of its Beam job server",
		check + "--parallelism -1":                                   "is negative",
		check + "--environment moon":                                 `environment "moon"`,
		check + "--environment external":                             "needs its configuration",
		check + "--runner spark --endpoint h:1 --environment docker": "needs its configuration",
		check + "--beam-flag project":                                "write it as NAME=VALUE",
		check + "--beam-flag nosuch=1":                               "is none of Beam",
		check + "--lease 0s":                                         "lease",
		check + "--tries 0":                                          "tries",
		check + "--no-such-flag":                                     "unknown flag",
		"costs --shards 2":                                           "--config and --out needs a value",
		"costs --config c --out o --shards 2 --budget x":             "it is not a number",
		"decide --policy p --in i --shards 2":                        "--out needs a value",
		decide:                                                       "name the number of shards",
		decide + "--shards 2 --runner flink":                         "needs the endpoint",
		"featurize --in i --out o --shards 2":                        "--columns needs a value",
		"decide --policy p --in - --out o --shards 2":                "name a file instead of -",
		"decide --policy p --in i --out - --shards 2":                "name a file instead of -",
		"train --in i":                                               "--out needs a value",
	} {
		program(t, exitcode.Usage, message, strings.Fields(line)...)
	}
	if left, err := os.ReadDir(work); len(left) > 0 || err != nil {
		t.Errorf("the work folder has %v, %v", left, err)
	}
}

// A runner, a flag of Beam and a runtime that are not there end the program with the codes of pipe.
func TestWhatIsNotThere(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	folder := t.TempDir()
	work := []string{"--quiet", "--shards", "2", "--work", filepath.Join(folder, "work")}
	program(t, exitcode.Failure, "no Beam job server answers", append([]string{"check", "--runner", "flink", "--endpoint", free.Addr().String()}, work...)...)
	program(t, exitcode.BadData, "columns.yaml", append([]string{"featurize", "--columns", filepath.Join(folder, "columns.yaml"), "--in", "x", "--out", folder}, work...)...)
	program(t, exitcode.NoRuntime, "ONNX Runtime", append([]string{"decide", "--runtime", filepath.Join(folder, "none.so"), "--policy", "p", "--in", "i", "--out", filepath.Join(folder, "o")}, work...)...)
}

// Empty shards are made once, and found by the next run.
func TestCheck(t *testing.T) {
	work := t.TempDir()
	args := []string{"check", "--shards", "3", "--work", work}
	if out := program(t, exitcode.OK, "3 shards of check were made now, 0 were there", args...); !strings.Contains(out, "3 empty shards by 1 workers") {
		t.Error(out)
	}
	var report job.Checked
	if out := program(t, exitcode.OK, "0 shards of check were made now, 0 were there", append(args, "--json")...); json.Unmarshal([]byte(out), &report) != nil || report.Shards != 3 {
		t.Error(out)
	}
	program(t, exitcode.Failure, "there were 3 shards, are 4", "check", "--shards", "4", "--work", work)
}

// Workers may be processes of their own; that of the test is this program.
func TestWorkerProcesses(t *testing.T) {
	args := []string{"check", "--quiet", "--shards", "3", "--environment", "process", "--work"}
	if out := program(t, exitcode.OK, "", append(args, t.TempDir())...); !strings.Contains(out, "3 empty shards by 1 workers") {
		t.Error(out)
	}
	program(t, exitcode.BadData, "the program of workers", append(args, t.TempDir(), "--environment-config", "/no/such/program")...)
}

// A bad row that a worker meets ends the program as it ends pipe: with code 3, file and line.
func TestBadRow(t *testing.T) {
	folder := t.TempDir()
	rows := "id,fraud,amount\n"
	for n := range 400 {
		rows += fmt.Sprintf("r%d,%d,%d\n", n, n%2, n)
	}
	for name, text := range map[string]string{
		"columns.yaml": "columns:\n  id: id\n  label: fraud\n  labels: [\"0\", \"1\"]\n  max_levels: 4\n  min_count: 1\n  groups: [{name: base, numeric: [amount]}]\n",
		"rows.csv":     strings.Replace(rows, "r300,0,300", "r300,0,many", 1),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(folder, name) }
	args := []string{"featurize", "--columns", in("columns.yaml"), "--in", in("rows.csv"), "--out", in("out"), "--shards", "4", "--tries", "1"}
	program(t, exitcode.BadData, "line 302", args...)
	if err := os.WriteFile(in("rows.csv"), []byte(rows), 0o666); err != nil {
		t.Fatal(err)
	}
	program(t, exitcode.OK, "4 shards of featurize were made now", append(args, "--work", in("again"))...)
}
