package decision

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pipe/models/policy"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/decisionlog"
	"pipe/serve/ledger"
)

// planted is a world of rows with true expected losses, which a policy estimates with errors.
type planted struct {
	r     *rand.Rand
	bound *lossBound
	pairs int
}

// row draws a row: true expected losses, the estimates of it, fees, and which pairs are allowed. Estimates err by as much as the
// bound admits, or by anything if it knows only the range of losses.
func (w *planted) row() (truth []float64, loss, cost []float32, allowed []bool) {
	truth, loss, cost, allowed = make([]float64, w.pairs), make([]float32, w.pairs), make([]float32, w.pairs), make([]bool, w.pairs)
	for i := range truth {
		truth[i] = w.r.Float64()
		off := w.r.Float64()*2 - 1
		switch {
		case w.bound.losses == nil && off > 0:
			off *= w.bound.below[i] // the estimate is too high
		case w.bound.losses == nil:
			off *= w.bound.above[i]
		}
		loss[i] = float32(truth[i] + off)
		fee := 0.1 * float32(i)
		cost[i], allowed[i] = loss[i]+fee, w.r.IntN(5) > 0
		truth[i] += float64(fee)
	}
	return truth, loss, cost, allowed
}

// TestMonthsOfExploration is the law of the ledger of exploration: in 1,000 planted months, neither the bound nor the true
// expected extra cost of any day is above the allowance.
func TestMonthsOfExploration(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	const months = 1000
	used, real, most, refused := 0.0, 0.0, 0.0, 0
	for month := range months {
		r := rand.New(rand.NewPCG(uint64(month), 8))
		w := &planted{r: r, pairs: 2 + r.IntN(6), bound: &lossBound{losses: []float64{0, 1}}}
		if month%2 == 0 {
			w.bound = &lossBound{above: make([]float64, w.pairs), below: make([]float64, w.pairs)}
			for i := range w.bound.above {
				w.bound.above[i], w.bound.below[i] = 0.2*r.Float64(), 0.2*r.Float64()
			}
		}
		e := []Explore{{Epsilon: 0.2}, {Softmax: 0.3}, {SquareCB: true}}[month%3]
		allowance := 0.2 + 3*r.Float64()
		at := time.Date(2026, time.Month(1+month), 1, 0, 0, 0, 0, time.UTC)
		var clock atomic.Int64
		clock.Store(at.Unix())
		l, err := ledger.Open("test", ledger.Settings{Cost: allowance, Per: ledger.Day}, ledger.Options{Now: func() time.Time { return time.Unix(clock.Load(), 0) }})
		if err != nil {
			t.Fatal(err)
		}
		bounded, actual := map[string]float64{}, map[string]float64{}
		for end, n := at.AddDate(0, 1, 0), int64(0); at.Before(end); at = at.Add(time.Duration(r.ExpFloat64() * float64(40*time.Minute))) {
			clock.Store(at.Unix())
			truth, loss, cost, allowed := w.row()
			greedy := -1
			for i, ok := range allowed {
				if ok && (greedy < 0 || cost[i] < cost[greedy]) {
					greedy = i
				}
			}
			if greedy < 0 {
				continue
			}
			n++
			p := make([]float64, w.pairs)
			e.at(n).propensities(p, allowed, greedy, cost)
			extra := w.bound.extra(p, greedy, loss, cost)
			_, ok := l.Spend(extra)
			if !ok {
				if err := l.Reserve(); err != nil {
					t.Fatal(err)
				}
				if _, ok = l.Spend(extra); !ok {
					refused++
					continue
				}
			}
			day := at.Format(time.DateOnly)
			bounded[day] += extra
			for i, v := range p {
				actual[day] += v * (truth[i] - truth[greedy])
			}
		}
		for day, sum := range bounded {
			used, real, most = used+sum/allowance, real+actual[day]/allowance, max(most, actual[day]/allowance)
			if sum > allowance*(1+1e-9) || actual[day] > sum+1e-6 {
				t.Fatalf("month %d, %s: the bound %v and the truth %v are not within %v", month, day, sum, actual[day], allowance)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("of the allowance, a month spent %.1f days by the bound and %.1f in truth, at most %.2f on one day; %d decisions did not explore for it", used/months, real/months, most, refused)
	if used < 5*months || real <= 0 || refused == 0 {
		t.Error("the law says little")
	}
}

// withLedger explores any-price policies with a ledger.
func withLedger(cost float64, losses []float64, folder string) Settings {
	s := DefaultSettings()
	s.Seed = 3
	s.Explore = Explore{Epsilon: 0.5, Folder: folder, Ledger: &Ledger{Settings: ledger.Settings{Cost: cost, Per: ledger.Day}, Losses: losses}}
	return s
}

// TestLedgerOfDecisions spends the allowance of a day, and checks the propensities before and after, the metrics and what a
// new process does.
func TestLedgerOfDecisions(t *testing.T) {
	folder := t.TempDir()
	w := newWorld(t, withLedger(2, []float64{0, 1}, folder))
	x, explored := numbers(5, 1), 0
	for n := range 4000 {
		r := w.ask(t, Request{Inputs: features(x)}).Records[0]
		if r.Propensity[r.Greedy] < 1 {
			explored++
		} else if r.Action != r.Greedy {
			t.Fatalf("decision %d: pair %d has propensity 0: %v", n, r.Action, r.Propensity)
		}
		if s := w.Exploration().Ledger; s.Spent > 2 {
			t.Fatalf("decision %d: %+v", n, s)
		} else if s.Full {
			break
		}
		time.Sleep(time.Millisecond)
	}
	s := w.Exploration().Ledger
	if explored < 2 || !s.Full || s.Spent < 1 {
		t.Errorf("%d explored: %+v", explored, s)
	}
	if r := w.ask(t, Request{Inputs: features(x)}).Records[0]; r.Propensity[r.Greedy] != 1 || r.Action != r.Greedy {
		t.Errorf("it explores when the day is spent: %+v", r)
	}
	before := w.ask(t, Request{Inputs: features(x), NoExplore: true}) // without exploration nothing is counted
	if before.Records[0].Propensity[before.Records[0].Greedy] != 1 {
		t.Error("NoExplore explores")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	again := newWorld(t, withLedger(2, []float64{0, 1}, folder))
	if got := again.Exploration().Ledger; math.Abs(got.Spent-s.Spent) > 1e-9 {
		t.Errorf("after a restart %v, before %v", got.Spent, s.Spent)
	}
}

// TestLedgerNeedsBound checks which policies a ledger takes.
func TestLedgerNeedsBound(t *testing.T) {
	w := newWorld(t, DefaultSettings())
	if _, err := New(w.set, w.log, nil, nil, withLedger(1, nil, "")); err == nil || !strings.Contains(err.Error(), `decision.explore.ledger: the losses of policy "any" are not bounded: its file has no calibration`) || !strings.Contains(err.Error(), "set losses there") {
		t.Errorf("%v", err)
	}
	p := decidetest.AnyPrice(dim)
	c := policy.Calibration{Error: 0.1}
	for i, name := range p.Actions.Names() {
		c.Pairs = append(c.Pairs, policy.CalibrationPair{Pair: name, Error: 0.01 * float64(i), Low: -0.03, High: 0.02})
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	p.Info = map[string]string{policy.CalibrationKey: string(text)}
	_, info, err := policy.Read(decidetest.WritePolicy(t, p))
	if err != nil {
		t.Fatal(err)
	}
	b, err := newLossBound(info, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, there := range info.Actions.Mask() {
		if !there {
			continue
		}
		if e := 0.01 * float64(i); b.above[i] != max(e, 0.02) || b.below[i] != max(e, 0.03) {
			t.Errorf("pair %d: %v above, %v below", i, b.above[i], b.below[i])
		}
	}
	loss, cost := []float32{0.25, 0.5, 0.75}, []float32{0.25, 0.75, 1}
	known := &lossBound{above: []float64{0.5, 0.125, 0.25}, below: []float64{0.25, 0.5, 0.5}}
	if got := known.extra([]float64{0.5, 0.25, 0.25}, 0, loss, cost); got != 0.25*0.875+0.25*1.25 {
		t.Errorf("by calibration: %v", got)
	}
	if got := (&lossBound{losses: []float64{0, 1}}).extra([]float64{0.5, 0.25, 0.25}, 0, loss, cost); got != 0.5*1.25 {
		t.Errorf("by the range: %v", got)
	}
	c.Pairs = c.Pairs[1:]
	if text, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	info.Info[policy.CalibrationKey] = string(text)
	if _, err := newLossBound(info, nil); err == nil || !strings.Contains(err.Error(), "has nothing about the pair") {
		t.Errorf("%v", err)
	}
	info.Info[policy.CalibrationKey] = `{"pairs": 1}`
	if _, err := newLossBound(info, nil); err == nil || !strings.Contains(err.Error(), "pipe.calibration") {
		t.Errorf("%v", err)
	}
}

// TestLedgerMixture checks the propensities behind a canary when the ledger has room for both policies and for none. The policy
// "fixed" states no costs and is never explored with a ledger.
func TestLedgerMixture(t *testing.T) {
	s := withLedger(1e9, []float64{0, 1}, "")
	s.Canary = []Canary{{Of: "any", Policy: "more", Share: 0.25}}
	w := newWorld(t, s, "more")
	x := numbers(3, 1)
	r := w.ask(t, Request{Inputs: features(x)}).Records[0]
	pairs := 0.0
	for _, ok := range r.Available {
		if ok {
			pairs++
		}
	}
	for i, p := range r.Propensity { // both policies are the same
		want := 0.0
		if r.Available[i] {
			want = 0.5 / pairs
		}
		if i == r.Greedy {
			want += 0.5
		}
		if math.Abs(p-want) > 1e-12 || math.Abs(r.OwnPropensity[i]-want) > 1e-12 {
			t.Errorf("pair %d: %v, own %v, want %v", i, p, r.OwnPropensity[i], want)
		}
	}
	if err := w.exploring.ledger.Close(); err != nil { // no room
		t.Fatal(err)
	}
	r = w.ask(t, Request{Inputs: features(x)}).Records[0]
	if r.Propensity[r.Greedy] != 1 || r.OwnPropensity[r.Greedy] != 1 || r.Action != r.Greedy {
		t.Errorf("without room: %+v", r)
	}
	if r := w.ask(t, Request{Policy: "fixed", Inputs: features(x)}).Records[0]; r.Propensity[r.Greedy] != 1 {
		t.Errorf("a policy without costs: %+v", r)
	}
}

// TestNotExploredIsSaid checks that the log names a policy that is not explored because it states no costs, once.
func TestNotExploredIsSaid(t *testing.T) {
	for e, want := range map[Explore]int{{SquareCB: true}: 1, {Softmax: 1}: 1, {Epsilon: 0.1}: 0, {}: 0} {
		w := newWorld(t, DefaultSettings())
		var text bytes.Buffer
		s := DefaultSettings()
		s.Explore = e
		d, err := New(w.set, w.log, nil, slog.New(slog.NewJSONHandler(&text, nil)), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"fixed", "any", "fixed"} {
			res, err := d.Decide(t.Context(), Request{Policy: name, Inputs: features(numbers(1, 1))})
			if err != nil {
				t.Fatal(err)
			}
			if err := res.Done(); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Count(text.String(), `"msg":"a policy is not explored","policy":"fixed","reason":"it states no expected costs"`); got != want {
			t.Errorf("%v: said %d times: %s", e, got, &text)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSilence checks that exploration stops when no outcome comes any more, and goes on with the next one, also after a
// restart. Late outcomes count; comments and outcomes that were known do not.
func TestSilence(t *testing.T) {
	folder := t.TempDir()
	s := DefaultSettings()
	s.Explore = Explore{SquareCB: true, OutcomesWithin: 10, Folder: folder}
	w, x := newWorld(t, s), numbers(5, 1)
	ask := func() *decisionlog.Record { return w.ask(t, Request{Inputs: features(x)}).Records[0] }
	explores := func(r *decisionlog.Record) bool { return r.Propensity[r.Greedy] < 1 }
	var all []*decisionlog.Record
	for n := range 14 {
		r := ask()
		if all = append(all, r); explores(r) != (n < 10) {
			t.Fatalf("decision %d after the start: %v", n, r.Propensity)
		}
	}
	loss := func(r *decisionlog.Record) decisionlog.Outcome {
		v := 0.5
		return decisionlog.Outcome{ID: r.ID, Loss: &v}
	}
	tell := func(o decisionlog.Outcome) {
		if _, err := w.Outcome(o); err != nil {
			t.Fatal(err)
		}
	}
	tell(decisionlog.Outcome{ID: all[0].ID, Comment: "no loss"})
	if explores(ask()) || !w.Exploration().Silent {
		t.Error("a comment starts exploration")
	}
	tell(loss(all[1])) // late
	for n := range 25 {
		if r := ask(); !explores(r) {
			t.Fatalf("decision %d with outcomes that come late: %v", n, r.Propensity)
		}
		if n%9 == 8 {
			tell(loss(all[2+n/9]))
		}
	}
	tell(loss(all[1])) // a duplicate
	for range 5 {
		ask()
	}
	if explores(ask()) {
		t.Error("a duplicate counts as an outcome")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	count := w.exploring.of("any").Load()
	w = newWorld(t, s)
	if explores(ask()) || w.exploring.of("any").Load() != count+1 {
		t.Errorf("a restart forgets: %d decisions, before %d", w.exploring.of("any").Load(), count)
	}
	if err := os.WriteFile(filepath.Join(folder, countsFile), []byte(`{"format":1,"decisions":{"any":-1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(w.set, w.log, nil, nil, s); err == nil || !strings.Contains(err.Error(), countsFile) {
		t.Errorf("%v", err)
	}
}

// TestSilenceWithoutLog checks that a server without a log, to which no outcome can come, goes on exploring.
func TestSilenceWithoutLog(t *testing.T) {
	s := DefaultSettings()
	s.Explore = Explore{Epsilon: 0.5, OutcomesWithin: 3}
	w := newWorld(t, DefaultSettings())
	d, err := New(w.set, nil, nil, nil, s)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		res, err := d.Decide(t.Context(), Request{Inputs: features(numbers(5, 1))})
		if err != nil {
			t.Fatal(err)
		}
		if r := res.Records[0]; r.Propensity[r.Greedy] == 1 {
			t.Fatal("exploration stopped")
		}
		if err := res.Done(); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLedgerIsFair checks that pairs are drawn as often as their logged propensities say, while the ledger lets some decisions explore
// and others not, also behind a canary.
func TestLedgerIsFair(t *testing.T) {
	const rows = 3000
	s := withLedger(60, []float64{0, 1}, "")
	s.Explore.Epsilon, s.Explore.SquareCB, s.Explore.Gamma = 0, true, 20
	s.Canary = []Canary{{Of: "any", Policy: "more", Share: 0.3}}
	w, x := newWorld(t, s, "more"), numbers(31, rows)
	var sum, variance []float64
	explored, stayed := 0, 0
	for n := range rows {
		r := w.ask(t, Request{Inputs: features(x[n*dim : (n+1)*dim])}).Records[0]
		if sum == nil {
			sum, variance = make([]float64, len(r.Propensity)), make([]float64, len(r.Propensity))
		}
		if r.OwnPropensity[r.Greedy] < 1 {
			explored++
		} else {
			stayed++
		}
		for i, p := range r.Propensity {
			sum[i] -= p
			variance[i] += p * (1 - p)
		}
		sum[r.Action]++
	}
	t.Logf("%d explored, %d did not", explored, stayed)
	if explored < 50 || stayed < 50 {
		t.Errorf("%d explored, %d did not: the law says little", explored, stayed)
	}
	for i := range sum {
		if z := sum[i] / math.Sqrt(max(variance[i], 1e-12)); math.Abs(z) > 4.5 {
			t.Errorf("pair %d was drawn %.1f times more often than its propensities say, %.1f standard deviations", i, sum[i], z)
		}
	}
}
