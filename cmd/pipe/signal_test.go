package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A second signal ends a program at once that the first one does not, such as
// one that waits for a file to be opened.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	waits := filepath.Join(t.TempDir(), "costs.yaml")
	if err := syscall.Mkfifo(waits, 0o600); err != nil {
		t.Skip("no named pipes: ", err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program)
	c.Args = []string{"pipe", "costs", "--config", waits, "--out", filepath.Join(t.TempDir(), "out")} // TestMain goes by the name
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	time.Sleep(time.Second) // until it waits
	for range 2 {
		select {
		case err := <-ended:
			t.Fatalf("ended before the second signal: %v", err)
		case <-time.After(200 * time.Millisecond):
		}
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-ended:
		var status *exec.ExitError
		if !errors.As(err, &status) || status.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("two signals did not end it")
	}
}
