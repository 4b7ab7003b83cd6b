package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/learn/learntest"
)

// learns runs pipe learn and returns the status.
func (l *loop) learns(config string) (verdict, sentence string) {
	l.t.Helper()
	c := exec.CommandContext(l.t.Context(), os.Args[0])
	c.Args, c.Dir, c.Env = []string{"pipe", "learn", "--config", config, "--quiet"}, l.Dir, append(os.Environ(), ort.EnvLibrary+"="+runtimeLibrary(l.t))
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		l.t.Fatalf("%v: %s%s", err, out, stderr.String())
	}
	line, _, _ := strings.Cut(string(out), "\n")
	l.t.Log(string(out))
	verdict, sentence, _ = strings.Cut(line, ": ")
	l.counts["runs that end with "+verdict]++
	return verdict, sentence
}

// killedLearn starts pipe learn and kills it after a while.
func (l *loop) killedLearn(config string, after time.Duration) {
	l.t.Helper()
	p := start(l.t, l.Dir, func(c *exec.Cmd) {
		c.Env = append(os.Environ(), ort.EnvLibrary+"="+runtimeLibrary(l.t))
	}, "learn", "--config", config, "--quiet")
	select {
	case err := <-p.ended:
		l.t.Logf("pipe learn ended before it was killed: %v", err)
	case <-time.After(after):
		_ = p.Process.Signal(syscall.SIGKILL)
		<-p.ended
		l.counts["kills of pipe learn"]++
	}
}

// until sends traffic and learns until a run has the verdict.
func (l *loop) until(config, want string) {
	l.t.Helper()
	for range 8 {
		l.traffic(l.perStep)
		if verdict, _ := l.learns(config); verdict == want {
			return
		}
	}
	l.t.Fatalf("no run of %s came to %q", config, want)
}

