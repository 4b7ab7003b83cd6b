package gateway

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/decisionlog"
	"pipe/serve/decision"
	"pipe/serve/people"
	"pipe/serve/policies"
)

const (
	smallSearch = 1
	largeSearch = 3
)

// writeGuarded gives a policy any, which chooses small/search at an expected loss of 0.1, a guarantee.
func writeGuarded(t testing.TB, folder string, threshold float64, instead policy.Instead) {
	t.Helper()
	writeAnyPrice(t, folder, "any", func(*policy.Policy) {})
	replaceGuarded(t, folder, threshold, instead)
}

func replaceGuarded(t testing.TB, folder string, threshold float64, instead policy.Instead) {
	t.Helper()
	m := decidetest.Guarded(t, anyPricePolicy(func(*policy.Policy) {}), func(g *policy.Guarantee) {
		limit := float64(float32(threshold))
		g.Threshold, g.Instead, g.At[0].Lambda = &limit, instead, 0
	})
	if err := m.WriteFile(filepath.Join(folder, "any.onnx")); err != nil {
		t.Fatal(err)
	}
}

// newGuarded is a world with the policy of writeGuarded.
func newGuarded(t testing.TB, threshold float64, instead string, change func(*Settings)) *world {
	t.Helper()
	fee := 0.3
	return newWorldOf(t, nil, change, func(folder string, _ *decision.Settings) {
		writeGuarded(t, folder, threshold, policy.Instead{Name: instead, Fee: &fee})
	})
}

// checkSettled checks the record of the only request, its header, and the metrics.
func checkSettled(t *testing.T, w *world, a answer, accepted bool, instead string, executed int) *decisionlog.Record {
	t.Helper()
	rec := w.records(t)[0]
	if a.header.Get(headerAccepted) != fmt.Sprint(accepted) || !rec.AcceptedKnown || rec.Accepted != accepted || rec.Instead != instead || rec.InsteadFeeKnown == accepted || !accepted && rec.InsteadFee != 0.3 {
		t.Errorf("accepted %v: %q in the header, the record has %v %v, %q at %v", accepted, a.header.Get(headerAccepted), rec.AcceptedKnown, rec.Accepted, rec.Instead, rec.InsteadFee)
	}
	if rec.Executed != executed || a.header.Get(headerDecision) != rec.ID {
		t.Errorf("%d was executed, not %d: %+v", rec.Executed, executed, rec)
	}
	if n := counted(t, w, "pipe_guarantee_decisions_total", "any", fmt.Sprint(accepted), instead); n != 1 {
		t.Errorf("counted %v times", n)
	}
	return rec
}

// What is accepted is answered by its pair. What is not is answered with the configured text in every protocol, whole and streamed, or with
// the configured status; no expert is asked.
func TestAbstain(t *testing.T) {
	for _, caller := range protocolNames {
		for _, stream := range []bool{false, true} {
			for _, text := range []string{"", "I leave that to others."} {
				t.Run(fmt.Sprintf("%s, stream %v, %q", caller, stream, text), func(t *testing.T) {
					w := newGuarded(t, 0.05, policy.Abstain, func(s *Settings) { s.Abstain.Text = text })
					a := w.askIn(t, caller, plainRequest(caller, "pipe/any", stream))
					if text == "" {
						if a.status != 422 || !strings.Contains(a.body, "no answer is accepted") || !strings.Contains(a.body, `"error"`) || strings.Contains(a.header.Get("Content-Type"), "stream") {
							t.Error(a)
						}
					} else if got := read(t, caller, a, stream); a.status != 200 || got.text != text || got.model != policy.Abstain || got.finish != "stop" {
						t.Errorf("%d %+v\n%s", a.status, got, a.body)
					}
					if len(w.small.Requests())+len(w.large.Requests()) > 0 || a.header.Get("X-Pipe-Expert") != "" {
						t.Error("an expert was asked")
					}
					rec := checkSettled(t, w, a, false, policy.Abstain, -1)
					if rec.Action != smallSearch || !strings.HasPrefix(rec.Error, "abstained") || len(rec.Attempts) > 0 || rec.FeeKnown {
						t.Errorf("%+v", rec)
					}
					if n := counted(t, w, "pipe_guarantee_fees_total", "any", policy.Abstain); n != 0.3 {
						t.Errorf("fees %v", n)
					}
				})
			}
		}
	}
	w := newGuarded(t, 0.15, policy.Abstain, nil)
	a := w.post(t, askPeople)
	if a.status != 200 || a.header.Get("X-Pipe-Expert") != "small" {
		t.Error(a)
	}
	if a := w.post(t, askPeople, "X-Pipe-Lambda", "2"); a.status != 200 || a.header.Get(headerAccepted) != "true" || counted(t, w, "pipe_guarantee_decisions_total", "any", "unpromised") != 1 {
		t.Error("a price that nothing is promised at:", a)
	}
	checkSettled(t, w, a, true, "", smallSearch)
}

