package gate

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pipe/costs"
	"pipe/internal/dataerror/dataerrortest"
	"pipe/pipeline/decisionlog"
)

var now = time.UnixMicro(1_000_000)

func newGate(t *testing.T) *Gate {
	t.Helper()
	g, err := New(planted(t), Settings{Costs: []float64{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestTerm compares the first term with the formula by hand: without an outcome before, every pair is believed to cost half the
// range. The candidate has a tenth of the users.
func TestTerm(t *testing.T) {
	for _, c := range []struct {
		candidate bool
		loss      float64
		want      float64
	}{
		{true, 0, 0.5 / 0.1},
		{true, 1, -0.5 / 0.1},
		{false, 0, -0.5 / 0.9},
		{false, 1, 0.5 / 0.9},
	} {
		g, w := newGate(t), base.world(t, 1)
		rec := w.record(&user{name: "u", candidate: c.candidate}, 0, 1)
		g.Decision(rec)
		g.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &c.loss})
		s := g.Status(now)
		if s.Gain == nil || math.Abs(s.Gain.Mean-c.want) > 1e-12 || s.Gain.Low != -1 || s.Gain.High != 1 {
			t.Errorf("%+v: gain %+v, want %v", c, s.Gain, c.want)
		}
	}
}

// TestWhatCounts checks which decisions count: the first of each user on which the policies differ, once.
func TestWhatCounts(t *testing.T) {
	g, w := newGate(t), base.world(t, 1)
	loss := 0.25
	ask := func(u *user, candidate int, change func(r *decisionlog.Record)) {
		w.n++
		rec := w.record(u, 0, candidate)
		if change != nil {
			change(rec)
		}
		g.Decision(rec)
		g.Decision(rec) // as after a restart
		o := decisionlog.Outcome{ID: rec.ID, Loss: &loss}
		g.Outcome(o)
		g.Outcome(o)
	}
	alice, bob := &user{name: "alice"}, &user{name: "bob", candidate: true}
	ask(alice, 0, nil) // they agree
	ask(alice, 1, nil) // counts
	ask(alice, 1, nil)
	ask(bob, 1, func(r *decisionlog.Record) { r.Digest = "another version" })
	ask(bob, 1, func(r *decisionlog.Record) { r.OwnPropensity, r.Propensity = nil, r.OwnPropensity })
	ask(bob, 1, func(r *decisionlog.Record) { r.Source = decisionlog.SourceFixed })
	ask(bob, 1, func(r *decisionlog.Record) { r.Executed = 2 }) // counts: a fallback is what the choice costs
	for range 3 {
		ask(&user{}, 1, func(r *decisionlog.Record) { r.Request = "one request of three rows" }) // counts once
	}
	s := g.Status(now)
	if s.Users != 3 || s.Outcomes != 3 || s.Live.Users != 2 || s.Candidate.Users != 1 || *s.Share != 12.0/14 || *s.Candidate.MeanCost != loss {
		t.Errorf("%+v", s)
	}
}

// TestFees: a cost is the loss and the fee of the pair that answered.
func TestFees(t *testing.T) {
	g, w := newGate(t), base.world(t, 1)
	rec, loss := w.record(&user{name: "u"}, 0, 1), 0.5
	rec.ExpertFees, rec.Executed = []float64{0, 0.25}, 2
	g.Decision(rec)
	g.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &loss})
	if s := g.Status(now); *s.Live.MeanCost != 0.75 {
		t.Errorf("%+v", s.Live)
	}
}

