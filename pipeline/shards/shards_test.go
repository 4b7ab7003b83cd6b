package shards

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pipe/internal/storage"
	"pipe/internal/storage/storagetest"
)

// lines is a stage whose output is the numbers of its rows, one per line.
type lines struct {
	m        Manifest
	salt     string // written into the shards, and not into the manifest: another salt is a machine of other bits
	fail     func(shard int) error
	runs     atomic.Int64
	prepared atomic.Int64
	got      bytes.Buffer
}

func newLines(shards int, rows int64) *lines {
	return &lines{m: Manifest{Stage: "lines", Shards: shards, Rows: rows, Inputs: map[string]string{"runtime": "1.0"}}}
}

func (s *lines) Manifest() Manifest { return s.m }
func (s *lines) Close() error       { return nil }
func (s *lines) Prepare(context.Context, *storage.Folder) error {
	s.prepared.Add(1)
	return nil
}

func (s *lines) text(shard int) string {
	var b strings.Builder
	from, to := Cut(shard, s.m.Shards, int(s.m.Rows))
	for row := from; row < to; row++ {
		fmt.Fprintf(&b, "%d%s\n", row, s.salt)
	}
	return b.String()
}

func (s *lines) Shard(_ context.Context, shard int, folder string) (*Result, error) {
	s.runs.Add(1)
	if s.fail != nil {
		if err := s.fail(shard); err != nil {
			return nil, err
		}
	}
	text := s.text(shard)
	err := os.WriteFile(filepath.Join(folder, "rows.txt"), []byte(text), 0o666)
	return &Result{Files: []string{"rows.txt"}, Counts: map[string]int64{"rows": int64(strings.Count(text, "\n"))}}, err
}

func (s *lines) Gather(ctx context.Context, p *Parts) (any, error) {
	s.got.Reset()
	err := p.Each(ctx, func(_ int, folder string) error {
		b, err := os.ReadFile(filepath.Join(folder, "rows.txt"))
		s.got.Write(b)
		return err
	})
	return p.Counts()["rows"], err
}

// local is the output of one machine.
func (s *lines) local() string {
	var b strings.Builder
	for shard := range s.m.Shards {
		b.WriteString(s.text(shard))
	}
	return b.String()
}

func openLines(t *testing.T, s *lines, o Options) *Work {
	t.Helper()
	w, err := Open(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func quick(t *testing.T, work string) Options {
	t.Helper()
	o := Default(storagetest.At(t, work))
	o.Lease = MinLease
	return o
}

// Several workers make every shard once, and the gathered output is that of one machine. Prepare runs once per worker.
func TestManyWorkers(t *testing.T) {
	_, memory := storagetest.New(t)
	for _, work := range []string{t.TempDir(), memory + "/work"} {
		const workers, rows = 4, 1000
		var all []*lines
		var made atomic.Int64
		var group sync.WaitGroup
		for range workers {
			s := newLines(37, rows)
			all = append(all, s)
			group.Go(func() {
				w, err := Open(t.Context(), s, Default(storagetest.At(t, work)))
				if err != nil {
					t.Error(err)
					return
				}
				sum, err := w.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				made.Add(int64(len(sum.Made)))
			})
		}
		group.Wait()
		runs := int64(0)
		for _, s := range all {
			runs += s.runs.Load()
			if s.prepared.Load() > 1 {
				t.Errorf("prepared %d times", s.prepared.Load())
			}
		}
		if made.Load() != 37 || runs != 37 {
			t.Errorf("%d shards were made by %d runs, want 37", made.Load(), runs)
		}
		s := newLines(37, rows)
		counted, err := Gather(t.Context(), s, Default(storagetest.At(t, work)))
		if err != nil || counted != int64(rows) || s.got.String() != s.local() {
			t.Errorf("gathered %v, %v", counted, err)
		}
	}
}

// A shard that two runs make at once is there once; a run of a finished shard does nothing.
func TestTwiceAtOnce(t *testing.T) {
	s := newLines(3, 10)
	var both sync.WaitGroup
	both.Add(2)
	s.fail = func(int) error { both.Done(); both.Wait(); return nil }
	w := openLines(t, s, Default(storage.File(t.TempDir())))
	var made atomic.Int64
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			if _, first, err := w.Run(t.Context(), 1); err != nil {
				t.Error(err)
			} else if first {
				made.Add(1)
			}
		})
	}
	group.Wait()
	if _, first, err := w.Run(t.Context(), 1); err != nil || first || made.Load() != 1 || s.runs.Load() != 2 {
		t.Errorf("%d of 2 runs were first (%v)", made.Load(), err)
	}
	l, err := List(t.Context(), w.o.Work)
	if err != nil || l.Count(StateDone) != 1 || l.Count(stateOpen) != 2 {
		t.Errorf("%+v, %v", l, err)
	}
}