// A conversation of OpenAI's Responses goes on after an answer that was none.
func TestAbstainedResponseIsKept(t *testing.T) {
	for _, stream := range []bool{false, true} {
		w := newGuarded(t, 0.05, policy.Abstain, func(s *Settings) { s.Abstain.Text = "Not now." })
		a := w.postTo(t, "/v1/responses", fmt.Sprintf(`{"model":"pipe/any","input":"Is it so?","stream":%v}`, stream), "Content-Type", "application/json")
		_, id, _ := strings.Cut(a.body, `"id":"resp_`)
		if !strings.Contains(a.body, `"id":"resp_`) {
			_, id, _ = strings.Cut(a.body, `"id":"`)
		} else {
			id = "resp_" + id
		}
		id, _, _ = strings.Cut(id, `"`)
		again := w.postTo(t, "/v1/responses", fmt.Sprintf(`{"model":"pipe","input":"And now?","previous_response_id":%q}`, id), "Content-Type", "application/json")
		if again.status != 200 || !strings.Contains(string(w.small.Requests()[0].Body), "Not now.") {
			t.Errorf("stream %v: %q: %v\n%v", stream, id, again, a.body)
		}
	}
}

// A pair takes over what is not accepted, and also where the accepted pair fails. A failure where nobody takes over is an error, as ever.
func TestPairInstead(t *testing.T) {
	for name, c := range map[string]struct {
		threshold float64
		instead   string
		small     int // the status of the expert small
		status    int
		accepted  bool
		executed  int
	}{
		"accepted":               {0.15, "large", 200, 200, true, smallSearch},
		"not accepted":           {0.05, "large", 200, 200, false, largeNone},
		"a pair with advice":     {0.05, "large/search", 200, 200, false, largeSearch},
		"the accepted one fails": {0.15, "large", 503, 200, false, largeNone},
		"and nobody takes over":  {0.15, policy.Abstain, 503, 502, true, -1},
		"it fails itself":        {0.05, "small", 503, 502, false, -1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newGuarded(t, c.threshold, c.instead, nil)
			if c.small != 200 {
				w.small.Fault = fault(c.small)
			}
			a := w.post(t, askPeople)
			if a.status != c.status {
				t.Fatal(a)
			}
			instead := c.instead
			if c.accepted {
				instead = ""
			}
			rec := checkSettled(t, w, a, c.accepted, instead, c.executed)
			if rec.Action != smallSearch || (rec.Error == "") != (c.status == 200) || rec.FeeKnown != (c.status == 200) {
				t.Errorf("%+v", rec)
			}
			if c.instead == "large" && c.small == 200 && !c.accepted && len(w.small.Requests()) > 0 {
				t.Error("the pair that is not accepted was asked")
			}
		})
	}
}

