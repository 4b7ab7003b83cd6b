package learn

import (
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/gate"
	"pipe/pipeline/stage"
)

// does runs the loop and checks the verdict and parts of the sentence.
func does(t *testing.T, o Options, want Verdict, says ...string) *Report {
	t.Helper()
	r, err := Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != want {
		t.Fatalf("%s, want %s: %s\n%+v", r.Verdict, want, r.Sentence, r.Problems)
	}
	for _, text := range says {
		if !strings.Contains(r.Sentence, text) {
			t.Errorf("the sentence lacks %q: %s", text, r.Sentence)
		}
	}
	return r
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A loop without a gate: nothing before there are outcomes enough, then a candidate, then nothing until something is new. The
// deployed file stays.
func TestLoop(t *testing.T) {
	orttest.Open(t, 0)
	w := newWorld(t, 1)
	live := content(t, w.path("live.onnx"))
	w.serve(t, 100)
	does(t, w.options(), Refused, "few outcomes", "100 decisions", "least_rows is 500")
	does(t, w.options(), Refused, "0 outcomes are new", "few outcomes")
	w.serve(t, 1100)
	dry := w.options()
	dry.DryRun = true
	does(t, dry, Placed)
	if _, err := os.Stat(w.path("next.onnx")); err == nil {
		t.Fatal("a dry run wrote the candidate")
	}
	r := does(t, w.options(), Placed, "switching from live.onnx", "saves")
	if got := w.info(t, "next.onnx"); got.Digest != r.Candidate.Digest || r.Survey.New != 1100 || r.Survey.Outcomes != 1200 || len(r.Problems) != 0 {
		t.Errorf("candidate %s of %+v, with problems %v", got.Digest, r.Survey, r.Problems)
	}
	if rows := r.Training.Rows + r.Gain.Rows; rows != 1200 || r.Gain.Rows < 300 {
		t.Errorf("%d decisions trained and %d judged", r.Training.Rows, r.Gain.Rows)
	}
	for _, name := range []string{stateFile, reportFile, pageFile, logFile, gainFile} {
		if content(t, w.path("loop/"+name)) == "" {
			t.Errorf("%s is not there", name)
		}
	}
	if _, err := os.Stat(w.path("loop/work")); err == nil {
		t.Error("the folder of the training stays")
	}
	before := content(t, w.path("loop/"+stateFile))
	does(t, w.options(), Nothing, "0 outcomes are new", "new candidate")
	if content(t, w.path("loop/"+stateFile)) != before || content(t, w.path("live.onnx")) != live {
		t.Error("a run with nothing to do wrote")
	}
	w.serve(t, 50)
	few := w.options()
	few.NewOutcomes = 51
	does(t, few, Placed) // other settings: it looks
	w.serve(t, 50)
	few.Now = few.Now.Add(24 * time.Hour)
	does(t, few, Nothing, "50 outcomes are new", "new_outcomes is 51")
}

// A window reaches back to what was not learned from yet, and no further.
func TestWindow(t *testing.T) {
	orttest.Open(t, 0)
	w := newWorld(t, 11)
	run := func(n int) *Survey {
		t.Helper()
		w.serve(t, n)
		o := w.options()
		o.Now, o.Since = o.Now.Add(-24*time.Hour), Span(time.Hour)
		r, err := Run(t.Context(), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r.Survey
	}
	for i, c := range []struct{ serve, want int }{{100, 12}, {100, 112}, {1000, 1112}, {50, 50}} {
		if got := run(c.serve); got.Decisions != c.want {
			t.Errorf("run %d had %d decisions, want %d", i+1, got.Decisions, c.want)
		}
	}
}

// Where features say nothing, the deployed policy stays, and the run says why.
func TestNothingToGain(t *testing.T) {
	orttest.Open(t, 0)
	w := newWorld(t, 2)
	w.Same = true
	w.serve(t, 800)
	does(t, w.options(), Nothing, "nothing to gain")
	if content(t, w.path("next.onnx")) != "" {
		t.Error("a candidate is there")
	}
}

// Each defect of a log has its name, and nothing is learned where it would be wrong.
func TestProblems(t *testing.T) {
	orttest.Open(t, 0)
	for name, c := range map[string]struct {
		change func(w world, r *decisionlog.Record, o *decisionlog.Outcome)
		want   Verdict
	}{
		NoDraws: {func(w world, r *decisionlog.Record, _ *decisionlog.Outcome) {
			r.Action, r.Propensity = 0, []float64{1, 0}
		}, Refused},
		NoFeatures: {func(_ world, r *decisionlog.Record, _ *decisionlog.Outcome) { r.Features = nil }, Refused},
		Missing: {func(w world, r *decisionlog.Record, o *decisionlog.Outcome) {
			if r.Action == 1 && w.Random.Float64() < 0.4 {
				o.ID = ""
			}
		}, Refused},
		Propensities: {func(_ world, r *decisionlog.Record, _ *decisionlog.Outcome) {
			r.Propensity = []float64{0.5, 0.5}
		}, Refused},
		Drift: {func(w world, _ *decisionlog.Record, _ *decisionlog.Outcome) {
			if w.N == 500 {
				w.Epsilon = 0.9
			}
		}, Placed},
		Prices: {func(w world, r *decisionlog.Record, _ *decisionlog.Outcome) {
			if w.N < 300 {
				r.ExpertFees = []float64{0, 0.5}
			}
		}, Placed},
		Loggers: {func(w world, r *decisionlog.Record, _ *decisionlog.Outcome) {
			if w.N > 800 {
				r.Policy, r.Digest = w.Trial.Name, w.Trial.Digest
			}
		}, Placed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 3)
			w.Change = func(r *decisionlog.Record, o *decisionlog.Outcome) { c.change(w, r, o) }
			if name == Loggers {
				other := w.constant(t, "other.onnx", 1)
				w.Trial = &other
			}
			w.serve(t, 1200)
			r := does(t, w.options(), c.want)
			if !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Name == name }) {
				t.Errorf("problems: %+v", r.Problems)
			}
			if c.want == Refused && (content(t, w.path("next.onnx")) != "" || r.Training != nil) {
				t.Error("something was learned")
			}
		})
	}
}

