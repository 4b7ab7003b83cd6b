package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pipe/onnx/ort"
	"pipe/pipeline/exitcode"
)

// program is the program in a separate process that receives signals from a test.
type program struct {
	*exec.Cmd
	stderr bytes.Buffer
	ended  chan error
}

// start runs the program in a folder. TestMain recognises it by its name.
func start(t *testing.T, folder string, before func(*exec.Cmd), args ...string) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{Cmd: exec.CommandContext(t.Context(), self), ended: make(chan error, 1)}
	p.Args, p.Dir, p.Stderr = append([]string{"pipe"}, args...), folder, &p.stderr
	if before != nil {
		before(p.Cmd)
	}
	if err := startListening(p.Cmd); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.Wait() }()
	return p
}

// startListening starts a program that does not ignore SIGHUP, even if the tests run under nohup. A program inherits
// ignored signals, but not signals that its parent handles.
func startListening(c *exec.Cmd) error {
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	defer signal.Stop(handled)
	return c.Start()
}

// interrupted waits for the end and checks that the program reports the reason.
func (p *program) interrupted(t *testing.T, within time.Duration) {
	t.Helper()
	select {
	case <-p.ended:
		if code := p.ProcessState.ExitCode(); code != exitcode.Interrupted || !strings.HasSuffix(p.stderr.String(), "pipe: interrupted\n") {
			t.Errorf("%v: exit code %d, %s, %q", p.Args, code, p.ProcessState, p.stderr.String())
		}
	case <-time.After(within):
		_ = p.Process.Kill()
		t.Errorf("%v did not end", p.Args)
	}
}

func (p *program) send(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// hidden are the files below a folder whose names begin with a dot.
func hidden(folder string) (found []string) {
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && path != folder && strings.HasPrefix(e.Name(), ".") && e.Name() != ".ses" { // ONNX Runtime's own
			found = append(found, path)
		}
		return nil
	})
	return found
}

// endsAfter is how long the program may take to end on a busy machine.
const endsAfter = patience + 20*time.Second

// One signal of any kind ends the program while it waits for a named pipe to be opened, or for more of its data.
func TestSignalEndsBlockedReads(t *testing.T) {
	t.Parallel()
	found := ort.EnvLibrary + "=" + runtimeLibrary(t)
	folder := t.TempDir()
	if err := writeSamples(folder); err != nil {
		t.Fatal(err)
	}
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	for i, args := range []string{
		"inspect PIPE",
		"costs --config PIPE --out out",
		"decide --policy PIPE --in costs.parquet --out out.csv",
		"decide --policy policy.onnx --in PIPE --format csv --out out.csv",
		"train --in costs.parquet --config PIPE --out out",
		"eval --in costs.parquet --actions PIPE --out out",
		"import --config PIPE --out out.parquet",
	} {
		for _, writer := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, writer %t", args, writer), func(t *testing.T) {
				t.Parallel()
				waits := filepath.Join(t.TempDir(), "waits")
				if err := syscall.Mkfifo(waits, 0o600); err != nil {
					missing(t, "named pipes", err)
				}
				if writer { // open for both, so that it does not wait for a reader
					f, err := os.OpenFile(waits, os.O_RDWR, 0)
					if err != nil {
						t.Fatal(err)
					}
					defer f.Close()
				}
				args := strings.ReplaceAll(strings.ReplaceAll(args, "PIPE", waits), "--out out", "--out "+filepath.Join(t.TempDir(), "out"))
				p := start(t, folder, func(c *exec.Cmd) { c.Env = append(os.Environ(), found) }, strings.Fields(args)...)
				time.Sleep(3 * time.Second) // until it waits; a program that refuses the pipe has ended by then
				select {
				case <-p.ended:
					if code := p.ProcessState.ExitCode(); code != exitcode.BadData {
						t.Errorf("exit code %d, %s", code, p.stderr.String())
					}
				default:
					p.send(t, signals[i%len(signals)])
					p.interrupted(t, endsAfter)
				}
			})
		}
	}
	t.Cleanup(func() {
		if left := hidden(folder); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// Each signal during the work ends the program with the same code and leaves no temporary file.
func TestSignalsLeaveNothing(t *testing.T) {
	t.Parallel()
	found := ort.EnvLibrary + "=" + runtimeLibrary(t)
	hup, term, interrupt := syscall.SIGHUP, syscall.SIGTERM, os.Interrupt
	for args, signals := range map[string][]os.Signal{
		"decide --policy policy.onnx --format csv --out out.csv":                         {hup, term, interrupt},
		"train --in table.parquet --recipe paper --seeds 8 --config long.yaml --out out": {hup, term},
		"generate pages --pages 50000000 --out out":                                      {hup, interrupt},
		"generate fraud --rows 50000000 --out out":                                       {hup},
	} {
		for _, s := range signals {
			t.Run(fmt.Sprintf("%s %v", strings.Fields(args)[0], s), func(t *testing.T) {
				t.Parallel()
				folder, temp := t.TempDir(), t.TempDir()
				if err := writeSamples(folder); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(folder, "long.yaml"), []byte("train: {network: {epochs: 100000}}\n"), 0o666); err != nil {
					t.Fatal(err)
				}
				rows, feed, err := os.Pipe() // held open: there could be more rows
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				defer feed.Close()
				if _, err := feed.WriteString("id,u,v\na,1,2\n"); err != nil {
					t.Fatal(err)
				}
				p := start(t, folder, func(c *exec.Cmd) { c.Stdin, c.Env = rows, append(os.Environ(), found, "TMPDIR="+temp) }, strings.Fields(args)...)
				time.Sleep(2 * time.Second) // until it works
				p.send(t, s)
				p.interrupted(t, endsAfter)
				if left := slices.Concat(hidden(folder), hidden(temp)); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				if _, err := os.Stat(filepath.Join(folder, "out.csv")); err == nil {
					t.Error("an output of a part of the rows is there")
				}
			})
		}
	}
}

// A second signal ends a program at once if the first one did not, such as one that waits for a file to be opened.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	waits := filepath.Join(t.TempDir(), "costs.yaml")
	if err := syscall.Mkfifo(waits, 0o600); err != nil {
		missing(t, "named pipes", err)
	}
	p := start(t, t.TempDir(), nil, "costs", "--config", waits, "--out", "out")
	time.Sleep(time.Second) // until it waits
	for range 2 {
		select {
		case err := <-p.ended:
			t.Fatalf("ended before the second signal: %v", err)
		case <-time.After(200 * time.Millisecond):
		}
		p.send(t, os.Interrupt)
	}
	select {
	case err := <-p.ended:
		var status *exec.ExitError
		if !errors.As(err, &status) || status.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("two signals did not end it")
	}
}

