package trials

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/gate"
	"pipe/serve/decision"
	"pipe/serve/ledger"
	"pipe/serve/policies"
)

const dim = 6

func TestMain(m *testing.M) {
	if folder := os.Getenv("PIPE_TRIALS_CHILD"); folder != "" {
		child(folder, os.Getenv("PIPE_TRIALS_STEP"))
		return
	}
	orttest.SkipExamples()
	goleak.VerifyTestMain(m)
}

// world is a decider with a log and a candidate.
type world struct {
	folder string
	set    *policies.Set
	log    *decisionlog.Writer
	*decision.Decider
	*Trials
	r *rand.Rand
	n int
}

// prepare writes the policies live and next.
func prepare(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "policies"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, seed := range map[string]int{"live": 4, "next": 5} {
		if err := os.Rename(decidetest.WritePolicy(t, decidetest.Policy(dim, seed)), filepath.Join(folder, "policies", name+".onnx")); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func settings() decision.Settings {
	s := decision.DefaultSettings()
	s.UserKey = "a secret"
	s.Candidate = []decision.Candidate{{
		Canary: decision.Canary{Policy: "next", Share: 0.3}, Settings: gate.Settings{Costs: []float64{0, 2}}, Promote: decision.PromoteAuto,
	}}
	return s
}

// openWorld opens everything in a folder.
func openWorld(ctx context.Context, folder string, rt *ort.Runtime, s decision.Settings, step func(string)) (w *world, err error) {
	w = &world{folder: folder, r: rand.New(rand.NewPCG(3, 3))}
	about := policies.DefaultSettings()
	about.Paths, about.Default, about.Poll = []string{filepath.Join(folder, "policies")}, "live", 0
	if w.set, err = policies.Open(ctx, about, rt, nil, nil); err != nil {
		return nil, err
	}
	logged := filepath.Join(folder, "log")
	if w.log, err = decisionlog.Open(logged, decisionlog.DefaultSettings()); err != nil {
		return nil, err
	}
	s.Explore.Folder = logged
	if w.Decider, err = decision.New(w.set, w.log, nil, nil, s); err != nil {
		return nil, errors.Join(err, w.log.Close(), w.set.Close())
	}
	if w.Trials, err = open(ctx, w.Decider, logged, slog.New(slog.NewTextHandler(io.Discard, nil)), step); err != nil {
		return nil, errors.Join(err, w.Decider.Close(), w.log.Close(), w.set.Close())
	}
	w.Observe(w.Trials)
	return w, nil
}

func newWorld(t *testing.T, folder string, s decision.Settings) *world {
	t.Helper()
	w, err := openWorld(t.Context(), folder, orttest.Open(t, 1), s, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.end(t) })
	return w
}

func (w *world) end(t *testing.T) {
	t.Helper()
	if w.set == nil {
		return
	}
	if err := errors.Join(w.Trials.Close(), w.Decider.Close(), w.log.Close(), w.set.Close()); err != nil {
		t.Error(err)
	}
	w.set = nil
}

// ask lets a new user ask, and sends the outcome: the probability of a loss of 1 is that of the policy that decided.
func (w *world) ask(live, candidate float64) (*decisionlog.Record, error) {
	w.n++
	x := make([]float32, dim)
	for i := range x {
		x[i] = float32(w.r.NormFloat64())
	}
	res, err := w.Decide(context.Background(), decision.Request{Policy: "live", Inputs: policies.Inputs{Features: x}, User: fmt.Sprint("user ", w.r.Uint64())})
	if err != nil {
		return nil, err
	}
	rec := res.Records[0]
	if err := res.Done(); err != nil {
		return nil, err
	}
	p, loss := live, 0.0
	if rec.Policy == "next" {
		p = candidate
	}
	if w.r.Float64() < p {
		loss = 1
	}
	_, err = w.Decider.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &loss, Time: time.Now().UnixMicro()})
	return rec, err
}

