package interrupt

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestMain is also the program that gets signals: it says when its context has ended, and waits.
func TestMain(m *testing.M) {
	if os.Getenv("PIPE_TEST_INTERRUPT") == "" {
		os.Exit(m.Run())
	}
	ctx, stop := Context(context.Background())
	defer stop()
	os.Stdout.WriteString("ready\n")
	<-ctx.Done()
	os.Stdout.WriteString("asked\n")
	time.Sleep(20 * time.Second)
}

// TestSecondSignalEndsTheProcess: at any time after the first, also at once.
func TestSecondSignalEndsTheProcess(t *testing.T) {
	for i := range 30 {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "PIPE_TEST_INTERRUPT=1")
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line := make([]byte, len("ready\n"))
		read := func() string {
			if _, err := out.Read(line); err != nil {
				return err.Error()
			}
			return string(line)
		}
		if said := read(); said != "ready\n" {
			t.Fatal(said)
		}
		first, second := syscall.SIGINT, syscall.SIGTERM // two of one kind may become one before they are delivered
		if err := c.Process.Signal(first); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			if said := read(); said != "asked\n" {
				t.Fatal(said)
			}
		}
		time.Sleep(time.Duration(i%5) * 100 * time.Microsecond)
		if err := c.Process.Signal(second); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(10*time.Second, func() { _ = c.Process.Kill() })
		_ = c.Wait() // an error: it ends by a signal
		late.Stop()
		status := c.ProcessState.Sys().(syscall.WaitStatus)
		// The kernel delivers the signal with the lower number first: either may be the second.
		if !status.Signaled() || status.Signal() != first && status.Signal() != second {
			t.Fatalf("round %d: %v", i, c.ProcessState)
		}
	}
}

// TestStop: signals have their usual effect again, and the context ends.
func TestStop(t *testing.T) {
	ctx, stop := Context(t.Context())
	if ctx.Err() != nil {
		t.Fatal(ctx.Err())
	}
	stop()
	<-ctx.Done()
}