// People take over with a ticket, whatever their hours; not where the caller does not want them.
func TestPeopleInstead(t *testing.T) {
	fee := 0.3
	w, p := peopleIn(t, people.Ticket, func(s *people.Settings) { s.List[0].Answers = []string{"small"} }, func(folder string) {
		writeAnyPrice(t, folder, "any", func(p *policy.Policy) { expect(p, 0.5, 0.6, 0.3, 0.4) })
		m := decidetest.Guarded(t, anyPricePolicy(func(p *policy.Policy) { expect(p, 0.5, 0.6, 0.3, 0.4) }), func(g *policy.Guarantee) {
			g.Threshold, g.Instead = new(float64), policy.Instead{Name: "small", Fee: &fee}
		})
		if err := m.WriteFile(filepath.Join(folder, "any.onnx")); err != nil {
			t.Fatal(err)
		}
	}, nil)
	a := w.post(t, askPeople)
	at := a.header.Get("Location")
	if a.status != 202 || a.header.Get("X-Pipe-Expert") != "small" || a.header.Get(headerAccepted) != "false" || !strings.HasPrefix(at, "/v1/people/tickets/") || len(w.large.Requests()) > 0 {
		t.Fatal(a)
	}
	i, found, err := p.ClaimNext("ana")
	if err != nil || !found {
		t.Fatal(found, err)
	}
	if _, err := p.Answer(i.ID, "ana", i.Claim.Token, people.Said{Text: "So it is."}); err != nil {
		t.Fatal(err)
	}
	if done := w.get(t, at); done.status != 200 || !strings.Contains(done.body, "So it is.") {
		t.Error(done)
	}
	without := w.post(t, askPeople, "X-Pipe-Without", "expert=small")
	if without.status != 502 || !strings.Contains(without.body, "small/none, which takes what is not accepted, is left out") {
		t.Error(without)
	}
	records := w.records(t)
	if rec := records[0]; rec.Action != largeNone || rec.Executed != smallNone || !rec.AcceptedKnown || rec.Accepted || rec.Instead != "small" || rec.InsteadFee != 0.3 || rec.Error != "" {
		t.Errorf("%+v", rec)
	}
	if rec := records[1]; rec.Executed != -1 || rec.Error == "" {
		t.Errorf("%+v", rec)
	}
}

// A start is refused where what takes over is not there. A policy that is loaded later answers no chat then.
func TestGuaranteeWithoutTaker(t *testing.T) {
	folder := ""
	w := newWorldOf(t, nil, nil, func(at string, _ *decision.Settings) {
		folder = at
		writeAnyPrice(t, at, "any", func(*policy.Policy) {})
	})
	if a := w.post(t, askPeople); a.status != 200 || a.header.Get(headerAccepted) != "" {
		t.Fatal(a)
	}
	set := w.decider.Policies()
	before := digestOf(t, set, "any")
	replaceGuarded(t, folder, 0.05, policy.Instead{Name: "large"})
	for end := time.Now().Add(10 * time.Second); digestOf(t, set, "any") == before; time.Sleep(10 * time.Millisecond) {
		if set.Reload(t.Context()); time.Now().After(end) {
			t.Fatal("the file is not loaded again")
		}
	}
	if a := w.post(t, askPeople); a.status != 200 || a.header.Get("X-Pipe-Expert") != "large" {
		t.Error(a)
	}
	if err := w.api.Reload(func() Settings {
		s := w.settings()
		delete(s.Experts, "large")
		return s
	}(), func([]string) {}); err != nil {
		t.Fatal(err)
	}
	const want = `leaves what it does not accept (its guarantee) to large, which is not configured`
	if a := w.post(t, askPeople); a.status != 400 || !strings.Contains(a.body, want) {
		t.Error(a)
	}
	if a := w.post(t, question+`}`); a.status != 200 {
		t.Error("the other policy answers:", a)
	}
	s := w.settings()
	delete(s.Experts, "large")
	api, err := New(w.decider, nil, slog.New(slog.DiscardHandler), s)
	if err == nil {
		api.Close()
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Error("a start:", err)
	}
	s.Abstain.Status = 200
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "abstain.status") {
		t.Error(err)
	}
}

// digestOf is the digest of the version of a policy that is served.
func digestOf(t *testing.T, set *policies.Set, name string) string {
	p, err := set.Acquire(name)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	return p.Digest
}

// newGuardedCascade is the world of newCascade with a guarantee. It expects a loss of 0.05 of the answer of small/none with a label, and with
// both answers 0.05 of large/none with a label, else 0.5 of small/none.
func newGuardedCascade(t *testing.T, threshold float64, instead string, change func(*Settings)) *world {
	t.Helper()
	return newWorldOf(t, nil, change, func(folder string, _ *decision.Settings) {
		writeCascade(t, folder)
		guardCascade(t, folder, threshold, instead)
	})
}

