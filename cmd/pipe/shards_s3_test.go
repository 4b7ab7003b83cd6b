package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "pipe/cloud" // the program under test is this binary
	"pipe/cloud/cloudtest"
	"pipe/experts/chat/chattest"
	"pipe/pipeline/exitcode"
)

// A build in a bucket: workers share it, one is killed, the service refuses one request of twenty, and the gathered object
// has the bytes of a local run. Nothing secret is printed.
func TestShardsInABucket(t *testing.T) {
	if testing.Short() {
		t.Skip("runs of separate processes, in which the race detector finds nothing new")
	}
	for name, value := range cloudtest.Environment() {
		t.Setenv(name, value)
	}
	s3 := cloudtest.NewS3(t)
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(1, 2))
	s3.Fail(func(*http.Request) int {
		mu.Lock()
		defer mu.Unlock()
		if dice.IntN(20) == 0 {
			return http.StatusServiceUnavailable
		}
		return 0
	})
	server := chattest.NewServer(t)
	server.Delay = 10 * time.Millisecond
	folder := paidFiles(t, server.Base(), 120)
	costsIn(t, folder, "local.parquet").succeeds(t)
	_, distinct := server.Answers()

	out := s3.URL("run", "costs.parquet")
	shard := func(which string) *program {
		return costsIn(t, folder, out, "--shards", "4", "--shard", which, "--lease", "3s", "--budget", "10")
	}
	killed, other := shard("next"), shard("next")
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if all, _ := server.Answers(); all > distinct+30 {
			break
		}
	}
	if killed.Process.Signal(syscall.SIGKILL) != nil {
		t.Fatalf("it has ended before: %s", killed.stderr.String())
	}
	<-killed.ended
	other.succeeds(t)
	gather := costsIn(t, folder, out, "--shards", "4", "--gather")
	gather.succeeds(t)
	if text := gather.stderr.String() + other.stderr.String(); strings.Contains(text, "secret") || strings.Contains(text, "endpoint=") {
		t.Errorf("printed: %s", text)
	}
	if all, _ := server.Answers(); all > 2*distinct+8 {
		t.Errorf("%d answers to %d requests, twice", all, distinct)
	}
	if got := object(t, s3, "run/costs.parquet"); !bytes.Equal(got, readAll(t, filepath.Join(folder, "local.parquet"))) {
		t.Error("the object has other bytes than the local file")
	}
	missing := strings.Replace(out, cloudtest.Bucket, "no-such-bucket", 1)
	p := costsIn(t, folder, missing, "--shards", "4", "--shard", "0")
	if <-p.ended; p.ProcessState.ExitCode() == exitcode.OK || strings.Count(p.stderr.String(), "pipe: error:") != 1 || !strings.Contains(p.stderr.String(), "no-such-bucket") {
		t.Errorf("a missing bucket: %s", p.stderr.String())
	}
}

// object reads an object of the bucket over HTTP.
func object(t *testing.T, s3 *cloudtest.S3, name string) []byte {
	t.Helper()
	s3.Fail(nil)
	r, err := http.Get(s3.Endpoint + "/" + cloudtest.Bucket + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r.Status, err)
	}
	return b
}
