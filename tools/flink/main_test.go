package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pipe/tools/flink/cluster"
)

// asProgram makes the test program be the command itself.
const asProgram = "PIPE_TEST_FLINK"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func flink(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, args...)
	c.Env = append(os.Environ(), asProgram+"=1")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	var ended *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String()
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"run"}, {"alone"}} {
		if code, said := flink(t, args...); code != 2 || !strings.Contains(said, "usage: flink") {
			t.Errorf("%v: exit code %d, %s", args, code, said)
		}
	}
	if code, said := flink(t, "walk", "x"); code != 1 || !strings.Contains(said, `no command "walk"`) {
		t.Errorf("exit code %d, %s", code, said)
	}
}

// A program in the namespaces has the loopback device and no other, its exit code is passed on, and what it leaves behind is ended.
func TestAlone(t *testing.T) {
	if err := cluster.Tools(); err != nil {
		t.Skip(err)
	}
	if err := exec.Command("unshare", "-rn", "-pf", "--mount-proc", "true").Run(); err != nil {
		t.Skip("no namespaces here: ", err)
	}
	code, said := flink(t, "alone", "sh", "-c", "ip -o link | wc -l; ip -o link; sleep 1000 & exit 7")
	if code != 7 || !strings.HasPrefix(said, "1\n") || !strings.Contains(said, "LOOPBACK,UP") {
		t.Errorf("exit code %d, %s", code, said)
	}
}
