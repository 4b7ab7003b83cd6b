package scaletest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What an answer of the local service costs: 100 tokens are read and 5 written, at one per million of each.
const price = 105e-6

// inFlight is the concurrency of the service that the configuration allows, for all workers of a job.
const inFlight = 4

// claims is the configuration of claims of FEVER, checked by a paid chat model that is shown passages.
func (w *world) claims() string {
	w.Helper()
	data := os.Getenv("PIPE_DATA")
	index := filepath.Join(w.folder, "pages.bm25")
	w.run("pipe", "index", "--quiet", "--pages", filepath.Join(data, "fever", "wiki-pages-001.jsonl"), "--out", index)
	return w.write("claims.yaml", fmt.Sprintf(`costs:
  shard: 10
  instances: {kind: fever, file: %q, rows: 240, seed: 0}
  labels: [SUPPORTS, REFUTES, NOT ENOUGH INFO]
  split: {validation: 0.25}
  advice:
    - {name: none, kind: none}
    - {name: top-1, fee: 0.015, kind: passages, index: %q, top: 1}
    - {name: top-3, fee: 0.02, kind: passages, index: %q, top: 3}
  experts:
    - {name: mini, fee: 0.03, kind: endpoint, base_url: "${CHAT}", model: mini, key: CHAT_KEY, max_tokens: 8, concurrency: %d, price: {prompt: 1, completion: 1}}
  features:
    - {kind: text, encoder: %q}
`, filepath.Join(data, "fever", "paper_dev.jsonl"), index, index, inFlight, filepath.Join(data, "models", "all-MiniLM-L6-v2")))
}

// served returns how many answers were given since the last call, and how many of them more than once.
func (w *world) served() (all, again int) {
	for _, n := range w.chat.TakeServed() {
		all, again = all+n, again+n-1
	}
	return all, again
}

// costs are the arguments of a run on the claims.
func (w *world) costs(config, work string, more ...string) []string {
	return append(append([]string{"costs", "--config", config, "--out", filepath.Join(w.folder, work+".parquet"), "--shards", "12", "--workers", "2"}, w.onFlink(work)...), more...)
}

// TestPaid: with a paid expert, the costs have the bytes of a local run, no answer is paid twice but for those that were in flight when a
// worker was killed, and the budget is never exceeded.
func TestPaid(t *testing.T) {
	need(t, "small")
	w := newWorld(t)
	w.chat.Delay = 20 * time.Millisecond
	config := w.claims()
	whole := filepath.Join(w.folder, "whole.parquet")
	local := w.run("pipe", "costs", "--quiet", "--threads", "1", "--config", config, "--out", whole)
	want, again := w.served()
	t.Logf("local run: %.1f s, %d answers", local.Seconds(), want)
	if again > 0 {
		t.Errorf("the local run paid %d answers twice", again)
	}
	w.killedPaid(config, whole, want)
	w.budget(config, whole, want)
	if form == "full" {
		w.faultyPaid(config, whole, want)
		w.twicePaid(config, whole, want)
	}
}

// killedPaid kills a TaskManager in the middle.
func (w *world) killedPaid(config, whole string, want int) {
	w.Helper()
	w.watch("paid", func(n int64) {
		if n == 4 {
			if err := w.flink.KillTaskManager(1); err != nil {
				w.Error(err)
			}
		}
	})
	took := w.run("pipe-beam", w.costs(config, "paid", "--budget", "1")...)
	w.s3.Fail(nil)
	w.same(whole, filepath.Join(w.folder, "paid.parquet"))
	all, again := w.served()
	if most := w.chat.Most(); all-again != want || again > most {
		w.Errorf("%d answers were paid, %d of them again, where %d were needed and at most %d were in flight", all, again, want, most)
	}
	w.Logf("TaskManager killed: equal to the local run; %.1f s, %d answers, %d paid again; at most %d requests were in flight", took.Seconds(), all, again, w.chat.Most())
	if err := w.flink.AddTaskManager(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// budget runs with half of the money that is needed, and then with enough.
func (w *world) budget(config, whole string, want int) {
	w.Helper()
	half := price * float64(want) / 2
	c, said := w.command("pipe-beam", w.costs(config, "budget", "--budget", fmt.Sprint(half))...)
	if err := c.Run(); err == nil || !strings.Contains(said.String(), "budget") {
		w.Errorf("half of the budget: %v, %s", err, said)
	}
	all, again := w.served()
	if spent := price * float64(all); spent > half || again > 0 {
		w.Errorf("%g of a budget of %g was spent, and %d answers were paid twice", spent, half, again)
	}
	w.Logf("budget of %.4f: stopped after %d answers, %.4f", half, all, price*float64(all))
	w.Logf("the error: %s", strings.TrimSpace(said.String()))
	enough := price * float64(want) * 1.5
	w.run("pipe-beam", w.costs(config, "budget", "--budget", fmt.Sprint(enough))...)
	w.same(whole, filepath.Join(w.folder, "budget.parquet"))
	rest, again := w.served()
	if all+rest != want || again > 0 {
		w.Errorf("%d answers before the budget was raised and %d after, %d of them twice, where %d are needed", all, rest, again, want)
	}
	w.Logf("budget of %.4f: finished with %d more answers", enough, rest)
}

// faultyPaid has S3 fail.
func (w *world) faultyPaid(config, whole string, want int) {
	w.Helper()
	w.faulty()
	w.run("pipe-beam", w.costs(config, "faulty", "--budget", "1")...)
	w.s3.Fail(nil)
	w.same(whole, filepath.Join(w.folder, "faulty.parquet"))
	if all, again := w.served(); all != want || again > 0 {
		w.Errorf("failing S3: %d answers, %d of them twice, where %d are needed", all, again, want)
	}
}

// twicePaid runs two jobs for the same shards at the same time.
func (w *world) twicePaid(config, whole string, want int) {
	w.Helper()
	w.watch("twice", nil)
	a, saidA := w.command("pipe-beam", w.costs(config, "twice", "--budget", "1")...)
	other := w.costs(config, "twice", "--budget", "1")
	other[4] = filepath.Join(w.folder, "twice-other.parquet")
	b, saidB := w.command("pipe-beam", other...)
	if err := a.Start(); err != nil {
		w.Fatal(err)
	}
	if err := b.Start(); err != nil {
		w.Fatal(err)
	}
	if err := a.Wait(); err != nil {
		w.Errorf("%v: %s", err, saidA)
	}
	if err := b.Wait(); err != nil {
		w.Errorf("%v: %s", err, saidB)
	}
	w.same(whole, filepath.Join(w.folder, "twice.parquet"))
	w.same(whole, other[4])
	all, again := w.served()
	if all != want {
		w.Errorf("two jobs: %d answers, %d of them again, where %d are needed", all, again, want)
	}
	w.Logf("two jobs for the same shards at once: %d answers, none paid again", all)
}
