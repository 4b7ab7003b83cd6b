package scaletest

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	_ "pipe/cloud" // s3://
	"pipe/cmd/pipe-beam/job"
	"pipe/pipeline/shards"
)

// TestOverhead measures what a runner costs: empty shards, and the CIFAR-10 costs against a local run, all in one sitting. It fails only where a run does.
func TestOverhead(t *testing.T) {
	need(t, "full")
	w := newWorld(t)
	const n = 40
	check := func(name string, flags ...string) {
		for i := range 3 {
			work := fmt.Sprintf("%s-%d", name, i)
			took := w.run("pipe-beam", append([]string{"check", "--quiet", "--shards", fmt.Sprint(n), "--work", w.s3.URL("work", work)}, flags...)...)
			t.Logf("%d empty shards on %s: %.2f s, %.0f ms a shard; %s", n, name, took.Seconds(), took.Seconds()*1000/n, w.requests())
		}
	}
	check("prism")
	check("flink", "--runner", "flink", "--endpoint", "localhost:18099", "--parallelism", "2")
	for i := range 3 {
		t.Logf("%d empty shards by one plain worker: %.2f s; %s", n, w.plainCheck(fmt.Sprintf("plain-%d", i), n).Seconds(), w.requests())
	}
	config := w.cifar()
	out := func(name string) string { return filepath.Join(w.folder, name+".parquet") }
	local := w.run("pipe", "costs", "--quiet", "--threads", "1", "--config", config, "--out", out("local"))
	whole := w.run("pipe", "costs", "--quiet", "--config", config, "--out", out("local2"))
	cut := []string{"costs", "--quiet", "--threads", "1", "--config", config, "--out", out("plain"), "--shards", "20", "--work", filepath.Join(w.folder, "plain")}
	plain := w.run("pipe", append(cut, "--shard", "next")...) + w.run("pipe", append(cut, "--gather")...)
	flink := w.run("pipe-beam", append([]string{"costs", "--quiet", "--config", config, "--out", out("flink"), "--shards", "20"}, w.onFlink("ratio")...)...)
	prism := w.run("pipe-beam", "costs", "--quiet", "--threads", "1", "--config", config, "--out", out("prism"), "--shards", "20", "--work", w.s3.URL("work", "prism"))
	w.same(out("local"), out("plain"))
	w.same(out("local"), out("flink"))
	w.same(out("local"), out("prism"))
	t.Logf("costs of CIFAR-10, 20 shards: local %.1f s (%.1f s with --threads 0), plain shards %.2f times that, Flink %.2f, prism %.2f",
		local.Seconds(), whole.Seconds(), plain.Seconds()/local.Seconds(), flink.Seconds()/local.Seconds(), prism.Seconds()/local.Seconds())
}

// plainCheck runs empty shards in this process.
func (w *world) plainCheck(work string, n int) time.Duration {
	w.Helper()
	start := time.Now()
	s, err := job.Stages()["check"](context.Background(), fmt.Appendf(nil, `{"Shards": %d}`, n))
	if err != nil {
		w.Fatal(err)
	}
	p, err := shards.Open(w.Context(), s, shards.Default(w.s3.URL("work", work)))
	if err != nil {
		w.Fatal(err)
	}
	if _, err := p.Next(w.Context()); err != nil {
		w.Fatal(err)
	}
	return time.Since(start)
}
