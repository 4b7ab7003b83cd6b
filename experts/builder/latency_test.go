package builder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/expert"
	"pipe/experts/kinds"
	"pipe/internal/storage"
)

// paced takes some milliseconds more for every further level of advice, and counts single instances that it is asked for.
type paced struct {
	part.Expert
	alone *atomic.Int64
}

func (e paced) Predict(ctx context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	if len(batch) == 1 {
		e.alone.Add(1)
		for k, level := range shown {
			if level != nil {
				time.Sleep(time.Duration(1+4*k) * time.Millisecond)
			}
		}
	}
	return e.Expert.Predict(ctx, batch, shown)
}

func (e paced) Takes(advice string) bool { return e.Expert.(part.Selective).Takes(advice) }
func (e paced) Metered() bool            { return e.Expert.(part.Metered).Metered() }

// latencyWorld makes time a fee in the small world, whose batches have more than one instance.
func latencyWorld(t *testing.T) (*world, *atomic.Int64) {
	t.Helper()
	alone := &atomic.Int64{}
	w := newWorld(t, 48)
	w.addExpert("precomputed", func(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
		e, err := expert.Kinds()["precomputed"](ctx, s, settings)
		return paced{e, alone}, err
	})
	w.cfg.Latency = part.LatencyConfig{FeePerSecond: 10, Instances: 4, Repeats: 3}
	return w, alone
}

// TestLatencyBecomesAFee: every pair's fee is its seconds times the price beside what the answers' file says, the same
// for all instances, and pairs that take longer cost more.
func TestLatencyBecomesAFee(t *testing.T) {
	w, alone := latencyWorld(t)
	r, tensor := w.mustRun(t)
	if len(r.Latency) != 3 || alone.Load() != 3*(1+3*4) {
		t.Fatalf("%d calls measured %+v", alone.Load(), r.Latency)
	}
	for i, want := range []struct {
		expert, advice string
		atLeast, own   float32
	}{{"both", "none", 0.001, 0}, {"both", "search", 0.005, 0.25}, {"plain", "none", 0.001, 0}} {
		l := r.Latency[i]
		if l.Expert != want.expert || l.Advice != want.advice || float32(l.Seconds) < want.atLeast || l.Fee != 10*l.Seconds {
			t.Errorf("pair %d: %+v, want at least %v seconds", i, l, want.atLeast)
		}
		for n := range tensor.Len() {
			if got := tensor.Fee[n*4+i]; got != want.own+float32(l.Fee) {
				t.Fatalf("instance %d: fee %v for %v and %v", n, got, want.own, l.Fee)
			}
		}
	}
	if r.Latency[1].Seconds <= r.Latency[0].Seconds {
		t.Error("the pair that takes longer is not dearer")
	}
	if tensor.Actions.Digests["latency"] == "" {
		t.Error("the tensor does not tell its latency")
	}
	if again, err := w.run(t.Context()); err != nil || again.Digest != r.Digest {
		t.Errorf("a second run makes other bytes: %+v, %v", again, err)
	}
}

// TestLatencyIsMeasuredOnce stops a build after every shard, starts over, shares the folder of experts, and loses that
// folder: the bytes stay, for nothing is measured again.
func TestLatencyIsMeasuredOnce(t *testing.T) {
	w, alone := latencyWorld(t)
	first := &stopAfter{}
	stopped := 0
	for ; ; stopped++ {
		ctx, cancel := context.WithCancel(context.Background())
		first.stop = func() {
			if alone.Load() == 3*(1+3*4) { // shards have begun
				cancel()
			}
		}
		_, err := Run(ctx, w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Progress: first})
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) || stopped > 20 {
			t.Fatal(err)
		}
		if stopped == 1 {
			files, _ := filepath.Glob(filepath.Join(w.dir, "experts", "latency-*.json"))
			if len(files) != 1 || os.Remove(files[0]) != nil {
				t.Fatalf("files of latency: %q", files)
			}
		}
	}
	measured := alone.Load()
	if stopped < 3 || measured != 3*(1+3*4) {
		t.Fatalf("stopped %d times, %d calls measured", stopped, measured)
	}
	done := readBytes(t, w.out())
	again, err := w.run(context.Background())
	if err != nil || len(again.Latency) != 3 || alone.Load() != measured || readBytes(t, w.out()) != done {
		t.Errorf("a second run: %v, %+v, other bytes: %v", err, again, readBytes(t, w.out()) != done)
	}
	if _, err := Run(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true}); err != nil {
		t.Fatal(err)
	}
	if measured = alone.Load(); measured != 2*3*(1+3*4) {
		t.Fatal("a restart without the file has to measure")
	}
	want := readBytes(t, w.out())
	for name, o := range map[string]Options{
		"restart":            {Kinds: w.allKinds(), Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true},
		"the folder, shared": {Kinds: w.allKinds(), Out: storage.File(filepath.Join(w.dir, "other.parquet")), Dir: storage.File(w.dir)},
	} {
		if _, err := Run(context.Background(), w.cfg, o); err != nil {
			t.Fatal(err)
		}
		if readBytes(t, o.Out.String()) != want || alone.Load() != measured {
			t.Errorf("%s: other bytes, or %d calls measured in all for %d", name, alone.Load(), measured)
		}
	}
}