// A second run with other bytes names both machines.
func TestOtherBits(t *testing.T) {
	work := t.TempDir()
	a, b := newLines(2, 4), newLines(2, 4)
	b.salt = "!"
	b.fail = func(shard int) error { // a is faster
		_, _, err := openLines(t, a, Default(storagetest.At(t, work))).Run(t.Context(), shard)
		return err
	}
	_, _, err := openLines(t, b, Default(storagetest.At(t, work))).Run(t.Context(), 0)
	var diverged *DivergedError
	if !errors.As(err, &diverged) || diverged.Shard != 0 || diverged.Hint() == "" {
		t.Error(err)
	}
	if l, _ := List(t.Context(), storagetest.At(t, work)); l.Shards[0].State != StateDone {
		t.Error("the first result is gone")
	}
}

// Work of another manifest does not mix: another runtime, configuration or number of shards.
func TestOtherWork(t *testing.T) {
	work := t.TempDir()
	openLines(t, newLines(4, 10), Default(storagetest.At(t, work)))
	for want, s := range map[string]*lines{
		"there were 4 shards, are 5": newLines(5, 10),
		"there were 10 rows, are 11": newLines(4, 11),
		"runtime was 1.0, is 2.0":    {m: Manifest{Stage: "lines", Shards: 4, Rows: 10, Inputs: map[string]string{"runtime": "2.0"}}},
		"table is new":               {m: Manifest{Stage: "lines", Shards: 4, Rows: 10, Inputs: map[string]string{"runtime": "1.0", "table": "x"}}},
	} {
		var changed *ChangedError
		if _, err := Open(t.Context(), s, Default(storagetest.At(t, work))); !errors.As(err, &changed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := Gather(t.Context(), s, Default(storagetest.At(t, work))); !errors.As(err, &changed) {
			t.Errorf("gathered: %v", err)
		}
	}
}

// A shard that fails is tried again, by any worker, and given up after some tries; then others are done, and the error
// lists it. With the cause gone, --shard makes it.
func TestFailures(t *testing.T) {
	work := t.TempDir()
	s := newLines(6, 12)
	sick := errors.New("no luck")
	left := 2
	s.fail = func(shard int) error {
		switch {
		case shard == 4:
			return sick
		case shard == 2 && left > 0:
			left--
			return sick
		}
		return nil
	}
	w := openLines(t, s, quick(t, work))
	_, err := w.Next(t.Context())
	var failed *FailedError
	if !errors.As(err, &failed) || !errors.Is(err, sick) || len(failed.Shards) != 1 || failed.Shards[0] != 4 {
		t.Fatal(err)
	}
	if s.runs.Load() != 5+2+3 {
		t.Errorf("%d runs", s.runs.Load())
	}
	l, err := List(t.Context(), storagetest.At(t, work))
	if err != nil || l.Shards[4].State != stateFailed || l.Shards[4].Failed != 3 || l.Shards[4].Error != "shard 4: no luck" || l.Count(StateDone) != 5 {
		t.Errorf("%+v, %v", l, err)
	}
	var missing *MissingError
	if _, err := Gather(t.Context(), s, quick(t, work)); !errors.As(err, &missing) || missing.Shards[0] != 4 || !strings.Contains(missing.Hint(), "--shard 4") {
		t.Error(err)
	}
	s.fail = nil
	if _, err := w.RunAll(t.Context(), []int{4}); err != nil {
		t.Error(err)
	}
	if _, err := Gather(t.Context(), s, quick(t, work)); err != nil || s.got.String() != s.local() {
		t.Error(err)
	}
}

// A claim without a sign of life is taken over after the lease by the clock of the storage, whatever the clocks of
// workers say; one that is alive is not.
func TestTakenOver(t *testing.T) {
	_, url := storagetest.New(t)
	synctest.Test(t, func(t *testing.T) { takesOver(t, url+"/work") })
}

func takesOver(t *testing.T, work string) {
	s := newLines(2, 4)
	w := openLines(t, s, quick(t, work))
	for shard := range 2 {
		if ok, err := w.claim(t.Context(), shard, 1); err != nil || !ok {
			t.Fatal(err)
		}
	}
	skewed := []byte(`{"worker":"skewed","since":"2099-01-01T00:00:00Z"}`)
	if err := w.folder.WriteFile(t.Context(), claimOf(0, 1), skewed, storage.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	alive := beat(t.Context(), w.folder, claimOf(1, 1), w.machine.Worker, w.o.Lease)
	ctx, cancel := context.WithTimeout(t.Context(), 2*MinLease)
	defer cancel()
	other := openLines(t, newLines(2, 4), quick(t, work))
	_, err := other.Next(ctx)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it did not wait for the worker that is alive: %v", err)
	}
	l, err := List(t.Context(), storagetest.At(t, work))
	if err != nil || l.Shards[0].State != StateDone || l.Shards[1].State != stateRunning {
		t.Errorf("%+v, %v", l, err)
	}
	if err := Drop(t.Context(), quick(t, work)); !errors.Is(err, errBusy) {
		t.Errorf("dropped while a worker is alive: %v", err)
	}
	alive()
	start := time.Now()
	if _, err := other.Next(t.Context()); err != nil || time.Since(start) < MinLease/2 {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	if _, err := Gather(t.Context(), s, quick(t, work)); err != nil || s.got.String() != s.local() {
		t.Error(err)
	}
	if err := Drop(t.Context(), quick(t, work)); err != nil {
		t.Error(err)
	}
	if _, err := List(t.Context(), storagetest.At(t, work)); err == nil || !strings.Contains(err.Error(), "no worker has begun") {
		t.Error(err)
	}
}

func write(t *testing.T, work, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(work, name), b, 0o666); err != nil {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(work, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(work, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// What Select reads, Ranges writes.
func TestSelect(t *testing.T) {
	for text, want := range map[string]string{"3": "3", "0-3,7": "0-3,7", "7,1-2,2-3, 0": "0-3,7", "0-9": "0-9"} {
		list, err := Select(text, 10)
		if err != nil || Ranges(list) != want {
			t.Errorf("%q: %v, %v", text, list, err)
		}
	}
	for _, text := range []string{"", "a", "3-1", "-1", "10", "0-10", "1,,2", "1-2-3"} {
		if list, err := Select(text, 10); err == nil {
			t.Errorf("%q: %v", text, list)
		}
	}
}

// Ranges of all shards cover all units once, in order, as evenly as can be.
func TestCut(t *testing.T) {
	for _, n := range []int{1, 5, 12, 1000} {
		for shards := 1; shards <= n; shards += 1 + shards/3 {
			at := 0
			for shard := range shards {
				from, to := Cut(shard, shards, n)
				if from != at || to-from < n/shards || to-from > n/shards+1 {
					t.Fatalf("shard %d of %d has %d to %d of %d", shard, shards, from, to, n)
				}
				at = to
			}
			if at != n {
				t.Fatalf("%d of %d", at, n)
			}
		}
	}
}

// A worker that is given a shard waits for another one that is alive and at it, takes over from a lost one, and does not
// wait for its own team.
func TestRunAlone(t *testing.T) {
	_, url := storagetest.New(t)
	synctest.Test(t, func(t *testing.T) { runsAlone(t, url+"/work") })
}

func runsAlone(t *testing.T, work string) {
	s := newLines(4, 40)
	o := Default(storagetest.At(t, work))
	o.Lease = MinLease
	other := openLines(t, s, o)
	if ok, err := take(t.Context(), other.folder, claimOf(0, 1), other.machine.Worker); !ok || err != nil {
		t.Fatal(ok, err)
	}
	stop := beat(t.Context(), other.folder, claimOf(0, 1), other.machine.Worker, o.Lease)
	short, cancel := context.WithTimeout(t.Context(), 2*o.Lease)
	defer cancel()
	if _, _, err := openLines(t, s, o).RunAlone(short, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("did not wait for a worker that is alive: %v", err)
	}
	stop()
	if _, made, err := openLines(t, s, o).RunAlone(t.Context(), 0); err != nil || !made {
		t.Fatalf("did not take over from a lost worker: %v, %v", made, err)
	}
	if _, made, err := openLines(t, s, o).RunAlone(t.Context(), 0); err != nil || made {
		t.Fatalf("made a shard that was done: %v, %v", made, err)
	}
	o.Team, o.Lease = "team", time.Hour
	mate := openLines(t, s, o)
	if ok, err := take(t.Context(), mate.folder, claimOf(1, 1), mate.machine.Worker); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, made, err := openLines(t, s, o).RunAlone(t.Context(), 1); err != nil || !made {
		t.Fatalf("waited for its own team: %v, %v", made, err)
	}
}

// A worker that was killed leaves its claim. If the shard then fails too often, workers end all the same.
func TestFailedUnderAnOldClaim(t *testing.T) {
	work := t.TempDir()
	s := newLines(1, 2)
	s.fail = func(int) error { return errors.New("no luck") }
	w := openLines(t, s, quick(t, work))
	for _, age := range []time.Duration{-time.Hour, time.Hour} { // the clock of the store may have been set back
		if _, err := w.claim(t.Context(), 0, 1); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(age)
		if err := os.Chtimes(filepath.Join(work, claimOf(0, 1)), at, at); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*MinLease)
		defer cancel()
		var failed *FailedError
		if _, err := w.Next(ctx); !errors.As(err, &failed) {
			t.Errorf("claimed %v from now: %v", age, err)
		}
		if err := os.RemoveAll(filepath.Join(work, "failed")); err != nil {
			t.Fatal(err)
		}
	}
}

// Two workers read the names, and an attempt of one of them fails. The other one must not make the same attempt again, since
// a third may be at the next one. The claim that stays keeps nobody waiting.
func TestEndedAttemptIsNotRepeated(t *testing.T) {
	s, work := newLines(2, 4), t.TempDir()
	w := openLines(t, s, quick(t, work))
	n := &next{Work: w, sum: w.summary()}
	s.fail = func(int) error { return errors.New("no luck") }
	for attempt := 1; attempt <= 2; attempt++ {
		if mine, err := n.try(t.Context(), 0, attempt); err != nil || !mine {
			t.Fatalf("attempt %d: mine %v, %v", attempt, mine, err)
		}
	}
	if err := w.idle(t.Context()); err != nil {
		t.Errorf("after failures: %v", err)
	}
	if l, err := List(t.Context(), storagetest.At(t, work)); err != nil || l.Shards[0].State != stateFailed || l.Shards[0].Attempt != 2 {
		t.Errorf("%+v, %v", l, err)
	}
	s.fail = nil
	for attempt, want := range []bool{1: false, 2: false, 3: true} {
		if attempt == 0 {
			continue
		}
		if mine, err := n.try(t.Context(), 0, attempt); err != nil || mine != want {
			t.Errorf("attempt %d again: mine %v, want %v; %v", attempt, mine, want, err)
		}
	}
	s.fail = func(int) error { return errors.New("no luck") }
	if _, err := n.try(t.Context(), 1, 1); err != nil {
		t.Fatal(err)
	}
	s.fail = nil
	if attempt, free, err := w.turn(t.Context(), 1); attempt != 2 || !free || err != nil {
		t.Errorf("the turn after a failure is %d, free %v, %v", attempt, free, err)
	}
	start := time.Now()
	if d, made, err := w.RunAlone(t.Context(), 1); err != nil || !made || d.Attempt != 2 || time.Since(start) > MinLease/2 {
		t.Errorf("%+v, made %v, %v, after %v", d, made, err, time.Since(start))
	}
	if fmt.Sprint(n.sum.Made) != "[0]" {
		t.Errorf("made %v", n.sum.Made)
	}
	if _, err := w.claim(t.Context(), 0, 7); err != nil {
		t.Fatal(err)
	}
	if err := w.idle(t.Context()); !errors.Is(err, errBusy) {
		t.Errorf("while a claim is alive: %v", err)
	}
}

// A worker that cannot record a failure ends: no other would count it, and the shard would be tried, and paid, for ever.
func TestFailureThatIsNotRecorded(t *testing.T) {
	memory, work := storagetest.New(t)
	memory.Fault = func(op, name string) error {
		if strings.Contains(name, "failed/") && op == "write" {
			return &storage.Fault{Msg: "the quota is used up"}
		}
		return nil
	}
	s := newLines(1, 2)
	s.fail = func(int) error { return errors.New("no luck") }
	ctx, cancel := context.WithTimeout(t.Context(), 2*MinLease)
	defer cancel()
	_, err := openLines(t, s, quick(t, work+"/work")).Next(ctx)
	if err == nil || !strings.Contains(err.Error(), "no luck") || !strings.Contains(err.Error(), "the quota is used up") || s.runs.Load() != 1 {
		t.Errorf("%d runs: %v", s.runs.Load(), err)
	}
}
