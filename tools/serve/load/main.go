// Command load sends one request again and again over a fixed number of connections, each of which waits for the answer
// before it sends the next, and prints how long the answers took, as one line of JSON.
//
//	load -url http://127.0.0.1:8080/v2/models/NAME/infer -body request.json -connections 8 -seconds 5
//
// It writes the same bytes to each connection and reads as little of an answer as it can, so that on a shared machine most of
// the time is the server's. An answer other than 200 is a failure, and the first one is printed.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

type options struct {
	url         *url.URL
	request     []byte
	connections int
	warm, time  time.Duration
}

// report is what is printed. Times are in milliseconds.
type report struct {
	Connections int     `json:"connections"`
	Requests    int     `json:"requests"`
	Failures    int     `json:"failures"`
	PerSecond   float64 `json:"per_second"`
	P50         float64 `json:"p50"`
	P90         float64 `json:"p90"`
	P99         float64 `json:"p99"`
	Max         float64 `json:"max"`
	Failure     string  `json:"failure,omitempty"`
}

func main() {
	o, err := parse(os.Args[1:])
	if err == nil {
		var r *report
		if r, err = run(o); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(r)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// headers are those of the flag -header.
type headers []string

func (h *headers) String() string     { return strings.Join(*h, ", ") }
func (h *headers) Set(s string) error { *h = append(*h, s); return nil }

func parse(args []string) (*options, error) {
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	address := f.String("url", "", "what is asked: http://HOST:PORT/PATH")
	body := f.String("body", "", "file with the body of the request")
	connections := f.Int("connections", 1, "connections at the same time")
	seconds := f.Float64("seconds", 5, "how long to measure")
	warm := f.Float64("warm", 1, "how long to send before that, in seconds")
	var more headers
	f.Var(&more, "header", "a header of the request, such as 'Content-Type: application/json'; may be repeated")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	u, err := url.Parse(*address)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" || u.Port() == "" || *connections < 1 || *connections > 10000 || *seconds <= 0 || *seconds > 3600 {
		return nil, errors.New("give -url http://HOST:PORT/PATH, 1 to 10000 -connections and up to 3600 -seconds")
	}
	b, err := os.ReadFile(*body)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", u.RequestURI(), u.Host, len(b))
	for _, h := range more {
		head += h + "\r\n"
	}
	o := &options{url: u, connections: *connections, request: append([]byte(head+"\r\n"), b...)}
	o.warm, o.time = time.Duration(*warm*float64(time.Second)), time.Duration(*seconds*float64(time.Second))
	return o, nil
}

// worker is one connection.
type worker struct {
	o       *options
	times   []time.Duration // of answers within the time of the measurement
	failed  int
	failure string
}

func run(o *options) (*report, error) {
	begin := time.Now().Add(o.warm)
	end := begin.Add(o.time)
	ctx, cancel := context.WithDeadline(context.Background(), end.Add(30*time.Second))
	defer cancel()
	workers := make([]worker, o.connections)
	var wait sync.WaitGroup
	for i := range workers {
		workers[i].o = o
		wait.Go(func() { workers[i].run(ctx, begin, end) })
	}
	wait.Wait()
	r := &report{Connections: o.connections}
	var all []time.Duration
	for _, w := range workers {
		all = append(all, w.times...)
		r.Failures += w.failed
		if r.Failure == "" {
			r.Failure = w.failure
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no answer: %s", r.Failure)
	}
	slices.Sort(all)
	r.Requests, r.PerSecond = len(all), float64(len(all))/o.time.Seconds()
	at := func(p float64) float64 {
		return float64(all[min(len(all)-1, int(p*float64(len(all))))].Microseconds()) / 1000
	}
	r.P50, r.P90, r.P99, r.Max = at(0.5), at(0.9), at(0.99), at(1)
	return r, nil
}

// run sends until the end. A connection that fails is made anew, a few times.
func (w *worker) run(ctx context.Context, begin, end time.Time) {
	for range 100 {
		if err := w.connection(ctx, begin, end); err == nil {
			return
		} else if w.failed++; w.failure == "" {
			w.failure = err.Error()
		}
		if time.Now().After(end) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (w *worker) connection(ctx context.Context, begin, end time.Time) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", w.o.url.Host)
	if err != nil {
		return err
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			return err
		}
	}
	r := bufio.NewReaderSize(c, 1<<16)
	for {
		sent := time.Now()
		if sent.After(end) {
			return nil
		}
		if _, err := c.Write(w.o.request); err != nil {
			return err
		}
		if err := readAnswer(r); err != nil {
			return err
		}
		if now := time.Now(); sent.After(begin) && now.Before(end) {
			w.times = append(w.times, now.Sub(sent))
		}
	}
}

// readAnswer reads an answer that says how long it is.
func readAnswer(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	status := strings.TrimSpace(string(line))
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		text := strings.TrimSpace(string(line))
		if text == "" {
			break
		}
		if name, value, ok := strings.Cut(text, ":"); ok && strings.EqualFold(name, "content-length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return fmt.Errorf("%s: an answer without a length", status)
	}
	if !strings.Contains(status, " 200") {
		b := make([]byte, min(length, 300))
		_, _ = io.ReadFull(r, b) // the status is the error
		return fmt.Errorf("%s: %s", status, b)
	}
	_, err = r.Discard(length)
	return err
}