// TestAnotherPriceOfTimeIsAnotherBuild: the price is an input, and starting over with another one keeps the seconds.
func TestAnotherPriceOfTimeIsAnotherBuild(t *testing.T) {
	w, alone := latencyWorld(t)
	before, _ := w.mustRun(t)
	measured := alone.Load()
	w.cfg.Latency.FeePerSecond = 20
	var changed *ChangedError
	if _, err := w.run(context.Background()); !errors.As(err, &changed) || !strings.Contains(err.Error(), "settings of latency changed") {
		t.Fatalf("got %v", err)
	}
	after, err := Run(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true})
	if err != nil || alone.Load() != measured {
		t.Fatalf("%v, %d calls measured for %d", err, alone.Load(), measured)
	}
	for i := range before.Latency {
		if a, b := after.Latency[i], before.Latency[i]; a.Seconds != b.Seconds || a.Fee != 2*b.Fee {
			t.Errorf("%+v became %+v", b, a)
		}
	}
}

// TestLatencyNeedsSomethingToMeasure: answers from files have no time.
func TestLatencyNeedsSomethingToMeasure(t *testing.T) {
	w := newWorld(t, 12)
	w.cfg.Latency = part.LatencyConfig{FeePerSecond: 1, Instances: 1, Repeats: 1}
	if _, err := w.run(context.Background()); err == nil || !strings.Contains(err.Error(), "latency: no expert can be measured") {
		t.Errorf("got %v", err)
	}
	for _, bad := range []part.LatencyConfig{{FeePerSecond: -1, Instances: 1, Repeats: 1}, {FeePerSecond: 1, Instances: 0, Repeats: 1}, {FeePerSecond: 1, Instances: 1, Repeats: 0}, {FeePerSecond: 1e300, Instances: 1, Repeats: 1}} {
		w.cfg.Latency = bad
		if err := w.cfg.Validate(kinds.Builtin()); err == nil || !strings.Contains(err.Error(), "latency: fee_per_second") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestDamagedTimesAreMeasuredAnew: records that are not the measured times of all pairs.
func TestDamagedTimesAreMeasuredAnew(t *testing.T) {
	w, alone := latencyWorld(t)
	w.mustRun(t)
	files, _ := filepath.Glob(filepath.Join(w.dir, "experts", "latency-*.json"))
	if len(files) != 1 {
		t.Fatalf("files of latency: %q", files)
	}
	whole := readBytes(t, files[0])
	var record latencyRecord
	if err := json.Unmarshal([]byte(whole), &record); err != nil {
		t.Fatal(err)
	}
	change := func(to func(pairs []PairLatency) []PairLatency) string {
		r := record
		r.Pairs = to(slices.Clone(record.Pairs))
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	seconds := func(v float64) string {
		return change(func(p []PairLatency) []PairLatency { p[1].Seconds = v; return p })
	}
	for name, text := range map[string]string{
		"a pair gone":  change(func(p []PairLatency) []PairLatency { return p[1:] }),
		"no pair":      change(func([]PairLatency) []PairLatency { return []PairLatency{} }),
		"a pair twice": change(func(p []PairLatency) []PairLatency { p[0] = p[1]; return p }),
		"negative":     seconds(-1),
		"absurd":       seconds(1e300),
		"infinite":     strings.Replace(seconds(-1), "-1,", "1e400,", 1),
		"cut":          whole[:len(whole)/2],
	} {
		if err := os.WriteFile(files[0], []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		before := alone.Load()
		if _, err := Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if alone.Load() == before {
			t.Errorf("%s: nothing was measured", name)
		}
		if got := recordedLatency(t, filepath.Join(w.dir, "experts")); len(got) != 3 || got[1].Seconds <= 0 || got[1].Seconds > 100 {
			t.Errorf("%s: left %+v", name, got)
		}
	}
}

// TestDamagedTimesOfAnOutput: the manifest's times are those that the rows were made of, and are not made up.
func TestDamagedTimesOfAnOutput(t *testing.T) {
	w, _ := latencyWorld(t)
	w.mustRun(t)
	name := filepath.Join(workFolder(w.out()), manifestName)
	var m manifest
	if err := json.Unmarshal([]byte(readBytes(t, name)), &m); err != nil {
		t.Fatal(err)
	}
	m.Latency[0].Seconds = -1
	b, err := json.Marshal(m)
	if err == nil {
		err = os.WriteFile(name, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.run(t.Context()); err == nil || !strings.Contains(err.Error(), "start over with --restart") {
		t.Errorf("got %v", err)
	}
}

// TestDrawsShareTimes: whether they take rows over or make their own, builds of one folder of experts that differ in the
// split alone tell the same digest of times.
func TestDrawsShareTimes(t *testing.T) {
	w, alone := latencyWorld(t)
	experts, first := filepath.Join(w.dir, "experts"), filepath.Join(w.dir, "draw0.parquet")
	var digests []string
	for draw, reuse := range []string{"", "", first} {
		w.cfg.Split = part.Part{Kind: "stratified", Settings: map[string]any{"seed": draw}}
		out := filepath.Join(w.dir, fmt.Sprintf("draw%d.parquet", draw))
		if _, err := Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(out), Dir: storage.File(w.dir), Experts: storage.File(experts).String(), Reuse: reuse}); err != nil {
			t.Fatal(err)
		}
		tensor, err := costs.Read(t.Context(), storage.File(out), costs.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, tensor.Actions.Digests[latencyPart])
	}
	if digests[0] == "" || digests[1] != digests[0] || digests[2] != digests[0] || alone.Load() != 3*(1+3*4) {
		t.Errorf("digests %q after %d calls", digests, alone.Load())
	}
}