// guardCascade gives the cascade any in a folder a guarantee.
func guardCascade(t testing.TB, folder string, threshold float64, instead string) {
	t.Helper()
	path, fee, limit := filepath.Join(folder, "any.onnx"), 0.3, float64(float32(threshold))
	m, _, err := cascade.Read(path)
	if err == nil {
		m, err = cascade.WithGuarantee(m, policy.Guarantee{
			Risk: 0.2, Confidence: 0.95, Method: "ltt", Bound: 1, Threshold: &limit, Split: "val", Rows: 1000,
			At: []policy.GuaranteedPrice{{Lambda: 1, Accepted: 0.5, Samples: 500}}, Instead: policy.Instead{Name: instead, Fee: &fee},
		})
	}
	if err == nil {
		err = m.WriteFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The answer that a cascade accepts counts if its guarantee accepts it, whole and streamed: nothing is passed on before that is known. What
// takes over is paid beside the stages; an answer of it that is at hand is not asked for again.
func TestGuaranteedCascades(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for name, c := range map[string]struct {
			small, large string
			threshold    float64
			instead      string
			accepted     bool
			executed     int
			stages, end  string
			text         string
		}{
			"the first":                     {sure, sure, 0.2, policy.Abstain, true, smallNone, "small/none", "accepted", sure},
			"the second":                    {unsure, sure, 0.2, policy.Abstain, true, largeNone, "small/none,large/none", "accepted", sure},
			"none":                          {unsure, unsure, 0.2, policy.Abstain, false, -1, "small/none,large/none", "instead", "Not sure."},
			"every one":                     {unsure, unsure, 0.6, policy.Abstain, true, smallNone, "small/none,large/none", "accepted", unsure},
			"a pair that was asked":         {unsure, unsure, 0.2, "large", false, largeNone, "small/none,large/none", "instead", unsure},
			"a pair that was not asked yet": {sure, sure, 0.01, "large", false, largeNone, "small/none,large/none", "instead", sure},
		} {
			t.Run(fmt.Sprintf("%s, stream %v", name, stream), func(t *testing.T) {
				w := newGuardedCascade(t, c.threshold, c.instead, func(s *Settings) { s.Abstain.Text = "Not sure." })
				w.small.Text, w.large.Text = c.small, c.large
				a := w.askIn(t, "chat", plainRequest("chat", "pipe/any", stream))
				if got := read(t, "chat", a, stream); a.status != 200 || got.text != c.text || a.header.Get(headerStages) != c.stages {
					t.Fatalf("%d %+v %v\n%s", a.status, got, a.header, a.body)
				}
				if len(w.small.Requests()) != 1 || len(w.large.Requests()) != strings.Count(c.stages, ",") {
					t.Error("asked", len(w.small.Requests()), len(w.large.Requests()))
				}
				instead := c.instead
				if c.accepted {
					instead = ""
				}
				billed := counted(t, w, "pipe_fees_total", "small") + counted(t, w, "pipe_fees_total", "large")
				rec := checkSettled(t, w, a, c.accepted, instead, c.executed)
				if billed != 0.002*float64(1+strings.Count(c.stages, ",")) || rec.Paid() != billed || len(rec.Cascade) != 1+strings.Count(c.stages, ",") || rec.PathPropensity() != 1 {
					t.Errorf("%v is billed: %+v", billed, rec)
				}
				if n := counted(t, w, "pipe_cascade_requests_total", "any", c.end); n != 1 {
					t.Errorf("%s is counted %v times", c.end, n)
				}
			})
		}
	}
}

// A path that the policy did not choose is not accepted: a pair failed, or one pair was to answer. An error is one as ever.
func TestGuaranteedCascadeOffItsPath(t *testing.T) {
	w := newGuardedCascade(t, 0.9, "large/search", nil)
	w.small.Fault = fault(503)
	w.large.Text = sure
	if a := w.post(t, askPeople); a.status != 200 || a.header.Get("X-Pipe-Advice") != "search" || a.header.Get(headerStages) != "large/none,large/search" {
		t.Error(a)
	}
	tools := w.post(t, strings.Replace(askPeople, `"messages"`, `"tools":[{"type":"function","function":{"name":"f"}}],"messages"`, 1))
	if tools.status != 200 || tools.header.Get("X-Pipe-Advice") != "search" || tools.header.Get(headerStages) != "" || tools.header.Get(headerAccepted) != "false" {
		t.Error(tools)
	}
	w.large.Fault = fault(503)
	if a := w.post(t, askPeople); a.status != 502 {
		t.Error(a)
	}
	for i, rec := range w.records(t) {
		if !rec.AcceptedKnown || rec.Accepted || (rec.Executed == largeSearch) != (i < 2) || rec.Instead != "large/search" {
			t.Errorf("%d: %+v", i, rec)
		}
	}
}
