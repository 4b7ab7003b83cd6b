package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestCounts checks that the figures are those of a server that counts.
func TestCounts(t *testing.T) {
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := served.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), `"policy": "p"`) || r.Header.Get("X-Test") != "1" {
			t.Errorf("%s, %v, %v", body, r.Header, err)
		}
		switch n % 4 {
		case 0:
			http.Error(w, strings.Repeat("too many requests ", 20), http.StatusTooManyRequests)
		case 1: // in chunks
			fmt.Fprint(w, strings.Repeat("x", 5000))
			w.(http.Flusher).Flush()
			fmt.Fprint(w, "y")
		case 2:
			w.Header().Set("Connection", "close")
			fmt.Fprint(w, "z")
		}
	}))
	defer server.Close()
	o, _, err := parse([]string{
		"-url", server.URL + "/x?y=1", "-features", "3", "-rows", "2", "-with", `"policy": "p"`, "-H", "X-Test: 1", "-c", "3", "-for", "300ms", "-warm", "0s",
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := run(o)
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Status["200"] + r.Status["429"]; n != r.Requests || int64(n) > served.Load() || int64(n) < served.Load()-3 || len(r.Failed) > 0 {
		t.Errorf("%+v, the server served %d", r, served.Load())
	}
	if share := float64(r.Status["429"]) / float64(r.Requests); share < 0.2 || share > 0.3 {
		t.Errorf("a share of %.2f was 429, want 0.25", share)
	}
	if len(r.Error) != 300 || !strings.HasPrefix(r.Error, "too many requests ") {
		t.Errorf("the error is %q", r.Error)
	}
	if !(r.P50 > 0 && r.P50 <= r.P99 && r.P99 <= r.Max && r.Max < 300) {
		t.Errorf("times %+v", r)
	}
}

// TestRate checks that a server which stalls is charged for all requests that were due.
func TestRate(t *testing.T) {
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if served.Add(1) == 10 {
			time.Sleep(200 * time.Millisecond)
		}
	}))
	defer server.Close()
	o, _, err := parse([]string{"-url", server.URL, "-method", "GET", "-c", "1", "-rate", "200", "-for", "500ms", "-warm", "0s"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := run(o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests < 95 || r.Requests > 101 {
		t.Errorf("%d requests at 200 per second in 0.5 s", r.Requests)
	}
	if r.P90 < 20 { // 40 requests were due in the stall
		t.Errorf("p90 is %.1f ms although a fifth of a second passed without answers", r.P90)
	}
}

func TestFlags(t *testing.T) {
	bodies := filepath.Join(t.TempDir(), "bodies")
	if err := os.WriteFile(bodies, []byte("{\"a\": 1}\n\n{\"a\": 2}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	o, _, err := parse([]string{"-url", "http://127.0.0.1:1/", "-bodies", bodies})
	if err != nil || len(o.bodies) != 2 || string(o.bodies[1]) != `{"a": 2}` {
		t.Errorf("%q, %v", o.bodies, err)
	}
	binary := []byte("{}\x00\r\n\x01")
	if err := os.WriteFile(bodies, binary, 0o666); err != nil {
		t.Fatal(err)
	}
	o, _, err = parse([]string{"-url", "http://127.0.0.1:1/x", "-body", bodies, "-H", "content-type: application/octet-stream"})
	if err != nil {
		t.Fatal(err)
	}
	want := "POST /x HTTP/1.1\r\nHost: 127.0.0.1:1\r\nUser-Agent: pipe-load\r\nContent-Length: 6\r\ncontent-type: application/octet-stream\r\n\r\n" + string(binary)
	if sent := prepare(o); len(sent) != 1 || string(sent[0]) != want {
		t.Errorf("%q is sent, want %q", sent, want)
	}
	for _, args := range [][]string{
		{"-url", "http://x/", "-body", bodies, "-bodies", bodies},
		{"-url", "http://x/", "-body", "nope"},
		{"-url", "https://x/"},
		{"-url", "http://x/", "-c", "0"},
		{"-url", "http://x/", "-for", "2h"},
		{"-url", "http://x/", "-rate", "-1"},
		{"-url", "http://x/", "-bodies", "nope"},
	} {
		if _, _, err := parse(args); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}
