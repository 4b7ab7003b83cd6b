package engine

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// closedVariable names a file that a worker of the tests writes when it closes.
const closedVariable = "PIPE_TEST_CLOSED"

func writeClosed() {
	if path := os.Getenv(closedVariable); path != "" {
		_ = os.WriteFile(path, nil, 0o666) // the test misses it
	}
}

// asWorker is this program as a runner starts it, waiting for a runner that does not answer.
func asWorker(t *testing.T, name string, args ...string) (c *exec.Cmd, closed string) {
	t.Helper()
	closed = filepath.Join(t.TempDir(), "closed")
	c = exec.Command(name, args...)
	c.Env = append(os.Environ(), workerVariable+"=1", closedVariable+"="+closed)
	return c, closed
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// silentRunner takes connections and says nothing. asked waits for one.
func silentRunner(t *testing.T) (flags []string, asked func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return []string{"--id=1", "--provision_endpoint=" + l.Addr().String()}, func() {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
}

// soon waits until something is so.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within half a minute", what)
		}
	}
}

func exists(path string) func() bool {
	return func() bool {
		_, err := os.Stat(path)
		return err == nil
	}
}

// A worker that no runner has started says so.
func TestWorkerWithoutRunner(t *testing.T) {
	c, closed := asWorker(t, self(t))
	var said bytes.Buffer
	c.Stderr = &said
	var ended *exec.ExitError
	if err := c.Run(); !errors.As(err, &ended) || ended.ExitCode() != 1 || !strings.Contains(said.String(), "a runner must start it") {
		t.Errorf("%v, %s", err, &said)
	}
	if !exists(closed)() {
		t.Error("the worker was not closed")
	}
}

// A worker that its runner ends closes, and ends well.
func TestWorkerEndsBySignal(t *testing.T) {
	flags, asked := silentRunner(t)
	c, closed := asWorker(t, self(t), flags...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	asked() // so it has begun
	time.Sleep(500 * time.Millisecond)
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || !exists(closed)() {
		t.Errorf("it ended with %v; closed: %v", err, exists(closed)())
	}
}

// A worker ends when its runner is killed, which cannot tell it. It closes before, to give back what it holds.
func TestWorkerEndsWithItsParent(t *testing.T) {
	flags, asked := silentRunner(t)
	shell, closed := asWorker(t, "sh", append([]string{"-c", `"$0" "$@" & echo $!; wait`, self(t)}, flags...)...)
	out, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 32)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	worker := strings.TrimSpace(string(line[:n]))
	asked()
	time.Sleep(500 * time.Millisecond) // it looks at its parent by now
	if exists(closed)() {
		t.Fatal("the worker has ended while its parent runs")
	}
	if err := shell.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = shell.Wait() // it was killed
	soon(t, "the worker closes", exists(closed))
	soon(t, "the worker ends", func() bool {
		stat, err := os.ReadFile("/proc/" + worker + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}