// Under nohup, closing the terminal does not end the program.
func TestNohup(t *testing.T) {
	if testing.Short() {
		t.Skip("runs of separate processes, in which the race detector finds nothing new")
	}
	t.Parallel()
	nohup, err := exec.LookPath("nohup")
	if err != nil {
		missing(t, "nohup", err)
	}
	waits := filepath.Join(t.TempDir(), "costs.yaml")
	if err := syscall.Mkfifo(waits, 0o600); err != nil {
		missing(t, "named pipes", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "pipe") // nohup starts it by name
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	p := start(t, t.TempDir(), func(c *exec.Cmd) {
		c.Path, c.Args = nohup, []string{"nohup", link, "costs", "--config", waits, "--out", "out"}
	})
	file, err := os.OpenFile(waits, os.O_WRONLY, 0) // waits until the program reads
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p.send(t, syscall.SIGHUP)
	time.Sleep(200 * time.Millisecond)
	p.send(t, syscall.SIGTERM) // a second signal, if SIGHUP was one, would end the program at once
	p.interrupted(t, endsAfter)
}

// Without a terminal, long work reports its progress after ten seconds in plain lines; with --quiet it prints nothing.
func TestLinesOfProgress(t *testing.T) {
	needRuntime(t)
	dir := t.TempDir()
	if err := writeSamples(dir); err != nil {
		t.Fatal(err)
	}
	watched := make(chan os.Signal, 1) // from now on the process has the goroutine of all signals, which must not be in the bubble
	signal.Notify(watched, syscall.SIGUSR1)
	defer signal.Stop(watched)
	for flag, want := range map[string]string{
		"--json":  "pipe: open policy and rows: total unknown (running for 10s)\npipe: interrupted\n",
		"--quiet": "pipe: interrupted\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			in, feed := io.Pipe()
			var stderr bytes.Buffer
			code := make(chan int, 1)
			go func() {
				code <- run(ctx, []string{"decide", "--policy", filepath.Join(dir, "policy.onnx"), flag}, in, io.Discard, &stderr)
			}()
			time.Sleep(14 * time.Second)
			cancel()
			if got := <-code; got != exitcode.Interrupted || stderr.String() != want {
				t.Errorf("%s: exit code %d, standard error has %q", flag, got, stderr.String())
			}
			_ = feed.Close()
		})
	}
}
