// Command load sends requests to an HTTP server and says how many it answers per second, and how long answers take. It
// spends little time itself, so that it can share the cores of the server that it measures.
//
//	go run ./tools/load -url http://127.0.0.1:8080/v1/decide -features 384 -c 8 -for 10s
//	go run ./tools/load -url http://127.0.0.1:8080/v2/models/m/infer -bodies requests.jsonl -c 64 -rate 2000
//	go run ./tools/load -url http://127.0.0.1:8080/v2/models/m/infer -body request.bin -H 'Inference-Header-Content-Length: 104'
//
// Without -rate every connection sends its next request when it has the answer to the last one. With -rate requests have
// fixed times, and an answer's time counts from the time at which its request was due, so that a server which stalls does
// not make its figures better.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The most of everything, so that a mistyped figure does not stop the machine.
const (
	mostConnections = 20000
	mostTime        = time.Hour
	mostBodies      = 1 << 30 // bytes
)

type options struct {
	url         *url.URL
	method      string
	headers     []string
	bodies      [][]byte
	connections int
	length      time.Duration
	warm        time.Duration
	rate        float64
}

func main() {
	o, asJSON, err := parse(os.Args[1:])
	if err == nil {
		var r *report
		if r, err = run(o); err == nil {
			err = r.write(os.Stdout, asJSON)
		}
	}
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// parse reads the flags.
func parse(args []string) (o options, asJSON bool, err error) {
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	address := f.String("url", "", "where requests go: http://HOST:PORT/PATH")
	f.StringVar(&o.method, "method", "POST", "of the requests")
	f.Func("H", "a header, NAME: VALUE; may be repeated", func(s string) error { o.headers = append(o.headers, s); return nil })
	file := f.String("bodies", "", "a file with one body per line, which are sent in turn")
	whole := f.String("body", "", "a file with the body of every request, as it is, in place of -bodies")
	width := f.Int("features", 0, "send {\"features\": [...]} of this many random numbers, in place of -bodies")
	rows := f.Int("rows", 1, "rows of features of a request")
	more := f.String("with", "", "further members of such bodies, such as '\"policy\": \"p\", \"top\": 1'")
	f.IntVar(&o.connections, "c", 8, "connections")
	f.DurationVar(&o.length, "for", 5*time.Second, "how long to measure")
	f.DurationVar(&o.warm, "warm", time.Second, "how long to send before measuring")
	f.Float64Var(&o.rate, "rate", 0, "requests per second over all connections; 0: as many as are answered")
	f.BoolVar(&asJSON, "json", false, "print the figures as JSON")
	if err := f.Parse(args); err != nil {
		return o, false, err
	}
	if o.url, err = url.Parse(*address); err != nil || o.url.Scheme != "http" || o.url.Host == "" {
		return o, false, fmt.Errorf("-url %q is not http://HOST:PORT/PATH", *address)
	}
	switch {
	case o.connections < 1 || o.connections > mostConnections:
		return o, false, fmt.Errorf("-c %d is not from 1 to %d", o.connections, mostConnections)
	case o.length <= 0 || o.warm < 0 || o.length+o.warm > mostTime:
		return o, false, fmt.Errorf("-for %v and -warm %v are not up to %v in all", o.length, o.warm, mostTime)
	case !(o.rate >= 0 && o.rate <= 1e7):
		return o, false, fmt.Errorf("-rate %g is not from 0 to 1e7", o.rate)
	case *file != "" && *whole != "":
		return o, false, errors.New("give -body or -bodies, not both")
	case *whole != "":
		var body []byte
		body, err = readFile(*whole)
		o.bodies = [][]byte{body}
	case *file != "":
		o.bodies, err = readBodies(*file)
	case *width > 0 && *rows > 0 && *width**rows <= 1<<20:
		o.bodies = featureBodies(*width, *rows, *more)
	default:
		o.bodies = [][]byte{nil}
	}
	return o, asJSON, err
}

// readFile reads a file that is not too long for the memory.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > mostBodies {
		return nil, fmt.Errorf("%s has more than %d bytes", path, mostBodies)
	}
	return os.ReadFile(path)
}

// readBodies reads one body per line.
func readBodies(path string) ([][]byte, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	var bodies [][]byte
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			bodies = append(bodies, []byte(line))
		}
	}
	if len(bodies) == 0 {
		return nil, fmt.Errorf("%s has no bodies", path)
	}
	return bodies, nil
}

// featureBodies are 64 bodies with rows of numbers like those of sentence encoders.
func featureBodies(width, rows int, more string) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	bodies := make([][]byte, 64)
	for i := range bodies {
		b := []byte(`{"features": [`)
		for row := range rows {
			if row > 0 {
				b = append(b, ", "...)
			}
			b = append(b, '[')
			for c := range width {
				if c > 0 {
					b = append(b, ", "...)
				}
				b = strconv.AppendFloat(b, float64(float32(r.NormFloat64()/20)), 'g', -1, 32)
			}
			b = append(b, ']')
		}
		b = append(b, ']')
		if more != "" {
			b = append(append(b, ", "...), more...)
		}
		bodies[i] = append(b, '}')
	}
	return bodies
}

