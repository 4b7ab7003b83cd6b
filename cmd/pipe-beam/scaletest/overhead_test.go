package scaletest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	_ "pipe/cloud" // s3://
	"pipe/cmd/pipe-beam/job"
	"pipe/internal/storage/storagetest"
	"pipe/pipeline/shards"
	"pipe/tools/flink/cluster"
)

// TestOverhead measures what a runner costs: empty shards, and the CIFAR-10 costs against local runs, all in one sitting. It fails only
// where a run does, or leaves other bytes than the local run.
func TestOverhead(t *testing.T) {
	need(t, "full")
	w := newWorld(t)
	w.emptyShards()
	w.ratios()
}

// emptyShards runs shards that do nothing. The first job of a cluster starts what later ones find.
func (w *world) emptyShards() {
	w.Helper()
	const n, times = 40, 2
	check := func(name string, flags ...string) {
		for i := range times {
			took := w.run("pipe-beam", append([]string{"check", "--quiet", "--shards", fmt.Sprint(n), "--work", w.s3.URL("work", fmt.Sprint(name, i))}, flags...)...)
			w.Logf("%d empty shards on %s: %.2f s, %.0f ms a shard; %s", n, name, took.Seconds(), took.Seconds()*1000/n, w.requests())
		}
	}
	check("prism")
	check("flink", "--runner", "flink", "--endpoint", cluster.Endpoint, "--parallelism", "2")
	for i := range times {
		w.Logf("%d empty shards by one plain worker: %.2f s; %s", n, w.plainCheck(fmt.Sprintf("plain-%d", i), n).Seconds(), w.requests())
	}
}

// overheadShards are enough for two workers, and have 100 images each.
const overheadShards = 10

// ratios compares the costs of half of CIFAR-10's images by all ways to make them. The machine may be doing other work, which core time shows
// less than wall time, and a local run comes before and after the others.
func (w *world) ratios() {
	w.Helper()
	config := w.halfOfCIFAR()
	args := func(out string) []string {
		return []string{"costs", "--quiet", "--threads", "1", "--config", config, "--out", filepath.Join(w.folder, out+".parquet")}
	}
	cut := func(out string, more ...string) []string {
		return slices.Concat(args(out), []string{"--shards", fmt.Sprint(overheadShards)}, more)
	}
	ways := []struct {
		name string
		do   func()
	}{
		{"local", func() { w.run("pipe", args("local")...) }},
		{"plain shards, one process", func() {
			w.run("pipe", cut("one", "--shard", "next")...)
			w.run("pipe", cut("one", "--gather")...)
		}},
		{"plain shards, two processes", func() {
			w.together("pipe", cut("two", "--shard", "next"), cut("two", "--shard", "next"))
			w.run("pipe", cut("two", "--gather")...)
		}},
		{"prism", func() { w.run("pipe-beam", cut("prism", "--work", w.s3.URL("work", "prism"))...) }},
		{"Flink", func() { w.run("pipe-beam", cut("flink", w.onFlink("ratio")...)...) }},
		{"local again", func() { w.run("pipe", args("again")...) }},
	}
	var wall, core []float64
	for _, way := range ways {
		start, before := time.Now(), w.coreTime()
		way.do()
		wall, core = append(wall, time.Since(start).Seconds()), append(core, (w.coreTime()-before).Seconds())
	}
	last := len(ways) - 1
	local, localCore := (wall[0]+wall[last])/2, (core[0]+core[last])/2
	for i, way := range ways {
		w.Logf("costs of 1,000 images, %d shards, %s: %.1f s, %.2f of local; core time %.1f s, %.2f of local", overheadShards, way.name, wall[i], wall[i]/local, core[i], core[i]/localCore)
	}
	for _, out := range []string{"one", "two", "prism", "flink", "again"} {
		w.same(filepath.Join(w.folder, "local.parquet"), filepath.Join(w.folder, out+".parquet"))
	}
}

// coreTime is that of all programs that this process has started and that have ended, and of the cluster with its workers.
func (w *world) coreTime() time.Duration {
	w.Helper()
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &own); err != nil {
		w.Fatal(err)
	}
	return time.Duration(own.Utime.Nano()+own.Stime.Nano()) + w.flink.CoreTime()
}

// plainCheck runs empty shards in this process.
func (w *world) plainCheck(work string, n int) time.Duration {
	w.Helper()
	start := time.Now()
	s, err := job.Stages()["check"](context.Background(), fmt.Appendf(nil, `{"Shards": %d}`, n))
	if err != nil {
		w.Fatal(err)
	}
	p, err := shards.Open(w.Context(), s, shards.Default(storagetest.At(w, w.s3.URL("work", work))))
	if err != nil {
		w.Fatal(err)
	}
	if _, err := p.Next(w.Context()); err != nil {
		w.Fatal(err)
	}
	return time.Since(start)
}