// With a gate, a candidate on trial stays, one that the gate stops is not proposed again, and promotion needs the setting.
func TestTrial(t *testing.T) {
	orttest.Open(t, 0)
	w := newWorld(t, 4)
	gated := func() Options {
		o := w.options()
		o.Gate = gate.Settings{Costs: []float64{0, 1.1}}
		return o
	}
	w.serve(t, 1000)
	r := does(t, gated(), Placed)
	does(t, gated(), Nothing, "no decision of it beside")
	trial := w.info(t, "next.onnx")
	w.Trial, w.Share, w.Choose = &trial, 0.3, func(x []float32) int { return map[bool]int{true: 0, false: 1}[x[0] < 0] }
	w.serve(t, 60)
	if got := does(t, gated(), Nothing, "is on trial").Trial; got.Verdict != gate.GoOn {
		t.Errorf("%+v", got)
	}
	w.serve(t, 2500)
	o := gated()
	does(t, o, Nothing, "the gate promotes")
	o.Promote = PromoteFile
	promoted := does(t, o, Promoted, "its gate shows a gain")
	if got := w.info(t, "live.onnx"); got.Digest != r.Candidate.Digest || promoted.Deployed.Digest != w.Live.Digest {
		t.Errorf("%s is deployed, want %s", got.Digest, r.Candidate.Digest)
	}
	if got := w.info(t, "loop/previous.onnx"); got.Digest != w.Live.Digest {
		t.Errorf("the copy is %s, want %s", got.Digest, w.Live.Digest)
	}
	does(t, o, Nothing, "0 outcomes are new")
}

// A candidate that the gate stops makes room for another one.
func TestStopped(t *testing.T) {
	orttest.Open(t, 0)
	w := newWorld(t, 5)
	bad := w.constant(t, "next.onnx", 1)
	w.Trial, w.Share, w.Choose = &bad, 0.5, func([]float32) int { return 1 }
	w.Change = func(r *decisionlog.Record, o *decisionlog.Outcome) { // large is always wrong for half of the users
		no := r.Action == 1 && r.Features[0] < 0.8
		yes := !no
		o.Correct = &yes
	}
	w.serve(t, 2000)
	o := w.options()
	o.Gate = gate.Settings{Costs: []float64{0, 1.1}}
	r := does(t, o, Nothing, "nothing to gain")
	if r.Trial == nil || r.Trial.Verdict != gate.Stop || !strings.Contains(content(t, w.path("loop/"+stateFile)), bad.Digest) {
		t.Errorf("trial %+v", r.Trial)
	}
}

// Decisions beside an earlier candidate say nothing about this one.
func TestTrialsApart(t *testing.T) {
	rt := orttest.Open(t, 0)
	w := newWorld(t, 10)
	large := w.constant(t, "next.onnx", 1)
	w.Trial, w.Share, w.Choose = &large, 0.3, func([]float32) int { return 1 }
	w.serve(t, 2500)
	o := w.options()
	o.Gate, o.ReplaceRunning, o.Promote = gate.Settings{Costs: []float64{0, 1.1}}, true, PromoteFile
	does(t, o, Placed)
	closeIt, err := w.Try(t.Context(), rt, "next.onnx", 0.3)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closeIt() }()
	w.serve(t, 2500)
	// Where they differ, small is wrong on 80%, and large on 10% and costs 0.1. Both explore on 40%.
	o.Now = w.options().Now
	if got := does(t, o, Promoted).Trial; math.Abs(got.Gain.Mean-0.6*0.6) > 0.1 || got.Decisions < 2490 {
		t.Errorf("a gain of %+v by %d decisions", got.Gain, got.Decisions)
	}
}

// Without a gate, promote: file replaces the deployed policy by one whose gain is shown on held-out decisions.
func TestPromoteByFile(t *testing.T) {
	orttest.Open(t, 0)
	w := newWorld(t, 6)
	w.serve(t, 1200)
	o := w.options()
	o.Promote = PromoteFile
	r := does(t, o, Promoted)
	if got := w.info(t, "live.onnx"); got.Digest != r.Candidate.Digest {
		t.Errorf("%s is deployed, want %s", got.Digest, r.Candidate.Digest)
	}
}

// Two runs at once: the second one is refused.
func TestTwice(t *testing.T) {
	orttest.Open(t, 0)
	w := newWorld(t, 7)
	w.serve(t, 1500)
	o := w.options()
	o.at = func(step string) {
		if step == "train" {
			_, err := Run(t.Context(), w.options(), nil)
			var used *stage.InUseError
			if !errors.As(err, &used) {
				t.Errorf("%v", err)
			}
		}
	}
	does(t, o, Placed)
}
