package decisionlog

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pipe/internal/filelock"
)

// openTest opens a log of one policy.
func openTest(t *testing.T, folder string, s Settings, p PolicyInfo) *Writer {
	t.Helper()
	w, err := Open(folder, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Policy(p); err != nil {
		t.Fatal(err)
	}
	return w
}

func number(v float64) *float64 { return &v }

// Outcomes of old segments, of earlier runs and of waiting records are accepted; repeated ones count once; others are
// errors.
func TestOutcomes(t *testing.T) {
	folder, p := t.TempDir(), testPolicy(2, 2, 8)
	s := quick()
	s.SegmentBytes = 1 << 13
	rng := rand.New(rand.NewPCG(1, 1))
	var ids []string
	for run := range 3 {
		w := openTest(t, folder, s, p)
		if _, err := Open(folder, s); !errors.As(err, new(*filelock.InUseError)) {
			t.Fatalf("a second writer: %v", err)
		}
		w.recent = recent{} // so that every id is looked up
		for range 40 {
			r := testRecord(rng, &p)
			if err := w.Add(r); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, r.ID)
			if len(ids)%10 == 0 {
				time.Sleep(15 * time.Millisecond)
			}
		}
		waitFor(t, w, "written", func(s Stats) bool { return s.Queued == 0 })
		w.mu.Lock()
		w.recent = recent{}
		w.mu.Unlock()
		for n, id := range ids {
			o := Outcome{ID: id, Time: 7, Score: number(float64(n) / 1000), Client: "a"}
			again, err := w.Outcome(o)
			if err != nil || again != (n < len(ids)-40) {
				t.Fatalf("run %d, outcome %d: %t, %v", run, n, again, err)
			}
			o.Time, o.Client = 8, "b"
			if again, err := w.Outcome(o); err != nil || !again {
				t.Fatalf("a repeated outcome: %t, %v", again, err)
			}
			o.Score = number(0.99)
			if _, err := w.Outcome(o); !errors.As(err, new(*ConflictError)) {
				t.Fatalf("a contradiction: %v", err)
			}
		}
		for _, id := range []string{NewID(), ids[0][:35], "x", "\x00"} {
			if _, err := w.Outcome(Outcome{ID: id, Label: "l"}); err == nil {
				t.Errorf("%q was accepted", id)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Outcome(Outcome{ID: ids[0], Label: "l"}); err == nil {
			t.Error("a closed log took an outcome")
		}
		if run == 1 { // indexes are made again
			files, _ := filepath.Glob(filepath.Join(folder, "*"+indexEnding))
			for n, f := range files {
				if n%2 == 0 {
					os.Remove(f)
				} else if err := os.Truncate(f, 100); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	list, l := readAll(t, folder)
	for n, d := range list {
		if d.Outcome == nil || *d.Outcome.Score != float64(n)/1000 || d.ID != ids[n] {
			t.Fatalf("record %d: %+v", n, d.Outcome)
		}
	}
	if c := l.Counts(); len(list) != 120 || c.Outcomes != 120 || c.Unmatched != 0 || c.Conflicts != 0 {
		t.Errorf("%d records, %+v", len(list), c)
	}
}

// A decision is in its segment before its outcome is accepted, so that a kill cannot leave the outcome alone.
func TestDecisionBeforeOutcome(t *testing.T) {
	folder, p := t.TempDir(), testPolicy(2, 2, 8)
	s := quick()
	s.FlushInterval = time.Minute
	w := openTest(t, folder, s, p)
	rng := rand.New(rand.NewPCG(4, 4))
	for range 20 {
		r := testRecord(rng, &p)
		if err := w.Add(r); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Outcome(Outcome{ID: r.ID, Label: "l"}); err != nil {
			t.Fatal(err)
		}
		lines, err := os.ReadFile(filepath.Join(folder, "decisions-00000001.jsonl"))
		if err != nil || !bytes.Contains(lines, []byte(r.ID)) {
			t.Fatalf("the outcome of %s was accepted before the decision was written: %v", r.ID, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if list, log := readAll(t, folder); len(list) != 20 || log.Counts().Outcomes != 20 {
		t.Errorf("%d decisions, %+v", len(list), log.Counts())
	}
}

// Sampling keeps the same ids in every run, about as many as it says, and states the probability.
func TestSample(t *testing.T) {
	p := testPolicy(2, 2, 8)
	s := quick()
	s.Sample, s.Features = 0.25, DigestFeatures
	rng := rand.New(rand.NewPCG(1, 1))
	records := make([]*Record, 2000)
	for n := range records {
		records[n] = testRecord(rng, &p)
	}
	var first []Decision
	for range 2 {
		folder := t.TempDir()
		w := openTest(t, folder, s, p)
		for _, r := range records {
			if err := w.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		out := 0
		for _, r := range records {
			var unknown *UnknownError
			if _, err := w.Outcome(Outcome{ID: r.ID, Label: "l"}); errors.As(err, &unknown) && unknown.Sampled {
				out++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		list, _ := readAll(t, folder)
		if n := len(list); n < 420 || n > 580 || w.Stats().Sampled != int64(2000-n) || out != 2000-n {
			t.Fatalf("%d of 2000 are kept: %+v", n, w.Stats())
		}
		for n, d := range list {
			if d.Keep != 0.25 || d.Features != nil || d.FeaturesDigest == "" || first != nil && first[n].ID != d.ID {
				t.Fatalf("%+v", d.Record)
			}
		}
		first = list
	}
}

// Old segments are removed by size and by age, with the outcomes of their decisions. A clock that jumps removes nothing.
func TestRetention(t *testing.T) {
	folder, p := t.TempDir(), testPolicy(2, 2, 64)
	s := quick()
	s.SegmentBytes = 1 << 14
	w := openTest(t, folder, s, p)
	rng := rand.New(rand.NewPCG(1, 1))
	now := time.Now()
	var ids []string
	for n := range 200 {
		r := testRecord(rng, &p)
		r.ID = newID(now.Add(time.Duration(n-200) * time.Hour))
		r.Time = now.Add(time.Duration(n-200) * time.Hour).UnixMicro()
		if n == 150 {
			r.Time = now.Add(1e6 * time.Hour).UnixMicro() // one record of a clock that jumped ahead keeps its segment
		}
		ids = append(ids, r.ID)
		if err := w.Add(r); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Outcome(Outcome{ID: r.ID, Label: "l"}); err != nil {
			t.Fatal(err)
		}
		if n%10 == 9 {
			waitFor(t, w, "written", func(s Stats) bool { return s.Queued == 0 })
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	before, _ := listSegments(folder, decisions)
	s.KeepAge = 100 * time.Hour
	w = openTest(t, folder, s, p)
	waitFor(t, w, "removed", func(s Stats) bool { return s.Removed > 0 })
	if _, err := w.Outcome(Outcome{ID: ids[0], Label: "l"}); !errors.As(err, new(*UnknownError)) {
		t.Errorf("an outcome of a removed decision: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	list, l := readAll(t, folder)
	if len(list) < 100 || len(list) > 130 || list[len(list)-1].ID != ids[199] || l.Counts().Outcomes != len(list) {
		t.Errorf("%d records of %d segments are left: %+v", len(list), len(before), l.Counts())
	}
	s.KeepAge, s.KeepBytes = 0, 1
	w = openTest(t, folder, s, p)
	waitFor(t, w, "empty", func(s Stats) bool { return s.Segments == 0 })
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// A clock that is set back loses nothing: decisions of before and after, their outcomes, and segments that only a clock that
// was ahead at the start of the writer calls old.
func TestClockIsSetBack(t *testing.T) {
	folder, p := t.TempDir(), testPolicy(2, 2, 8)
	s := quick()
	s.SegmentBytes, s.KeepAge = 1<<13, 24*time.Hour
	w := openTest(t, folder, s, p)
	w.recent = recent{} // so that every id is looked up
	rng := rand.New(rand.NewPCG(5, 5))
	now := time.Now()
	var ids []string
	for n := range 200 {
		at := now.Add(-time.Duration(n*n%997) * time.Minute) // it jumps to and fro within 17 hours
		r := testRecord(rng, &p)
		r.ID, r.Time = newID(at), at.UnixMicro()
		ids = append(ids, r.ID)
		if err := w.Add(r); err != nil {
			t.Fatal(err)
		}
		if n%10 == 9 {
			waitFor(t, w, "written", func(s Stats) bool { return s.Queued == 0 })
		}
		of := ids[rng.IntN(len(ids))]
		if again, err := w.Outcome(Outcome{ID: of, Time: at.Add(-time.Hour).UnixMicro(), Label: "l"}); err != nil {
			t.Fatal(again, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	newest := &span{Last: now.UnixMicro()}
	for _, start := range []time.Time{now.Add(365 * 24 * time.Hour), now.Add(-365 * 24 * time.Hour)} {
		if w := (&Writer{start: start, settings: s}); w.tooOld(newest) {
			t.Errorf("with a clock of %s at the start, a new segment is old", start)
		}
	}
	list, l := readAll(t, folder)
	outcomes := func(list []Decision) (n int64) {
		for _, d := range list {
			if d.Outcome != nil {
				n++
			}
		}
		return n
	}
	if len(list) != 200 || outcomes(list) != w.Stats().Outcomes || l.Counts().Unmatched != 0 || l.Counts().Conflicts != 0 {
		t.Errorf("%d decisions, %d outcomes of %d, %+v", len(list), outcomes(list), w.Stats().Outcomes, l.Counts())
	}
}

// A score that is not from 0 to 1 and a loss beyond float32, or beyond the limit, are refused. Limits themselves are taken.
func TestOutcomesOutOfRange(t *testing.T) {
	folder, p := t.TempDir(), testPolicy(2, 2, 8)
	s := quick()
	s.MaxLoss = 100
	w := openTest(t, folder, s, p)
	defer w.Close()
	rng := rand.New(rand.NewPCG(5, 5))
	for _, c := range []struct {
		o    Outcome
		want bool
	}{
		{Outcome{Score: number(5)}, false},
		{Outcome{Score: number(-1)}, false},
		{Outcome{Score: number(math.Nextafter(1, 2))}, false},
		{Outcome{Score: number(1)}, true},
		{Outcome{Score: number(0)}, true},
		{Outcome{Score: number(math.Copysign(0, -1))}, true},
		{Outcome{Loss: number(1e308)}, false},
		{Outcome{Loss: number(-100.5)}, false},
		{Outcome{Loss: number(100)}, true},
		{Outcome{Loss: number(-100)}, true},
	} {
		r := testRecord(rng, &p)
		if err := w.Add(r); err != nil {
			t.Fatal(err)
		}
		c.o.ID = r.ID
		_, err := w.Outcome(c.o)
		if c.want != (err == nil) || !c.want && !errors.As(err, new(*RecordError)) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

// 0 and -0 state the same.
func TestSignOfZero(t *testing.T) {
	folder, p := t.TempDir(), testPolicy(2, 2, 8)
	w := openTest(t, folder, quick(), p)
	defer w.Close()
	r := testRecord(rand.New(rand.NewPCG(6, 6)), &p)
	if err := w.Add(r); err != nil {
		t.Fatal(err)
	}
	for n, v := range []float64{0, math.Copysign(0, -1)} {
		if again, err := w.Outcome(Outcome{ID: r.ID, Score: &v}); err != nil || again != (n == 1) {
			t.Errorf("score %v: %t, %v", v, again, err)
		}
	}
}

// An outcome of a decision that this run has written and removed is refused, as after a restart. Those that are left, in
// whatever form, and the one that waits in the queue still take outcomes.
func TestOutcomeOfRemoved(t *testing.T) {
	folder, p, rng := t.TempDir(), testPolicy(2, 2, 64), rand.New(rand.NewPCG(1, 1))
	s := quick()
	s.SegmentBytes, s.KeepBytes = 1<<14, 1<<15
	w := openTest(t, folder, s, p)
	var ids []string
	add := func() {
		t.Helper()
		r := testRecord(rng, &p)
		ids = append(ids, r.ID)
		if err := w.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	for w.Stats().Removed == 0 {
		for range 10 {
			add()
		}
		waitFor(t, w, "written", func(s Stats) bool { return s.Queued == 0 && s.Unfinished == 0 })
	}
	add()
	tell := func(id string) error {
		_, err := w.Outcome(Outcome{ID: id, Label: "l"})
		return err
	}
	if err := tell(ids[len(ids)-1]); err != nil {
		t.Errorf("an outcome of the last decision: %v", err)
	}
	waitFor(t, w, "written", func(s Stats) bool { return s.Queued == 0 && s.Unfinished == 0 })
	left := func() map[string]bool {
		list, _ := readAll(t, folder)
		out := map[string]bool{}
		for _, d := range list {
			out[d.ID] = true
		}
		return out
	}
	before := left()
	told := map[string]error{}
	for _, id := range ids {
		told[id] = tell(id)
	}
	after := left() // the last removal may still go on
	if before[ids[0]] || len(after) < 2 {
		t.Fatalf("%d and then %d decisions of %d are left", len(before), len(after), len(ids))
	}
	for _, id := range ids {
		switch err := told[id]; {
		case after[id] && err != nil:
			t.Errorf("an outcome of a decision that is left: %v", err)
		case !before[id] && !errors.As(err, new(*UnknownError)):
			t.Errorf("an outcome of a removed decision: %v", err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