// report is what was measured. Times are in milliseconds.
type report struct {
	Requests  int            `json:"requests"`
	PerSecond float64        `json:"requests_per_second"`
	MBitIn    float64        `json:"megabits_in_per_second"`
	Mean      float64        `json:"mean_ms"`
	P50       float64        `json:"p50_ms"`
	P90       float64        `json:"p90_ms"`
	P99       float64        `json:"p99_ms"`
	P999      float64        `json:"p99_9_ms"`
	Max       float64        `json:"max_ms"`
	Status    map[string]int `json:"status"`           // answers by status code
	Failed    map[string]int `json:"failed,omitempty"` // requests without an answer, by error
	Error     string         `json:"error,omitempty"`  // the body of the first answer of a connection with status 400 or more, cut
}

// run sends requests and measures.
func run(o options) (*report, error) {
	requests := prepare(o)
	start := time.Now()
	from, until := start.Add(o.warm), start.Add(o.warm+o.length)
	all := make([]connection, o.connections)
	var group sync.WaitGroup
	for i := range all {
		c := &all[i]
		c.host, c.requests, c.next, c.from, c.until = o.url.Host, requests, i, from, until
		if o.rate > 0 {
			c.every = time.Duration(float64(time.Second) * float64(o.connections) / o.rate)
			c.due = start.Add(c.every * time.Duration(i) / time.Duration(o.connections))
		}
		group.Go(c.run)
	}
	group.Wait()
	r := sum(all, o.length)
	if len(r.Status) == 0 {
		return nil, fmt.Errorf("no request was answered: %v", r.Failed)
	}
	return r, nil
}

// prepare writes the requests as they are sent.
func prepare(o options) [][]byte {
	isType := func(h string) bool { return strings.HasPrefix(strings.ToLower(h), "content-type:") }
	typed := slices.ContainsFunc(o.headers, isType)
	requests := make([][]byte, len(o.bodies))
	for i, body := range o.bodies {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: pipe-load\r\n", o.method, o.url.RequestURI(), o.url.Host)
		if body != nil {
			fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
		}
		if body != nil && !typed {
			b.WriteString("Content-Type: application/json\r\n")
		}
		for _, h := range o.headers {
			fmt.Fprintf(&b, "%s\r\n", h)
		}
		b.WriteString("\r\n")
		b.Write(body)
		requests[i] = []byte(b.String())
	}
	return requests
}

// sum adds up the connections.
func sum(all []connection, length time.Duration) *report {
	r := &report{Status: map[string]int{}, Failed: map[string]int{}}
	var times []time.Duration
	total, in := time.Duration(0), 0
	for i := range all {
		c := &all[i]
		times = append(times, c.times...)
		in += c.in
		for status, n := range c.status {
			r.Status[strconv.Itoa(status)] += n
		}
		for text, n := range c.failed {
			r.Failed[text] += n
		}
		if r.Error == "" {
			r.Error = c.refusal
		}
	}
	slices.Sort(times)
	for _, t := range times {
		total += t
	}
	ms := func(t time.Duration) float64 { return float64(t.Microseconds()) / 1000 }
	at := func(p float64) float64 {
		if len(times) == 0 {
			return 0
		}
		return ms(times[min(len(times)-1, int(p*float64(len(times))))])
	}
	r.Requests = len(times)
	r.PerSecond, r.MBitIn = float64(len(times))/length.Seconds(), float64(in)*8e-6/length.Seconds()
	r.Mean = ms(total / time.Duration(max(1, len(times))))
	r.P50, r.P90, r.P99, r.P999, r.Max = at(0.5), at(0.9), at(0.99), at(0.999), at(1)
	return r
}

// write prints the report.
func (r *report) write(f *os.File, asJSON bool) error {
	w := bufio.NewWriter(f)
	if asJSON {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n", text)
		return w.Flush()
	}
	fmt.Fprintf(w, "%d requests, %.0f per second, %.0f Mbit/s in\n", r.Requests, r.PerSecond, r.MBitIn)
	fmt.Fprintf(w, "ms: mean %.3f, p50 %.3f, p90 %.3f, p99 %.3f, p99.9 %.3f, max %.3f\n", r.Mean, r.P50, r.P90, r.P99, r.P999, r.Max)
	fmt.Fprintf(w, "status: %v", r.Status)
	if len(r.Failed) > 0 {
		fmt.Fprintf(w, "; failed: %v", r.Failed)
	}
	fmt.Fprintln(w)
	if r.Error != "" {
		fmt.Fprintf(w, "an answer with an error: %q\n", r.Error)
	}
	return w.Flush()
}
