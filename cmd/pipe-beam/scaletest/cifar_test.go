package scaletest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// cifar is the configuration of the four CIFAR-10 networks, in smaller blocks than usual so that there are shards for everybody.
func (w *world) cifar() string {
	w.Helper()
	root := os.Getenv("PIPE_ROOT")
	text, err := os.ReadFile(filepath.Join(root, "configs", "cifar10-small.yaml"))
	if err != nil {
		w.Fatal(err)
	}
	one := strings.Replace(string(text), "costs:\n", "costs:\n  shard: 50\n", 1)
	return w.write("cifar.yaml", one)
}

// TestCIFAR: the costs of CIFAR-10 on Flink have the bytes of a local run: undisturbed, with a TaskManager killed in the middle, with
// the job server restarted, with an S3 that fails, and with two jobs for the same shards.
func TestCIFAR(t *testing.T) {
	need(t, "small")
	w := newWorld(t)
	config := w.cifar()
	whole := filepath.Join(w.folder, "whole.parquet")
	local := w.run("pipe", "costs", "--quiet", "--threads", "1", "--config", config, "--out", whole)
	t.Logf("local run: %.1f s", local.Seconds())
	if form == "full" {
		w.compare("undisturbed", config, whole, nil)
	}
	w.compare("taskmanager", config, whole, func(n int64) {
		if n == 6 {
			t.Logf("kill -9 of TaskManager 1, in which shards are at work")
			if err := w.flink.KillTaskManager(1); err != nil {
				t.Error(err)
			}
		}
	})
	if err := w.flink.AddTaskManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.compare("jobserver", config, whole, func(n int64) {
		if n == 6 {
			t.Logf("kill -9 of the job server")
			if err := w.flink.RestartJobServer(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	if form != "full" {
		return
	}
	t.Run("failing S3", func(t *testing.T) {
		w.faulty()
		out := filepath.Join(w.folder, "faulty.parquet")
		took := w.run("pipe-beam", append([]string{"costs", "--config", config, "--out", out, "--shards", "20"}, w.onFlink("faulty")...)...)
		w.same(whole, out)
		t.Logf("5%% of requests answered 503: %.1f s, %s", took.Seconds(), w.requests())
	})
	t.Run("twice at once", func(t *testing.T) { w.twice(config, whole) })
	for name, bytes := range w.flink.Memory() {
		t.Logf("memory of %s: %d MB", name, bytes>>20)
	}
}

// halfOfCIFAR is the configuration with a hundred images of every class.
func (w *world) halfOfCIFAR() string {
	w.Helper()
	images := filepath.Join(os.Getenv("PIPE_DATA"), "cifar10", "images")
	classes, err := os.ReadDir(images)
	if err != nil {
		w.Fatal(err)
	}
	list := "path,label\n"
	for _, class := range classes {
		files, err := os.ReadDir(filepath.Join(images, class.Name()))
		if err != nil || len(files) < 100 {
			w.Fatalf("%s has %d images, %v", class.Name(), len(files), err)
		}
		for _, file := range files[:100] {
			list += class.Name() + "/" + file.Name() + "," + class.Name() + "\n"
		}
	}
	text, err := os.ReadFile(w.cifar())
	if err != nil {
		w.Fatal(err)
	}
	return w.write("half.yaml", strings.Replace(string(text), "    kind: images\n", "    kind: images\n    list: "+w.write("half.csv", list)+"\n", 1))
}

// compare runs the costs with something happening at the n-th finished shard, and compares.
func (w *world) compare(name, config, whole string, at func(n int64)) {
	w.Helper()
	w.watch(name, at)
	out := filepath.Join(w.folder, name+".parquet")
	took := w.run("pipe-beam", append([]string{"costs", "--config", config, "--out", out, "--shards", "20"}, w.onFlink(name)...)...)
	w.same(whole, out)
	w.Logf("%s: equal to the local run; %.1f s, %s", name, took.Seconds(), w.requests())
}

// twice starts two jobs and a plain worker for the same shards at the same time.
func (w *world) twice(config, whole string) {
	w.watch("twice", nil)
	first := append([]string{"costs", "--config", config, "--out", filepath.Join(w.folder, "first.parquet"), "--shards", "20"}, w.onFlink("twice")...)
	second := append([]string{"costs", "--config", config, "--out", filepath.Join(w.folder, "second.parquet"), "--shards", "20"}, w.onFlink("twice")...)
	start := time.Now()
	w.together("pipe-beam", first, second)
	w.same(whole, filepath.Join(w.folder, "first.parquet"))
	w.same(whole, filepath.Join(w.folder, "second.parquet"))
	w.Logf("two jobs for the same shards: %.1f s, both equal to the local run; %s", time.Since(start).Seconds(), w.requests())
}
