package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pipe/pipeline/learn/learntest"
)

// loop is a service with its loop: a server of policies, two models, and clients that say of half of the answers whether they were right.
type loop struct {
	*server
	t       *testing.T
	way     string
	world   *learntest.World
	models  map[string]string // URL by name
	worse   atomic.Bool       // large is always wrong
	mu      sync.Mutex
	random  *rand.Rand
	told    int // outcomes that the server accepted
	perStep int
	sent    int           // requests
	every   time.Duration // from one request to the next; 0: as fast as 8 clients are
	killing atomic.Bool   // the server is killed while clients ask it: they ask again
	kills   int           // of the server, while clients ask it
	unknown int           // outcomes of decisions that such a kill lost
	counts  map[string]int
}

const (
	loopServe = `
policies: {paths: [policies], default: live, settle: 20ms, poll: 50ms}
decision: {explore: {epsilon: 0.3}, user_key: a secret of the service, seed: 5, TRIAL}
log: {folder: log, flush_interval: 100ms}
logs: {requests: none}
`
	loopLearn = `
log: log
deployed: policies/live.onnx
candidate: policies/next.onnx
state: loop
since: SINCE
auto: {networks: []}
gate: {costs: [0, 1.3]}
PROMOTE
replace_running: REPLACE
`
)

// The two ways to a promotion: a canary, whose gate and promotion are those of pipe learn, and a candidate of the server.
var loopWays = map[string]struct{ trial, promote string }{
	"canary":    {"canary: [{of: live, policy: next, share: 0.3}]", "promote: file"},
	"candidate": {"candidate: [{of: live, policy: next, share: 0.3, costs: [0, 1.3], promote: auto}]", ""},
}

// newLoop makes the folder of a service: it always takes small, and its candidate always takes large.
func newLoop(t *testing.T, way string) *loop {
	t.Helper()
	dir := t.TempDir()
	serveYAML := strings.ReplaceAll(loopServe, "TRIAL", loopWays[way].trial)
	learnYAML := strings.ReplaceAll(loopLearn, "PROMOTE", loopWays[way].promote)
	for name, text := range map[string]string{
		"serve.yaml": serveYAML, "first.yaml": strings.Replace(learnYAML, "REPLACE", "true", 1),
		"loop.yaml":     strings.NewReplacer("REPLACE", "false", "SINCE", "1s").Replace(learnYAML), // what came since the last run
		"policies/none": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	w, err := learntest.New(t.Context(), filepath.Join(dir, "policies"), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Constant(t.Context(), "next.onnx", 1); err != nil {
		t.Fatal(err)
	}
	l := &loop{t: t, way: way, world: w, models: map[string]string{}, random: rand.New(rand.NewPCG(3, 4)), perStep: 3000, counts: map[string]int{}}
	for pair, name := range []string{"small", "large"} {
		s := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) { l.answer(to, r, pair) }))
		t.Cleanup(s.Close)
		l.models[name] = s.URL
	}
	l.start(dir)
	return l
}

func (l *loop) start(dir string) {
	s := serveIn(l.t, dir, "--config", "serve.yaml")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = s
}

// ask sends a body to the server. While that is killed, it asks again.
func (l *loop) ask(c *http.Client, path, body string) (status int, text string, err error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		l.mu.Lock()
		url := l.url
		l.mu.Unlock()
		if status, text, err = ask(c, url+path, body); err == nil || !l.killing.Load() {
			break
		}
	}
	return status, text, err
}

// killServer kills the server and starts it again.
func (l *loop) killServer() {
	l.t.Helper()
	dir := l.Dir
	if err := l.Process.Kill(); err != nil {
		l.t.Fatal(err)
	}
	l.ends(l.t)
	l.counts["kills of the server"]++
	l.start(dir)
}

// killedTraffic sends requests, and kills the server after half of them where there is time for it.
func (l *loop) killedTraffic(n int) {
	l.t.Helper()
	if l.every == 0 {
		l.traffic(n)
		l.killServer()
		return
	}
	l.killing.Store(true)
	defer l.killing.Store(false)
	done := make(chan struct{})
	go func() { defer close(done); l.send(n) }()
	time.Sleep(l.every * time.Duration(n/2))
	l.killServer()
	l.kills++
	if <-done; l.t.Failed() {
		l.t.FailNow()
	}
}

// answer is a model: whether it is right follows from the law of the world.
func (l *loop) answer(to http.ResponseWriter, r *http.Request, pair int) {
	var x float32
	text, _ := io.ReadAll(r.Body)
	_, err := fmt.Sscan(string(text), &x)
	wrong := learntest.Wrong(pair, x)
	if pair == 1 && l.worse.Load() {
		wrong = 1
	}
	l.mu.Lock()
	right := l.random.Float64() >= wrong
	l.mu.Unlock()
	if err != nil {
		to.WriteHeader(http.StatusBadRequest)
		return
	}
	fmt.Fprint(to, right)
}

// traffic sends requests, and an outcome for every second one.
func (l *loop) traffic(n int) {
	l.t.Helper()
	if l.send(n); l.t.Failed() {
		l.t.FailNow()
	}
}

func (l *loop) send(n int) {
	l.sent += n
	began := time.Now()
	var next atomic.Int64
	var work sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	for range 8 {
		work.Go(func() {
			var outcomes []string
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				time.Sleep(time.Until(began.Add(time.Duration(i) * l.every)))
				o, err := l.request(client)
				if err != nil {
					l.t.Error(err)
					return
				}
				if i%2 == 0 {
					outcomes = append(outcomes, o)
				}
			}
			l.tell(client, outcomes)
		})
	}
	work.Wait()
}

// request is one of a client. It returns its outcome.
func (l *loop) request(c *http.Client) (outcome string, err error) {
	l.mu.Lock()
	x, y := float32(2*l.random.Float64()-1), float32(l.random.NormFloat64())
	l.mu.Unlock()
	status, text, err := l.ask(c, "/v1/decide", fmt.Sprintf(`{"features":[%v,%v]}`, x, y))
	var a struct {
		Decisions []struct{ ID, Expert string }
	}
	if err != nil || status != 200 || json.Unmarshal([]byte(text), &a) != nil || len(a.Decisions) != 1 {
		return "", fmt.Errorf("decide: %d %s: %w", status, text, err)
	}
	d := a.Decisions[0]
	status, right, err := ask(c, l.models[d.Expert], fmt.Sprint(x))
	if err != nil || status != 200 {
		return "", fmt.Errorf("%s: %d %s: %w", d.Expert, status, right, err)
	}
	return fmt.Sprintf(`{"id":%q,"correct":%s}`, d.ID, right), nil
}

func (l *loop) tell(c *http.Client, outcomes []string) {
	if len(outcomes) == 0 {
		return
	}
	status, text, err := l.ask(c, "/v1/outcomes", "["+strings.Join(outcomes, ",")+"]")
	var a struct {
		Error struct {
			Code     string
			Unknown  []string
			Accepted int
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil && status == 200:
		l.told += len(outcomes)
	case l.killing.Load() && status == http.StatusNotFound && json.Unmarshal([]byte(text), &a) == nil && a.Error.Code == "unknown_decision" && a.Error.Accepted+len(a.Error.Unknown) == len(outcomes):
		l.told, l.unknown = l.told+a.Error.Accepted, l.unknown+len(a.Error.Unknown)
	default:
		l.t.Errorf("outcomes: %d %s: %v", status, text, err)
	}
}