// promoted sends traffic until the candidate is promoted.
func (l *loop) promoted() {
	l.t.Helper()
	if l.way == "canary" {
		l.until("loop.yaml", "promoted")
		return
	}
	next := l.digest("next.onnx")
	for range 8 {
		l.traffic(l.perStep)
		for range 20 {
			if l.digest("live.onnx") == next {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	l.t.Fatal("the server did not promote the candidate")
}

func (l *loop) digest(name string) string {
	l.t.Helper()
	info, err := l.world.Info(l.t.Context(), name)
	if err != nil {
		l.t.Fatal(err)
	}
	return info.Digest
}

// serves waits until the server decides with the versions of both files.
func (l *loop) serves() {
	l.t.Helper()
	for _, name := range []string{"live", "next"} {
		digest := l.digest(name + ".onnx")
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			answer, err := http.Get(l.url + "/v1/policies")
			if err != nil {
				l.t.Fatal(err)
			}
			text, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if strings.Contains(string(text), fmt.Sprintf(`"name":%q,"digest":%q`, name, digest)) {
				break
			}
			if time.Now().After(deadline) {
				l.t.Fatalf("the server does not serve %s of %s: %s", digest, name, text)
			}
		}
	}
}

// chosen are the pairs that the deployed policy takes at -0.5 and at 0.5, for a user who does not have the candidate.
func (l *loop) chosen() string {
	l.t.Helper()
	for user := range 100 {
		body := fmt.Sprintf(`{"policy":"live","explore":false,"user":"u%d","features":[[-0.5,0],[0.5,0]]}`, user)
		status, text, err := ask(http.DefaultClient, l.url+"/v1/decide", body)
		var a struct {
			Policy    struct{ Canary bool }
			Decisions []struct{ Expert string }
		}
		if err != nil || status != 200 || json.Unmarshal([]byte(text), &a) != nil || len(a.Decisions) != 2 {
			l.t.Fatalf("%d %s: %v", status, text, err)
		}
		if !a.Policy.Canary {
			return a.Decisions[0].Expert + " " + a.Decisions[1].Expert
		}
	}
	l.t.Fatal("all users have the candidate")
	return ""
}

// reprice changes the fee of large in both policies, as a new price list does.
func (l *loop) reprice(fee float64) {
	l.t.Helper()
	for pair, name := range []string{learntest.LiveFile, "next.onnx"} {
		a := learntest.Actions()
		a.Experts[1].Fee = fee
		p := &policy.Policy{Method: "auto", Recipe: "auto", Lambda: 1, Decoder: policy.DecoderFixed, Fixed: pair, Dim: 2, Actions: a, Info: map[string]string{}}
		m, err := p.Export()
		if err == nil {
			err = m.WriteFile(l.world.Path(name).String())
		}
		if err != nil {
			l.t.Fatal(err)
		}
	}
	l.serves()
}

// TestLoop closes the loop on one machine: the service learns to route, prices change, a model gets worse, and the service learns again. Server
// and pipe learn are killed in between, and nothing is lost. PIPE_LOOP=N goes round N times more. PIPE_LOOP_MINUTES=N goes round until N minutes
// have passed, at 25 requests a second; then the server is killed while clients ask it, too.
func TestLoop(t *testing.T) {
	if testing.Short() {
		t.Skip("runs of separate processes, in which the race detector finds nothing new")
	}
	for way := range loopWays {
		t.Run(way, func(t *testing.T) { closeLoop(t, way) })
	}
}

func closeLoop(t *testing.T, way string) {
	l := newLoop(t, way)
	began, rounds, minutes := time.Now(), setting("PIPE_LOOP"), setting("PIPE_LOOP_MINUTES")
	if minutes > 0 {
		l.every = time.Second / 25
	}
	done := 0
	for ; done == 0 || done <= rounds || time.Since(began) < time.Duration(minutes)*time.Minute; done++ {
		l.round(0.15-0.01*float64(done%6), rounds+minutes > 0)
		t.Logf("%v, round %d: %d requests, %v", time.Since(began).Round(time.Second), done+1, l.sent, l.counts)
	}
	l.killServer()
	l.lost()
}

// setting is a number in the environment; 0 if there is none.
func setting(name string) (n int) {
	_, _ = fmt.Sscan(os.Getenv(name), &n)
	return n
}

// round begins with small for all, at a new price of large. The service learns to route. Then large gets worse, and well again if the
// round is whole.
func (l *loop) round(fee float64, whole bool) {
	l.t.Helper()
	time.Sleep(2 * time.Second) // so that a window in whole seconds has nothing of the round before
	began := time.Now()
	l.traffic(600)
	l.reprice(fee)
	l.killedTraffic(l.perStep)
	l.traffic(600)
	// The first candidate is replaced by a learned one, although a run is killed before.
	l.killedLearn("first.yaml", 700*time.Millisecond)
	l.window(time.Since(began) + time.Second)
	verdict, sentence := l.learns("first.yaml")
	if verdict != "candidate" && !strings.Contains(sentence, "is on trial") {
		l.t.Fatalf("%s: %s", verdict, sentence)
	}
	l.reports("prices")
	l.serves()
	if got := l.chosen(); got != "small small" {
		l.t.Errorf("before the promotion, the deployed policy takes %s", got)
	}
	// The candidate gets its share, and is promoted.
	l.promoted()
	l.serves()
	if got := l.chosen(); got != "small large" {
		l.t.Errorf("the learned policy takes %s", got)
	}
	l.relearn(true, "small small")
	if whole {
		l.relearn(false, "small large")
	}
}

// window has first.yaml read the log of a time.
func (l *loop) window(d time.Duration) {
	l.t.Helper()
	path := filepath.Join(l.Dir, "first.yaml")
	text, err := os.ReadFile(path)
	if err == nil {
		since := fmt.Sprintf("since: %ds", int(d.Seconds())+1)
		err = os.WriteFile(path, regexp.MustCompile("(?m)^since: .*$").ReplaceAll(text, []byte(since)), 0o666)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// relearn makes large worse, or well again, and waits until the service has learned it.
func (l *loop) relearn(worse bool, want string) {
	l.t.Helper()
	l.worse.Store(worse)
	l.killedTraffic(200)
	l.killedLearn("loop.yaml", time.Duration(l.random.IntN(1500))*time.Millisecond)
	l.until("loop.yaml", "candidate")
	l.serves()
	l.promoted()
	l.serves()
	if got := l.chosen(); got != want {
		l.t.Errorf("with large worse: %v, the service takes %s, want %s", worse, got, want)
	}
}

// reports checks that the last report names a problem.
func (l *loop) reports(problem string) {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(l.Dir, "loop", "learn.json"))
	if err != nil || !strings.Contains(string(text), `"name": "`+problem+`"`) {
		l.t.Errorf("the report does not have %q: %v\n%s", problem, err, text)
	}
}

// lost compares the log with what the server accepted.
func (l *loop) lost() {
	l.t.Helper()
	log, err := decisionlog.Read(filepath.Join(l.Dir, "log"))
	if err != nil {
		l.t.Fatal(err)
	}
	known := 0
	for d, err := range log.Decisions() {
		if err != nil {
			l.t.Fatal(err)
		}
		if d.Outcome != nil {
			known++
		}
	}
	// A kill may lose decisions of the last milliseconds, whose outcomes the server then refuses. Each of 8 clients can have one.
	if c := log.Counts(); known != l.told || l.unknown > 8*l.kills || c.Unmatched != 0 || c.Damaged != 0 {
		l.t.Errorf("%d outcomes were accepted, %d were of lost decisions, and %d are in the log: %+v", l.told, l.unknown, known, c)
	}
	l.t.Logf("%d outcomes; %d kills while clients asked lost %d decisions with an outcome", known, l.kills, l.unknown)
}
