package decisionlog

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// disk fails while it is full: half of what is written arrives.
type disk struct {
	full, noTruncate, noSync atomic.Bool
}

type diskFile struct {
	lineFile
	disk *disk
}

func (d *disk) open(path string) (lineFile, error) {
	if d.full.Load() {
		return nil, syscall.ENOSPC
	}
	f, err := openLines(path)
	return &diskFile{f, d}, err
}

func (f *diskFile) Write(b []byte) (int, error) {
	if f.disk.full.Load() {
		n, _ := f.lineFile.Write(b[:len(b)/2])
		return n, syscall.ENOSPC
	}
	return f.lineFile.Write(b)
}

func (f *diskFile) Sync() error {
	if f.disk.noSync.Load() {
		return syscall.EIO
	}
	return f.lineFile.Sync()
}

func (f *diskFile) Truncate(n int64) error {
	if f.disk.noTruncate.Load() {
		return syscall.EIO
	}
	return f.lineFile.Truncate(n)
}

// waitFor waits until the writer is in a state.
func waitFor(t *testing.T, w *Writer, what string, ok func(Stats) bool) {
	t.Helper()
	for start := time.Now(); !ok(w.Stats()); time.Sleep(time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("never %s: %+v", what, w.Stats())
		}
	}
}

// A full disk stops the log, which says so, and goes on when there is room. No record is in the log twice, or in part.
func TestFullDisk(t *testing.T) {
	for _, onFull := range []string{Continue, Stop} {
		for _, noTruncate := range []bool{false, true} {
			t.Run(onFull, func(t *testing.T) { fullDisk(t, onFull, noTruncate) })
		}
	}
}

func fullDisk(t *testing.T, onFull string, noTruncate bool) {
	folder, d := t.TempDir(), &disk{}
	d.noTruncate.Store(noTruncate)
	s := quick()
	s.OnFull, s.QueueBytes = onFull, 1<<16
	w, err := openWith(folder, s, d.open)
	if err != nil {
		t.Fatal(err)
	}
	p := testPolicy(2, 2, 16)
	if err := w.Policy(p); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	sent, refused, last := 0, 0, ""
	add := func(n int) {
		for range n {
			sent++
			r := testRecord(rng, &p)
			last = r.ID
			err := w.Add(r)
			var stopped *StoppedError
			switch {
			case err == nil:
			case onFull == Stop && (errors.As(err, &stopped) && errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrFull)):
				refused++
			default:
				t.Fatal(err)
			}
		}
	}
	add(20)
	waitFor(t, w, "written", func(s Stats) bool { return s.Records == 20 })
	d.full.Store(true)
	add(1)
	waitFor(t, w, "stopped", func(s Stats) bool { return s.Stopped })
	if err := w.Ready(); (err != nil) != (onFull == Stop) {
		t.Errorf("ready: %v", err)
	}
	if _, err := w.Outcome(Outcome{ID: "x", Label: "y"}); err == nil {
		t.Error("an unknown id was accepted")
	}
	if _, err := w.Outcome(Outcome{ID: last, Label: "y"}); !errors.As(err, new(*StoppedError)) {
		t.Errorf("an outcome on a full disk: %v", err)
	}
	add(400)
	full := w.Stats()
	if full.Dropped == 0 || full.Errors == 0 || full.LastError == "" || full.Lag < time.Millisecond || (refused > 0) != (onFull == Stop) {
		t.Errorf("%+v, %d refused", full, refused)
	}
	d.full.Store(false)
	waitFor(t, w, "working", func(s Stats) bool { return !s.Stopped && s.Queued == 0 })
	add(20)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	st := w.Stats()
	list, l := readAll(t, folder)
	if len(list) != sent-int(st.Dropped) || int(st.Records) != len(list) {
		t.Errorf("%d records of %d, %d dropped: %+v", len(list), sent, st.Dropped, st)
	}
	if c := l.Counts(); c.Damaged > 0 || c.Torn > 0 {
		t.Errorf("%+v", c)
	}
}

// After a failed fsync the segment is left, because a second fsync would not report what was lost.
func TestFailedSync(t *testing.T) {
	folder, d := t.TempDir(), &disk{}
	w, err := openWith(folder, quick(), d.open)
	if err != nil {
		t.Fatal(err)
	}
	p := testPolicy(2, 2, 16)
	if err := w.Policy(p); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	d.noSync.Store(true)
	for range 3 {
		if err := w.Add(testRecord(rng, &p)); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, w, "counted", func(s Stats) bool { return s.Errors > 0 })
	d.noSync.Store(false)
	if err := w.Add(testRecord(rng, &p)); err != nil {
		t.Fatal(err)
	}
	waitFor(t, w, "written", func(s Stats) bool { return s.Records == 4 && !s.Stopped })
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if list, _ := readAll(t, folder); len(list) != 4 {
		t.Errorf("%d records", len(list))
	}
}
