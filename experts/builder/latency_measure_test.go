package builder

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/internal/storage"
)

// TestKilledLatencyBuildsResumeToTheSameBytes kills builds that share a folder of experts, where the times are.
func TestKilledLatencyBuildsResumeToTheSameBytes(t *testing.T) {
	w := newWorld(t, 160)
	w.cfg.Latency = part.LatencyConfig{FeePerSecond: 1, Instances: 2, Repeats: 1}
	killRepeatedly(t, child{Config: w.cfg, Dir: w.dir, Experts: filepath.Join(w.dir, "experts"), Delay: 5 * time.Millisecond}, 10)
}

// TestKilledMeasuringLeavesOneRecord kills builds that have no times yet, and compares the fees of what they leave with
// the record.
func TestKilledMeasuringLeavesOneRecord(t *testing.T) {
	w := newWorld(t, 24)
	w.cfg.Latency = part.LatencyConfig{FeePerSecond: 1, Instances: 4, Repeats: 3}
	c := child{Config: w.cfg, Dir: w.dir, Delay: 2 * time.Millisecond}
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		c.Out = filepath.Join(t.TempDir(), "killed.parquet")
		cmd := c.start(t)
		time.AfterFunc(time.Duration(20+60*round)*time.Millisecond, func() { cmd.Process.Kill() })
		_ = cmd.Wait()
		if err := c.start(t).Wait(); err != nil {
			t.Fatal(err)
		}
		tensor, err := costs.Read(t.Context(), storage.File(c.Out), costs.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		seconds := recordedLatency(t, filepath.Join(filepath.Dir(c.Out), "experts"))[0].Seconds
		for n := range tensor.Len() {
			if got := tensor.Fee[n*4]; got == 0 || got != float32(seconds) {
				t.Fatalf("round %d: instance %d has the fee %v, the record says %v seconds", round, n, got, seconds)
			}
		}
	}
}

// recordedLatency reads the one record in a folder of experts.
func recordedLatency(t *testing.T, folder string) []PairLatency {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "latency-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("records %q, %v", files, err)
	}
	var r latencyRecord
	if err := json.Unmarshal([]byte(readBytes(t, files[0])), &r); err != nil || len(r.Pairs) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	return r.Pairs
}

// bulky is a source with a limit on the rows that are loaded together.
type bulky struct {
	part.Source
	most int
}

func (s bulky) Fit(rows []int) int { return min(s.most, len(rows)) }

// TestLatencyIsMeasuredOnWhatFits: fewer rows where memory does not hold as many, still from all over the source.
func TestLatencyIsMeasuredOnWhatFits(t *testing.T) {
	p := newWorld(t, 48).plan(t)
	p.cfg.Latency.Instances = 16
	all := p.measured()
	p.Source = bulky{p.Source, 4}
	if got := p.measured(); len(all) != 16 || !slices.Equal(got, []int{0, 12, 24, 36}) {
		t.Errorf("%v, and %v where four fit", all, got)
	}
}

// TestTimesBelongToTheirInputs: other images, experts, advice or numbers of repeats are measured anew; another price or
// another loss is not.
func TestTimesBelongToTheirInputs(t *testing.T) {
	w, _ := latencyWorld(t)
	p := w.plan(t)
	key := p.latencyKey()
	for _, name := range []string{"images", "runtime", "settings of " + part.ExpertName(p.Experts[0].Name), "settings of " + part.AdviceName(p.cfg.Advice[0].Name), "settings of instances"} {
		was := p.Inputs[name]
		p.Inputs[name] = "other"
		if p.latencyKey() == key {
			t.Errorf("another %s is not noticed", name)
		}
		p.Inputs[name] = was
		if was == "" {
			delete(p.Inputs, name)
		}
	}
	for _, change := range []func(c *part.LatencyConfig){func(c *part.LatencyConfig) { c.Instances++ }, func(c *part.LatencyConfig) { c.Repeats++ }} {
		was := p.cfg.Latency
		change(&p.cfg.Latency)
		if p.latencyKey() == key {
			t.Errorf("%+v is not noticed", p.cfg.Latency)
		}
		p.cfg.Latency = was
	}
	p.cfg.Latency.FeePerSecond = 2
	p.Inputs["settings of task_loss"] = "other"
	if p.latencyKey() != key {
		t.Error("a price or a loss changes times")
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{{[]float64{5}, 5}, {[]float64{9, 1, 4}, 4}, {[]float64{1, 1, 7, 8}, 7}} {
		if got := median(c.of); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.of, got, c.want)
		}
	}
}