// until asks until the candidate is in a phase.
func (w *world) until(t *testing.T, live, candidate float64, want Phase) {
	t.Helper()
	for range 20000 {
		if w.Status()[0].Phase == want {
			return
		}
		if _, err := w.ask(live, candidate); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("not %s: %+v", want, w.Status()[0].Gate)
}

// digests are those of the files live, next and the previous one, "" for none.
func digests(t *testing.T, folder string) (all [3]string) {
	t.Helper()
	for i, name := range []string{"live.onnx", "next.onnx", "live.onnx" + policies.PreviousEnding} {
		text, err := os.ReadFile(filepath.Join(folder, "policies", name))
		if err == nil {
			all[i] = string(text)
		} else if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return all
}

// TestPromotionAndBack: a better candidate takes the place of the live policy, once, also after a restart; one step back is
// possible, once, and the same versions are not tried again.
func TestPromotionAndBack(t *testing.T) {
	folder := prepare(t)
	before := digests(t, folder)
	w := newWorld(t, folder, settings())
	if err := w.Back(t.Context(), ""); !errors.As(err, new(*NoWayBackError)) {
		t.Errorf("back before a promotion: %v", err)
	}
	w.until(t, 0.9, 0.1, Promoted)
	if got := digests(t, folder); got != [3]string{before[1], before[1], before[0]} {
		t.Error("the files are not those of a promotion")
	}
	if rec, err := w.ask(0.5, 0.5); err != nil || rec.Share != 0 || rec.Policy != "live" || w.Status()[0].Share != 0 {
		t.Errorf("after the promotion: %+v, %v", rec, err)
	}
	w.end(t)
	w = newWorld(t, folder, settings())
	if s := w.Status()[0]; s.Phase != Promoted || s.Gate != nil || s.Decided == nil || s.Decided.Low <= 0 || digests(t, folder)[2] != before[0] {
		t.Errorf("after a restart: %+v", s)
	}
	if err := w.Back(t.Context(), "live"); err != nil {
		t.Fatal(err)
	}
	if got := digests(t, folder); got != [3]string{before[0], before[1], ""} {
		t.Error("the files are not those before the promotion")
	}
	if err := w.Back(t.Context(), "live"); !errors.As(err, new(*NoWayBackError)) {
		t.Errorf("back twice: %v", err)
	}
	for range 2 {
		if s := w.Status()[0]; s.Phase != Returned || s.Share != 0 || s.Gate != nil {
			t.Errorf("after going back: %+v", s)
		}
		w.end(t)
		w = newWorld(t, folder, settings())
	}
}

// TestManyAtOnce: decisions and outcomes of many callers at once are counted once each.
func TestManyAtOnce(t *testing.T) {
	folder, s := prepare(t), settings()
	s.Candidate[0].Promote = ""
	w := newWorld(t, folder, s)
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			one := *w
			one.r = rand.New(rand.NewPCG(uint64(caller), 1))
			for range 60 {
				if _, err := one.ask(0.5, 0.5); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	want := w.Status()[0].Gate
	w.end(t)
	w = newWorld(t, folder, s)
	if got := w.Status()[0].Gate; want.Decisions != 480 || got.Decisions != 480 || got.Users != want.Users || got.Outcomes != want.Outcomes || want.Outcomes != want.Users {
		t.Errorf("%+v, after a restart %+v", want, got)
	}
}

// TestStop: a worse candidate gets nothing any more, also after a restart. Another file begins another trial.
func TestStop(t *testing.T) {
	folder := prepare(t)
	before := digests(t, folder)
	w := newWorld(t, folder, settings())
	w.until(t, 0.1, 0.9, Stopped)
	w.end(t)
	w = newWorld(t, folder, settings())
	for range 50 {
		if rec, err := w.ask(0.5, 0.5); err != nil || rec.Share != 0 || rec.Policy != "live" {
			t.Fatalf("%+v, %v", rec, err)
		}
	}
	if digests(t, folder) != before {
		t.Error("files were changed")
	}
	if err := os.Rename(decidetest.WritePolicy(t, decidetest.Policy(dim, 77)), filepath.Join(folder, "policies", "next.onnx")); err != nil {
		t.Fatal(err)
	}
	w.set.Reload(t.Context())
	for range 100 {
		if w.Status()[0].Phase == Trying {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if s := w.Status()[0]; s.Phase != Trying || s.Share != 0.3 || s.Gate.Users != 0 {
		t.Errorf("%+v", s)
	}
}

// TestRestartCountsOnce: after a restart in the middle, the gate has the same figures as before.
func TestRestartCountsOnce(t *testing.T) {
	folder, s := prepare(t), settings()
	s.Candidate[0].Promote = ""
	w := newWorld(t, folder, s)
	var want *gate.Status
	for range 3 {
		for range 200 {
			if _, err := w.ask(0.5, 0.5); err != nil {
				t.Fatal(err)
			}
		}
		want = w.Status()[0].Gate
		w.end(t)
		w = newWorld(t, folder, s)
		if got := w.Status()[0].Gate; got.Users != want.Users || got.Outcomes != want.Outcomes || got.Decisions != want.Decisions || *got.Gain != *want.Gain {
			t.Fatalf("after a restart:\n%+v %+v\n%+v %+v", got, got.Gain, want, want.Gain)
		}
	}
	if want.Decisions != 600 || want.Outcomes < 100 {
		t.Errorf("%+v", want)
	}
	w.until(t, 0.9, 0.1, Trying)
	for range 5000 {
		if w.Status()[0].Gate.Verdict == gate.Promote {
			break
		}
		if _, err := w.ask(0.95, 0.05); err != nil {
			t.Fatal(err)
		}
	}
	if s := w.Status()[0]; s.Phase != Trying || s.Gate.Verdict != gate.Promote || !strings.Contains(s.Next, "would be promoted") || s.Share != 0.3 {
		t.Errorf("%+v", s)
	}
}

// TestLedger: what the candidate may cost more on a day is never exceeded, and the live policy decides when it is spent. The true
// extra cost here is that of a world in which every choice of the candidate that differs costs the whole range more.
func TestLedger(t *testing.T) {
	folder, s := prepare(t), settings()
	s.Candidate[0].Ledger = &ledger.Settings{Cost: 24, Per: ledger.Day}
	w := newWorld(t, folder, s)
	extra, drawn, without := 0.0, 0, 0
	for range 1500 {
		time.Sleep(2 * time.Millisecond) // the ledger is on disk before it is spent
		rec, err := w.ask(0.5, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case rec.Canary && rec.Propensity[rec.Action] != 1:
			extra += 2
		case rec.Share == 0:
			without++
			if rec.Canary || rec.OwnPropensity != nil || rec.Propensity[rec.Action] != 1 {
				t.Fatalf("%+v", rec)
			}
		}
		if rec.Canary {
			drawn++
		}
	}
	l := w.Status()[0].Ledger
	if extra > 24 || extra < 22 || without < 300 || drawn <= int(extra)/2 || l == nil || l.Spent != extra || !l.Full || w.Status()[0].Share != 0 {
		t.Errorf("extra %v, %d of the candidate, %d without, %+v", extra, drawn, without, l)
	}
	w.end(t)
	w = newWorld(t, folder, s)
	for range 100 {
		if rec, err := w.ask(0.5, 0.5); err != nil || rec.Canary && rec.Propensity[rec.Action] != 1 {
			t.Fatalf("after a restart: %+v, %v", rec, err)
		}
	}
}

// TestUsersCannotChoose: the assignment depends on the key.
func TestUsersCannotChoose(t *testing.T) {
	folder := prepare(t)
	var with [2][]bool
	for i, key := range []string{"one", "another"} {
		s := settings()
		s.UserKey, s.Candidate[0].Promote = key, ""
		w := newWorld(t, folder, s)
		for user := range 300 {
			res, err := w.Decide(t.Context(), decision.Request{Inputs: policies.Inputs{Features: make([]float32, dim)}, User: fmt.Sprint(user)})
			if err != nil {
				t.Fatal(err)
			}
			with[i] = append(with[i], res.Records[0].Canary)
			if err := res.Done(); err != nil {
				t.Fatal(err)
			}
		}
		w.end(t)
	}
	same, share := 0, 0
	for i, c := range with[0] {
		if c == with[1][i] {
			same++
		}
		if c {
			share++
		}
	}
	if same > 220 || share < 60 || share > 120 { // independent draws agree on 58%: 174 of 300
		t.Errorf("%d of 300 users have the same policy with another key; %d have the candidate", same, share)
	}
}

// TestCandidatesThatCannotBeTried checks the errors at the start.
func TestCandidatesThatCannotBeTried(t *testing.T) {
	for want, change := range map[string]func(s *decision.Settings, folder string){
		"user_key":           func(s *decision.Settings, _ string) { s.UserKey = "" },
		"smallest and the l": func(s *decision.Settings, _ string) { s.Candidate[0].Costs = nil },
		"between 0 and 1":    func(s *decision.Settings, _ string) { s.Candidate[0].Share = 1 },
		"promote":            func(s *decision.Settings, _ string) { s.Candidate[0].Promote = "soon" },
		"has a canary":       func(s *decision.Settings, _ string) { s.Canary = []decision.Canary{{Policy: "next", Share: 0.1}} },
		"another canary": func(s *decision.Settings, _ string) {
			s.Canary = []decision.Canary{{Of: "live", Policy: "next", Share: 0.1}}
		},
		"unknown policy": func(s *decision.Settings, _ string) { s.Candidate[0].Policy = "nobody" },
		"per":            func(s *decision.Settings, _ string) { s.Candidate[0].Ledger = &ledger.Settings{Cost: 1} },
	} {
		folder, s := prepare(t), settings()
		change(&s, folder)
		if _, err := openWorld(t.Context(), folder, orttest.Open(t, 1), s, func(string) {}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestTheSameContentWaits: a candidate that is the live policy gets no share, and is tried when its file is another one.
func TestTheSameContentWaits(t *testing.T) {
	folder := prepare(t)
	next := filepath.Join(folder, "policies", "next.onnx")
	other, err := os.ReadFile(next)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "policies", "live.onnx"))
	if err == nil {
		err = os.WriteFile(next, text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, folder, settings())
	if s := w.Status()[0]; s.Gate != nil || s.Share != 0 || !strings.Contains(s.Next, "same content") || Check(w.Decider) != nil {
		t.Fatalf("%+v", s)
	}
	if r, err := w.ask(0.5, 0.5); err != nil || r.Canary || r.Share != 0 {
		t.Fatal(r, err)
	}
	if err := os.WriteFile(next, other, 0o666); err != nil {
		t.Fatal(err)
	}
	w.set.Reload(t.Context())
	if err := w.check(t.Context(), w.all[0]); err != nil || w.Status()[0].Phase != Trying {
		t.Fatalf("%v, %+v", err, w.Status()[0])
	}
}

// The steps between which the process is killed.
var steps = []string{"promoting", "replaced", "saved", "returning", "restored"}

// child promotes a candidate, goes back, and kills itself at a step.
func child(folder, step string) {
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	rt, err := ort.Open(ort.DefaultConfig())
	if err != nil {
		fail(err)
	}
	w, err := openWorld(context.Background(), folder, rt, settings(), func(at string) {
		if at == step {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	if err != nil {
		fail(err)
	}
	for range 20000 {
		if w.Status()[0].Phase == Promoted {
			break
		}
		if _, err := w.ask(0.9, 0.1); err != nil {
			fail(err)
		}
	}
	fail(errors.Join(errors.New("nothing was killed"), w.Back(context.Background(), "")))
}

// TestKilledBetweenSteps kills a server between the steps of a promotion and of a step back, with SIGKILL. After a restart all of
// it was done, once.
func TestKilledBetweenSteps(t *testing.T) {
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			folder := prepare(t)
			before := digests(t, folder)
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), "PIPE_TRIALS_CHILD="+folder, "PIPE_TRIALS_STEP="+step)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			err := cmd.Run()
			if state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); err == nil || !ok || state.Signal() != syscall.SIGKILL {
				t.Fatalf("%v: %s", err, out.String())
			}
			w := newWorld(t, folder, settings())
			want, phase := [3]string{before[1], before[1], before[0]}, Promoted
			if strings.HasPrefix(step, "re") && step != "replaced" {
				want, phase = [3]string{before[0], before[1], ""}, Returned
			}
			if got, s := digests(t, folder), w.Status()[0]; got != want || s.Phase != phase || s.Share != 0 {
				t.Errorf("after %s: %+v, the files are right: %t", step, s, got == want)
			}
			list, err := filepath.Glob(filepath.Join(folder, "policies", "*"))
			if err != nil || len(list) > 3 {
				t.Errorf("%v: %v", list, err)
			}
			w.end(t)
			w = newWorld(t, folder, settings())
			if n := len(w.record.Of["live"]); n != 1 || w.Status()[0].Phase != phase {
				t.Errorf("%d trials, %+v", n, w.Status()[0])
			}
		})
	}
}

// TestAFileThatChanged: what somebody else put in place of the live policy is not overwritten.
func TestAFileThatChanged(t *testing.T) {
	folder := prepare(t)
	w := newWorld(t, folder, settings())
	if err := os.Rename(decidetest.WritePolicy(t, decidetest.Policy(dim, 99)), filepath.Join(folder, "policies", "live.onnx")); err != nil {
		t.Fatal(err)
	}
	before := digests(t, folder)
	w.until(t, 0.9, 0.1, Refused)
	if s := w.Status()[0]; digests(t, folder) != before || !strings.Contains(s.Why, "as expected") {
		t.Errorf("%+v", s)
	}
}
