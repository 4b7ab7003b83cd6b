package progress

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// log is a buffer that several goroutines write to.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// take returns what was written since the last take.
func (l *log) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

// Without a terminal a line comes after ten seconds and then every thirty, through all phases and the gaps between
// them.
func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &log{}
		r := New(out, true)
		wait := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := out.take(); got != want {
				t.Errorf("after %v more: %q, want %q", d, got, want)
			}
		}
		r.Start(2000, "rows")
		r.Add(100)
		wait(9*time.Second, "")
		r.Add(100)
		wait(2*time.Second, "pipe: rows: 200 of 2000, 10%, 20/s, 1m30s left (running for 10s)\n")
		wait(28*time.Second, "")
		wait(2*time.Second, "pipe: rows: 200 of 2000, 10%, 5/s, 6m0s left (running for 40s)\n")
		r.Start(-1, "read pages")
		wait(29*time.Second, "pipe: read pages: total unknown (running for 1m10s)\n")
		r.Add(600)
		wait(30*time.Second, "pipe: read pages: 600 done, total unknown, 10.2/s (running for 1m40s)\n")
		r.Start(0, "nothing to do")
		wait(30*time.Second, "pipe: nothing to do: 0 of 0 (running for 2m10s)\n")
		r.Done()
		r.Done()
		wait(30*time.Second, "pipe: working (running for 2m40s)\n")
		r.Start(10, "all of it")
		r.Add(12)
		wait(30*time.Second, "pipe: all of it: 12 of 10, 100%, 0.4/s (running for 3m10s)\n")
		r.Close()
		r.Close()
		wait(time.Hour, "")
		r.Start(1, "again")
		wait(11*time.Second, "pipe: again: 0 of 1, 0% (running for 10s)\n")
		r.Close()
	})
}

// Work that takes less than ten seconds prints nothing and leaves no goroutine behind (the bubble would not end).
func TestShortWorkIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &log{}
		r := New(out, true)
		for range 9 {
			r.Start(3, "rows")
			r.Add(3)
			time.Sleep(time.Second)
			r.Done()
		}
		r.Close()
		if out.String() != "" {
			t.Errorf("wrote %q", out.String())
		}
	})
}

func TestNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &log{}
		r := New(out, false)
		r.Note("before %d: %s", 1, "s3://bucket/x")
		r.Start(4, "ask\x1b[31m\nme gs://b/y")
		r.Note("waits %s: %s", 2*time.Second, "busy\n\x1b[0mpipe: error: forged")
		time.Sleep(11 * time.Second)
		synctest.Wait()
		r.Close()
		want := "pipe: before 1: s3://bucket/x\n" + `pipe: waits 2s: busy\n\x1b[0mpipe: error: forged` + "\n" +
			`pipe: ask\x1b[31m\nme gs://b/y: 0 of 4, 0% (running for 10s)` + "\n"
		if out.String() != want {
			t.Errorf("wrote %q, want %q", out.String(), want)
		}
	})
}

// A note does not share a line with the bar: the line is cleared before, and the bar is drawn again after it.
func TestNotesWithBar(t *testing.T) {
	out := &log{}
	r := New(out, false)
	r.bars = true
	r.Add(1) // before Start: ignored
	r.Start(10, "first")
	r.Add(4)
	r.Note("a retry waits for %d s", 3)
	r.Add(1)
	r.Start(-1, "second")
	r.Add(5)
	r.Done()
	r.Done()
	r.Note("after")
	r.Close()
	got := out.String()
	if !strings.Contains(got, "\x1b[2K\rpipe: a retry waits for 3 s\n\rfirst ") {
		t.Errorf("the note is not on a separate line: %q", got)
	}
	if !strings.HasSuffix(got, "\rpipe: after\n") {
		t.Errorf("a note after the phases: %q", got)
	}
	for _, want := range []string{"0/10", "second"} {
		if !strings.Contains(got, want) {
			t.Errorf("bar output %q lacks %q", got, want)
		}
	}
}

// Calls from many goroutines, for the race detector.
func TestConcurrentCalls(t *testing.T) {
	for _, bars := range []bool{false, true} {
		r := New(&log{}, false)
		r.bars = bars
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for i := range 50 {
					r.Start(int64(i), "x")
					r.Add(1)
					r.Note("n")
					r.Done()
				}
				r.Close()
			})
		}
		group.Wait()
		r.Close()
	}
}
