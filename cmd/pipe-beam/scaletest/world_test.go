package scaletest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pipe/cloud/cloudtest"
	"pipe/experts/chat/chattest"
	"pipe/internal/storage"
	"pipe/tools/flink/cluster"
)

// form is the form of the proofs: "" for none, small or full.
var form = os.Getenv("PIPE_SCALE")

// need skips a test where its form is not asked for.
func need(t *testing.T, wanted string) {
	t.Helper()
	if form == "" || wanted == "full" && form != "full" {
		t.Skip("part of make scale")
	}
}

// world is what a proof runs in: a cluster, a bucket and a paid service.
type world struct {
	*testing.T
	flink  *cluster.Cluster
	s3     *cloudtest.S3
	chat   *chattest.Server
	folder string
}

// newWorld starts everything. The environment of the processes is that of the test.
func newWorld(t *testing.T) *world {
	t.Helper()
	for name, value := range cloudtest.Environment() {
		t.Setenv(name, value)
	}
	w := &world{T: t, s3: cloudtest.NewS3(t), chat: chattest.NewServer(t), folder: t.TempDir()}
	t.Setenv("CHAT", w.chat.Base())
	t.Setenv("CHAT_KEY", "a-key-of-the-tests")
	t.Setenv(storage.CacheVariable, filepath.Join(w.folder, "cache")) // or a test would find what an earlier one has copied
	folder := filepath.Join(w.folder, "flink")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	c, err := cluster.Start(t.Context(), cluster.Options{Jars: os.Getenv("PIPE_FLINK_JARS"), Folder: folder, TaskManagers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	t.Logf("a Flink cluster with two TaskManagers and a job server was up in %.1f s", time.Since(start).Seconds())
	w.flink = c
	return w
}

// faulty has S3 answer 503 to 5% of the requests.
func (w *world) faulty() {
	w.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	mu := make(chan struct{}, 1)
	w.s3.Fail(func(*http.Request) int {
		mu <- struct{}{}
		defer func() { <-mu }()
		if r.IntN(20) == 0 {
			return http.StatusServiceUnavailable
		}
		return 0
	})
	w.Cleanup(func() { w.s3.Fail(nil) })
}

// command is a program of bin/, which the test ends if it is still running.
func (w *world) command(name string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	w.Helper()
	c := exec.CommandContext(w.Context(), filepath.Join(os.Getenv("PIPE_BIN"), name), args...)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	return c, &said
}

// run runs a program and returns how long it took.
func (w *world) run(name string, args ...string) time.Duration {
	w.Helper()
	c, said := w.command(name, args...)
	start := time.Now()
	if err := c.Run(); err != nil {
		w.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, said)
	}
	return time.Since(start)
}

// together runs a program several times at once.
func (w *world) together(name string, lines ...[]string) {
	w.Helper()
	var running []func()
	for _, args := range lines {
		c, said := w.command(name, args...)
		if err := c.Start(); err != nil {
			w.Fatal(err)
		}
		running = append(running, func() {
			if err := c.Wait(); err != nil {
				w.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, said)
			}
		})
	}
	for _, wait := range running {
		wait()
	}
}

// write writes a file of the test and returns its path.
func (w *world) write(name, text string) string {
	w.Helper()
	path := filepath.Join(w.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
	return path
}

// onFlink are the flags of a run on the cluster with a work folder in the bucket.
func (w *world) onFlink(work string) []string {
	return []string{"--runner", "flink", "--endpoint", cluster.Endpoint, "--parallelism", "2", "--work", w.s3.URL("work", work), "--lease", "5s", "--threads", "1"}
}

// same compares two files.
func (w *world) same(want, got string) {
	w.Helper()
	a, err := os.ReadFile(want)
	b, err2 := os.ReadFile(got)
	if err != nil || err2 != nil || !bytes.Equal(a, b) {
		w.Errorf("%s and %s differ (%d and %d bytes, %v, %v)", want, got, len(a), len(b), err, err2)
	}
}

// done counts the finished shards of a work folder by the names that S3 was asked to write.
type done struct{ n atomic.Int64 }

// watch counts commits of shards of a work folder, and calls at with their number.
func (w *world) watch(work string, at func(n int64)) {
	var d done
	w.s3.Fail(func(r *http.Request) int {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/"+work+"/done/") {
			if n := d.n.Add(1); at != nil {
				go at(n)
			}
		}
		return 0
	})
	w.Cleanup(func() { w.s3.Fail(nil) })
}

// requests reports how many requests S3 got since the last call, by method.
func (w *world) requests() string {
	sums := map[string]int{}
	all := w.s3.Requests()
	for _, r := range all {
		sums[r.Method]++
	}
	return fmt.Sprintf("%d requests to S3 (%v)", len(all), sums)
}