// TestOutsideTheRange: a cost that the range does not have is not forgotten in silence.
func TestOutsideTheRange(t *testing.T) {
	l := base
	l.gain = 0.4
	w := l.world(t, 3)
	g, err := New(w.trial, Settings{Costs: []float64{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	large := 1.5
	w.n = -1
	first := w.record(&user{name: "first"}, 0, 1)
	first.Time = 0
	g.Decision(first)
	g.Outcome(decisionlog.Outcome{ID: first.ID, Loss: &large})
	w.n = 0
	for range 20000 {
		rec, told := w.next()
		g.Decision(rec)
		for _, o := range told {
			g.Outcome(o)
		}
	}
	if s := g.Status(now); s.Verdict != GoOn || s.Reason != ReasonRange || s.Outside != 1 || !strings.Contains(s.Next, "outside the range") || s.Gain.Low <= 0 {
		t.Errorf("%+v", s)
	}
}

func TestTrialsThatDoNotCompare(t *testing.T) {
	for want, change := range map[string]func(tr *Trial, s *Settings){
		"smallest and the largest": func(_ *Trial, s *Settings) { s.Costs = nil },
		"no range":                 func(_ *Trial, s *Settings) { s.Costs = []float64{1, 1} },
		"alpha":                    func(_ *Trial, s *Settings) { s.Alpha = 2 },
		"between 0 and 1":          func(tr *Trial, _ *Settings) { tr.Share = 1 },
		"is the live policy":       func(tr *Trial, _ *Settings) { tr.Candidate = tr.Live },
		"another lambda":           func(tr *Trial, _ *Settings) { tr.Candidate.Lambda = 2 },
		"other fees": func(tr *Trial, _ *Settings) {
			tr.Candidate.Actions = planted(t).Live.Actions
			tr.Candidate.Actions.Experts[1].Fee = 1
		},
		"other pairs": func(tr *Trial, _ *Settings) {
			tr.Candidate.Actions = planted(t).Live.Actions
			tr.Candidate.Actions.Experts[1].Name = "c"
		},
	} {
		tr, s := planted(t), Settings{Costs: []float64{0, 1}}
		change(&tr, &s)
		if _, err := New(tr, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestNext checks what is predicted: about as many users as it then takes.
func TestNext(t *testing.T) {
	l := base
	l.gain = 0.06
	w := l.world(t, 5)
	g := newGate(t)
	if s := g.Status(now); !strings.Contains(s.Next, "no outcome") || s.Gain != nil || s.MissingP != nil || s.Live.Missing != nil {
		t.Errorf("%+v", s)
	}
	var halfway *Status
	for g.verdict == GoOn {
		rec, told := w.next()
		g.Decision(rec)
		for _, o := range told {
			g.Outcome(o)
		}
		if halfway == nil && g.gain.Units() == 2000 {
			s := g.Status(time.UnixMicro(int64(w.n)))
			halfway = &s
		}
	}
	end := g.Status(now)
	if more := halfway.more(); end.Verdict != Promote || more > 10*float64(end.Outcomes-2000) || more < float64(end.Outcomes-2000)/10 || !strings.Contains(halfway.Next, "more users") {
		t.Errorf("predicted %v, took %d: %s; %s", more, end.Outcomes-2000, halfway.Next, end.Next)
	}
	if eff := end.Effective / float64(end.Outcomes); math.Abs(eff-4/(1/0.1+1/0.9)) > 0.03 {
		t.Errorf("effective share %v", eff)
	}
}

// TestLog writes worlds to a log and reads them again: the same counts and the same interval, by both ways.
func TestLog(t *testing.T) {
	l, folder := base, t.TempDir()
	l.gain, l.requests, l.delay = 0.3, 3, func(cost float64, _ bool) int { return int(300 * cost) }
	out, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	w, g := l.world(t, 9), newGate(t)
	for _, p := range []*decisionlog.PolicyInfo{w.trial.Live, w.trial.Candidate} {
		if err := out.Policy(*p); err != nil {
			t.Fatal(err)
		}
	}
	add := func(rec *decisionlog.Record) {
		rec.ExpectedLoss, rec.ExpectedCost = make([]float32, 4), make([]float32, 4)
		if err := out.Add(rec); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3000 {
		rec, told := w.next()
		if n < 100 { // an earlier version of the candidate
			if rec.Canary {
				rec.Digest = "d-older"
			}
			old := *w.trial.Candidate
			old.Digest = "d-older"
			if err := out.Policy(old); err != nil {
				t.Fatal(err)
			}
			add(rec)
			continue
		}
		if g.trial.Started == 0 && rec.Canary {
			g.trial.Started = rec.Time
		}
		if g.trial.Started > 0 {
			g.Decision(rec)
		}
		add(rec)
		for _, o := range told {
			if g.trial.Started > 0 {
				g.Outcome(o)
			}
			if _, err := out.Outcome(o); err != nil && !strings.Contains(err.Error(), "no decision") {
				t.Fatal(err)
			}
		}
	}
	want := g.Status(now)
	check := func(name string, read func() (*Gate, error)) {
		got, err := read()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := got.Status(now)
		if s.Outcomes != want.Outcomes || s.Users != want.Users || s.Outcomes < 200 || s.Verdict != want.Verdict || math.Abs(s.Gain.Low-want.Gain.Low) > 1e-9 || math.Abs(s.Gain.Mean-want.Gain.Mean) > 1e-9 {
			t.Errorf("%s:\n%+v %+v\n%+v %+v", name, s, s.Gain, want, want.Gain)
		}
	}
	for _, closed := range []bool{false, true} {
		if closed {
			if err := out.Close(); err != nil {
				t.Fatal(err)
			}
		} else {
			time.Sleep(1500 * time.Millisecond) // the queue is written every second
		}
		check("by names", func() (*Gate, error) { return Read(folder, "", "next", Settings{Costs: []float64{0, 1}}) })
		check("again", func() (*Gate, error) {
			again, err := New(g.trial, g.settings)
			if err != nil {
				return nil, err
			}
			log, err := decisionlog.Read(folder)
			if err != nil {
				return nil, err
			}
			return again, again.Read(log)
		})
	}
	meta := reader{candidate: "next", settings: g.settings}
	measured := *w.trial.Live
	measured.Meta = map[string]string{costs.MeterKey: "x"}
	if err := meta.take(decisionlog.Decision{Record: w.record(&user{name: "u"}, 0, 1), About: &measured}); err != nil || !errors.Is(meta.why, ErrMeasuredFees) {
		t.Errorf("measured fees: %v, %v", err, meta.why)
	}
	_, err = Read(folder, "", "nobody", Settings{Costs: []float64{0, 1}})
	dataerrortest.Check(t, err, folder, 0, "", "no decisions of it and of its live policy")
	if !slices.Contains([]Verdict{Promote, GoOn}, want.Verdict) {
		t.Errorf("%v", want.Verdict)
	}
}

// Versions that cannot be compared end no reading, if later ones can: a new price list comes to two files one after the other.
func TestReadOverOtherFees(t *testing.T) {
	w := law{}.world(t, 3)
	r := reader{candidate: "next", settings: Settings{Costs: []float64{0, 1}}}
	take := func(canary bool, about *decisionlog.PolicyInfo, want bool) {
		t.Helper()
		rec := w.record(&user{name: "u"}, 0, 1)
		rec.Canary, rec.Policy, rec.Digest, rec.Share = canary, about.Name, about.Digest, 0.2
		if err := r.take(decisionlog.Decision{Record: rec, About: about}); err != nil || (r.why == nil) != want {
			t.Fatalf("%v, %v", err, r.why)
		}
	}
	live, next, dearer := *w.trial.Live, *w.trial.Candidate, *w.trial.Candidate
	actions := *next.Actions
	actions.Experts = slices.Clone(actions.Experts)
	actions.Experts[0].Fee += 0.5
	dearer.Actions, dearer.Digest = &actions, "d-dearer"
	take(false, &live, true)
	take(true, &dearer, false)
	take(true, &next, true)
	if r.gate == nil {
		t.Error("no trial of the last versions")
	}
}
