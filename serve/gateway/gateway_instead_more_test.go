package gateway

import (
	"path/filepath"
	"testing"
	"time"

	"pipe/models/policy"
	"pipe/pipeline/decide/decidetest"
	"pipe/serve/budget"
	"pipe/serve/decision"
	"pipe/serve/ledger"
	"pipe/serve/people"
)

// A ticket is no call of a service, and needs no time: people take over also where calls or time are used up.
func TestPeopleTakeOverLate(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Settings)
		large  func(w *world)
	}{
		"calls are used up":        {func(s *Settings) { s.Fallback.Tries = 1 }, func(w *world) { w.large.Text = unsure }},
		"a call fails, no further": {func(s *Settings) { s.Fallback.Tries = 1 }, func(w *world) { w.large.Fault = fault(503) }},
		"time is used up":          {func(s *Settings) { s.Fallback.Deadline = 100 * time.Millisecond }, func(w *world) { w.large.Fault = after(5*time.Second, nil) }},
	} {
		t.Run("cascade, "+name, func(t *testing.T) {
			w, p := peopleIn(t, people.Ticket, func(s *people.Settings) { s.List[0].Answers = []string{"small"} }, func(folder string) {
				writeCascade(t, folder)
				guardCascade(t, folder, 0.01, "small")
			}, c.change)
			c.large(w)
			checkTicket(t, w, p)
		})
		if name == "calls are used up" {
			continue
		}
		t.Run("one decision, "+name, func(t *testing.T) {
			fee := 0.3
			w, p := peopleIn(t, people.Ticket, func(s *people.Settings) { s.List[0].Answers = []string{"small"} }, func(folder string) {
				change := func(p *policy.Policy) { expect(p, 0.5, 0.6, 0.3, 0.4) }
				writeAnyPrice(t, folder, "any", change)
				m := decidetest.Guarded(t, anyPricePolicy(change), func(g *policy.Guarantee) {
					limit := 1.
					g.Threshold, g.Instead = &limit, policy.Instead{Name: "small", Fee: &fee}
				})
				if err := m.WriteFile(filepath.Join(folder, "any.onnx")); err != nil {
					t.Fatal(err)
				}
			}, c.change)
			c.large(w)
			checkTicket(t, w, p)
		})
	}
}

// checkTicket checks that a request gets a ticket for what is not accepted.
func checkTicket(t *testing.T, w *world, p *people.People) {
	t.Helper()
	a := w.post(t, askPeople)
	if _, found, err := p.ClaimNext("ana"); a.status != 202 || !found || err != nil {
		t.Fatal(a, found, err)
	}
	if len(w.large.Requests()) != 1 {
		t.Error("asked", len(w.large.Requests()))
	}
	checkSettled(t, w, a, false, "small", smallNone)
}

// A hedge by the pair that takes over is not the accepted pair.
func TestHedgeOfAcceptedPair(t *testing.T) {
	w := newWorldOf(t, nil, allowHedges, func(folder string, _ *decision.Settings) {
		writeGuarded(t, folder, 0.15, policy.Instead{Name: "large"})
	})
	for range 100 {
		if a := w.post(t, askPeople); a.header.Get("X-Pipe-Expert") != "small" || a.header.Get(headerAccepted) != "true" {
			t.Fatal(a)
		}
	}
	w.small.SetFault(after(10*time.Second, nil))
	a := w.post(t, askPeople)
	rec := w.records(t)[100]
	if a.header.Get("X-Pipe-Expert") != "large" || a.header.Get(headerAccepted) != "false" || rec.Accepted || !rec.AcceptedKnown || rec.Instead != "large" || rec.Executed != largeNone {
		t.Errorf("%v\n%+v", a, rec)
	}
}

// What takes over is charged to budgets and bills as every stage is, once, and the record has a price of each stage.
func TestInsteadIsCharged(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for instead, calls := range map[string]int{policy.Abstain: 2, "large": 2, "large/search": 3} {
			w := newWorldOf(t, nil, func(s *Settings) {
				budgeted(budget.Budget{Name: "all", Money: 10, Per: ledger.Day, Of: budget.Total})(s)
				s.Abstain.Text = "No."
			}, func(folder string, _ *decision.Settings) {
				writeCascadeOf(t, folder, anyPriced)
				guardCascade(t, folder, 0.01, instead)
			})
			w.small.Text, w.large.Text = unsure, unsure
			a := w.askIn(t, "chat", plainRequest("chat", "pipe/any", stream))
			rec, spent := w.records(t)[0], w.api.Budgets()[0].Spent
			if n := len(w.small.Requests()) + len(w.large.Requests()); a.status != 200 || n != calls || len(rec.Cascade) != calls || !near(spent, 0.002*float64(calls)) || !near(rec.Paid(), spent) {
				t.Errorf("%s, stream %v: %d calls, %v spent, %v paid\n%+v\n%+v", instead, stream, n, spent, rec.Paid(), a, rec)
			}
			for i := range rec.Cascade {
				if v := rec.StagePrice(i); !(v >= 0.01) {
					t.Errorf("%s: stage %d has a price of %v", instead, i, v)
				}
			}
		}
	}
}

// A record of a cascade that could not decide has its prices where something takes over, too.
func TestInsteadAfterTime(t *testing.T) {
	w := newWorldOf(t, nil, func(s *Settings) { s.Hedge = nil }, func(folder string, _ *decision.Settings) {
		writeCascadeOf(t, folder, anyPriced)
		guardCascade(t, folder, 0.01, "large/search")
	})
	w.small.Text, w.large.Text = unsure, sure
	w.small.Fault = after(150*time.Millisecond, nil)
	a := w.post(t, askPeople, "X-Pipe-Deadline", "100ms")
	rec := w.records(t)[0]
	if a.status != 200 || a.header.Get(headerStages) != "small/none,large/search" || len(rec.Cascade) != 2 || rec.Executed != largeSearch || rec.Accepted {
		t.Errorf("%v\n%+v", a, rec)
	}
	for i := range rec.Cascade {
		if v := rec.StagePrice(i); !(v >= 0.01) {
			t.Errorf("stage %d has a price of %v", i, v)
		}
	}
}
