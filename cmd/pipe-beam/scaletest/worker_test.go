package scaletest

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"pipe/pipeline/exitcode"
)

// TestWorkers: what is wrong with the workers of a real cluster is one error with the exit code of pipe. The cluster takes the next job.
func TestWorkers(t *testing.T) {
	need(t, "full")
	w := newWorld(t)
	check := func(work string, more ...string) []string {
		return append(append([]string{"check", "--shards", "4"}, w.onFlink(work)...), more...)
	}
	w.fails(exitcode.Failure, "the runner has given up the job", check("missing", "--environment-config", "/no/such/program")...)
	w.fails(exitcode.Failure, "the runner has given up the job", check("ends", "--environment-config", "/bin/false")...)
	rows := "id,fraud,amount\n"
	for n := range 400 {
		rows += fmt.Sprintf("r%d,%d,%d\n", n, n%2, n)
	}
	columns := w.write("columns.yaml", "columns: {id: id, label: fraud, labels: ['0', '1'], max_levels: 4, min_count: 1, groups: [{name: base, numeric: [amount]}]}\n")
	bad := w.write("rows.csv", strings.Replace(rows, "r300,0,300", "r300,0,many", 1))
	w.fails(exitcode.BadData, "line 302", append([]string{"featurize", "--columns", columns, "--in", bad, "--out", w.folder + "/table", "--shards", "4", "--tries", "1"}, w.onFlink("bad")...)...)
	w.run("pipe-beam", check("good")...)
}

// fails runs pipe-beam, which must end with an error.
func (w *world) fails(code int, message string, args ...string) {
	w.Helper()
	c, said := w.command("pipe-beam", args...)
	start := time.Now()
	err := c.Run()
	var ended *exec.ExitError
	text := said.String()
	if !errors.As(err, &ended) || ended.ExitCode() != code || !strings.Contains(text, message) || strings.Count(text, "pipe-beam: error: ") != 1 || !strings.Contains(text, "pipe-beam: hint: ") {
		w.Errorf("%v: %v, want exit code %d and %q\n%s", args, err, code, message, text)
		return
	}
	w.Logf("after %.1f s: %s", time.Since(start).Seconds(), text[strings.Index(text, "pipe-beam: error: "):])
}
