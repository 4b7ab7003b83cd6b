package gateway

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/serve/budget"
	"pipe/serve/decision"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/patience"
	"pipe/serve/ledger"
)

// anyPriced makes the cascade of writeCascade one for any price. Half of the answers of small/none are expected to name no label, and
// then large/none is asked.
func anyPriced(p *cascade.Policy) {
	r := policy.DefaultPriceRange()
	p.Prices, p.Range, p.Info = &r, 1, worthOfLoss(1)
	p.States[0].Later = make([]float64, p.Actions.Len()*p.Actions.Len())
	p.States[0].Later[smallNone*p.Actions.Len()+largeNone] = 0.5
}

// newPricedCascade is newCascade with a cascade for any price.
func newPricedCascade(t testing.TB, change func(*Settings), more ...func(*decision.Settings)) *world {
	t.Helper()
	return newWorldOf(t, nil, change, func(folder string, s *decision.Settings) {
		writeCascadeOf(t, folder, anyPriced)
		for _, m := range more {
			m(s)
		}
	})
}

// near reports whether two numbers are the same but for the rounding of float32.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-5 }

// The prices of a request hold in every stage, in every protocol of callers, whole and streamed, from headers and from the body.
func TestCascadePrices(t *testing.T) {
	for _, caller := range protocolNames {
		for _, stream := range []bool{false, true} {
			for name, c := range map[string]struct {
				body, header, value string
				stages              string
				cost                float64 // that the first decision expects
			}{
				"as trained":              {"", "", "", "small/none,large/none", 0.11},
				"large is dear":           {"", "X-Pipe-Fees", "expert=large:1", "small/none", 0.585},
				"large is dear, body":     {`{"prices":{"experts":{"large":1}}}`, "", "", "small/none", 0.585},
				"large is a little dear":  {"", "X-Pipe-Fees", "expert=large:0.07", "small/none,large/none", 0.12},
				"a pair is dear":          {`{"prices":{"pairs":{"large/none":0.9}}}`, "", "", "small/none", 0.56},
				"small is dear":           {"", "X-Pipe-Fees", "expert=small:0.3", "large/none", 0.25},
				"large is left out":       {"", "X-Pipe-Without", "expert=large", "small/none", 0.585},
				"small is left out, body": {`{"unavailable":{"experts":["small"]}}`, "", "", "large/none", 0.25},
			} {
				t.Run(fmt.Sprintf("%s, %s, stream %v", caller, name, stream), func(t *testing.T) {
					w := newPricedCascade(t, nil)
					w.small.Text, w.large.Text = unsure, sure
					body := plainRequest(caller, "pipe/any", stream)
					if c.body != "" {
						body = strings.TrimSuffix(body, "}") + `,"pipe":` + c.body + `}`
					}
					var header []string
					if c.header != "" {
						header = []string{c.header, c.value}
					}
					a := w.askIn(t, caller, body, header...)
					if a.status != 200 || a.header.Get(headerStages) != c.stages || a.header.Get(headerFallbacks) != "" {
						t.Fatalf("%d %v %s", a.status, a.header, a.body)
					}
					asked := strings.Count(c.stages, ",") + 1
					rec := w.records(t)[0]
					if got := float64(rec.ExpectedCost[rec.Action]); !near(got, c.cost) || len(rec.Cascade) != asked || len(rec.Attempts) != asked || rec.PathPropensity() != 1 || !near(rec.Paid(), 0.002*float64(asked)) {
						t.Errorf("expected cost %v\n%+v", got, rec)
					}
					if billed := counted(t, w, "pipe_fees_total", "small") + counted(t, w, "pipe_fees_total", "large"); !near(billed, rec.Paid()) {
						t.Errorf("%v is billed, %v was paid", billed, rec.Paid())
					}
					w.checkRecord(t, rec)
				})
			}
		}
	}
}

// checkRecord makes every decision of a record again, from what the record says.
func (w *world) checkRecord(t *testing.T, rec *decisionlog.Record) {
	t.Helper()
	p, err := w.decider.Policies().Acquire(rec.Policy)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	info, pairs := p.Cascade(), len(rec.Available)
	rows := cascade.Rows{N: 1, Features: rec.Features, Executed: make([]bool, pairs), Observed: slices.Repeat([]float32{float32(math.NaN())}, info.Columns())}
	for n := 0; ; n++ {
		at := &policy.Prices{Lambda: rec.Lambda, Experts: rec.ExpertFees, Advice: rec.AdviceFees, Pairs: rec.PairFees, Available: rec.Available}
		if rec.StagePairFees != nil && n*pairs < len(rec.StagePairFees) {
			at.Pairs = rec.StagePairFees[n*pairs : (n+1)*pairs]
		}
		if rec.StageAvailable != nil && n*pairs < len(rec.StageAvailable) {
			at.Available = rec.StageAvailable[n*pairs : (n+1)*pairs]
		}
		got, err := p.Next(t.Context(), []*policy.Prices{at}, rows)
		if err != nil {
			t.Fatal(err)
		}
		want := rec.Executed
		if n < len(rec.Cascade) {
			want = rec.Cascade[n].Action
			if price := rec.StagePrice(n); !near(price, at.Fee(want)) {
				t.Errorf("decision %d: a price of %v, want %v", n, price, at.Fee(want))
			}
		}
		if int(got.Action[0]) != want || got.Accept[0] != (n == len(rec.Cascade)) {
			t.Errorf("decision %d is %d again, accepted %v; the record says %d\n%+v", n, got.Action[0], got.Accept[0], want, rec)
		}
		if n == len(rec.Cascade) || rec.Cascade[n].Facts == "" { // passed on as it came
			return
		}
		var facts map[string]any
		if err := json.Unmarshal([]byte(rec.Cascade[n].Facts), &facts); err != nil {
			t.Fatal(err)
		}
		rows.Executed[want] = true
		for i, f := range info.Facts {
			switch v := facts[f.Name].(type) {
			case string:
				rows.Observed[want*len(info.Facts)+i] = float32(slices.Index(f.Values, v))
			case float64:
				rows.Observed[want*len(info.Facts)+i] = float32(v)
			}
		}
	}
}

// A cascade with fixed prices takes masks, and refuses prices as other policies with fixed prices do.
func TestFixedCascadePrices(t *testing.T) {
	w := newCascade(t, nil)
	once := newWorld(t, nil)
	for _, end := range []string{`,"pipe":{"prices":{"experts":{"large":1}}}}`, `,"pipe":{"prices":{"lambda":2}}}`} {
		a, b := w.post(t, staging+end), once.post(t, question+end)
		if a.status != 400 || a.status != b.status || strings.ReplaceAll(a.body, `\"any\"`, `\"claims\"`) != b.body {
			t.Errorf("%d %s, once %d %s", a.status, a.body, b.status, b.body)
		}
	}
	w.small.Text = unsure
	if a := w.post(t, staging+`,"pipe":{"unavailable":{"experts":["large"]}}}`); a.status != 200 || a.header.Get(headerStages) != "small/none" {
		t.Errorf("%d %s", a.status, a.body)
	}
	price := 1.0
	s := w.settings()
	s.Latency = &patience.Latency{Policies: map[string]patience.Lateness{"any": {Deadline: time.Second, Loss: &price}}}
	if _, err := New(w.decider, nil, nil, s); err == nil || !strings.Contains(err.Error(), `policy "any" has fixed prices`) {
		t.Error(err)
	}
}

// The price of a budget is a fee in every stage, and the budgets learn what all stages are expected to use.
func TestCascadeBudgetPrices(t *testing.T) {
	for price, stages := range map[float64]string{0: "small/none,large/none", 100: "small/none,large/none", 1000: "small/none"} {
		folder := t.TempDir()
		pace := fmt.Sprintf(`{"format":1,"members":{"large:large":{"price":%g,"traffic":{}}},"usage":{}}`, price)
		if err := os.WriteFile(filepath.Join(folder, "pace.json"), []byte(pace), 0o666); err != nil {
			t.Fatal(err)
		}
		w := newPricedCascade(t, func(s *Settings) {
			budgeted(budget.Budget{Name: "large", Money: 10, Per: ledger.Day, Of: budget.Expert, Only: []string{"large"}})(s)
			s.Budgets.Folder = folder
		})
		w.small.Text, w.large.Text = unsure, sure
		a := w.post(t, staging+`}`)
		rec := w.records(t)[0]
		if a.status != 200 || a.header.Get(headerStages) != stages || (rec.PairFees != nil) != (price > 0) || rec.StagePairFees != nil {
			t.Errorf("price %v: %d %v\n%+v", price, a.status, a.header, rec)
		}
		if price > 0 && (rec.PairFees[smallNone] != 0 || !(rec.PairFees[largeNone] > 0.0015*price && rec.PairFees[largeNone] < 0.004*price)) {
			t.Errorf("price %v: fees %v", price, rec.PairFees)
		}
		if s := w.state(t); !near(s.Spent, 0.002*float64(strings.Count(stages, "large"))) || s.Held != 0 {
			t.Errorf("price %v: %+v", price, s)
		}
		w.checkRecord(t, rec)
	}
}

// What budgets see of a cascade is what its first pair and the later ones are expected to use.
func TestCascadeBudgetsLearn(t *testing.T) {
	w := newPricedCascade(t, budgeted(budget.Budget{Name: "large", Money: 1e-9, Per: ledger.Month, Of: budget.Expert, Only: []string{"large"}, AtEnd: budget.Refuse}))
	w.small.Text = unsure
	w.post(t, staging+`}`)
	// Half of the requests come to large/none after small/none. Only a price makes them use less, and so there is one, although no first
	// pair that was chosen uses the budget.
	if s := w.state(t); !(s.Price > 0) || w.records(t)[0].Action != smallNone {
		t.Errorf("%+v", s)
	}
}

// Lateness is a fee in every stage: of what is left of the deadline.
func TestCascadeLateness(t *testing.T) {
	loss := 1.0
	w := newPricedCascade(t, func(s *Settings) {
		s.Latency = &patience.Latency{Policies: map[string]patience.Lateness{"any": {Deadline: 150 * time.Millisecond, Loss: &loss}}}
	})
	w.small.Text, w.large.Text = unsure, sure
	w.large.Delay = 100 * time.Millisecond
	for i := range 20 { // nothing is known yet
		if a := w.post(t, staging+`}`, headerDeadline, "10m"); a.header.Get(headerStages) != "small/none,large/none" {
			t.Fatalf("%d: %d %v", i, a.status, a.header)
		}
	}
	if a := w.post(t, staging+`}`); a.header.Get(headerStages) != "small/none,large/none" {
		t.Errorf("in time: %v", a.header)
	}
	// What is left of the deadline when small/none has answered is less than large/none takes.
	w.small.Delay = 120 * time.Millisecond
	if a := w.post(t, staging+`}`); a.header.Get(headerStages) != "small/none,large/none" {
		t.Errorf("a little late: %v", a.header)
	}
	w.large.Delay = 1200 * time.Millisecond
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() { w.post(t, `{"model":"large","messages":[{"role":"user","content":"Is oil good?"}]}`) })
	}
	all.Wait()
	a := w.post(t, staging+`}`)
	if a.header.Get(headerStages) != "small/none" {
		t.Errorf("late: %v", a.header)
	}
	recs := w.records(t)
	if rec := recs[0]; rec.PairFees != nil || rec.StagePairFees != nil {
		t.Errorf("%+v", rec)
	}
	last := recs[len(recs)-1]
	if n := len(last.StagePairFees); n != 8 || !(last.StagePairFees[4+largeNone] > last.PairFees[largeNone]+0.1) || last.StagePairFees[largeNone] != last.PairFees[largeNone] {
		t.Errorf("fees %v, then %v", last.PairFees, last.StagePairFees)
	}
	for _, rec := range recs[len(recs)-3:] {
		w.checkRecord(t, rec)
	}
}

// A switch has its price in every stage, and all services that were asked have the conversation in their caches.
func TestCascadeSessions(t *testing.T) {
	for stages, text := range map[string]string{"small/none,large/none": unsure, "small/none": sure} {
		w := newPricedCascade(t, func(s *Settings) {
			s.Sessions.On = true
			in, cached, out := 10_000.0, 1000.0, 10.0
			for name, e := range s.Experts {
				e.Price = &expert.Price{In: &in, Cached: &cached, Out: &out}
				s.Experts[name] = e
			}
		})
		w.small.Text, w.large.Text = text, sure
		const first = `{"model":"pipe/any","messages":[{"role":"user","content":"Is oil good?"}`
		if a := w.post(t, first+`]}`); a.header.Get(headerStages) != stages {
			t.Fatalf("%v", a.header)
		}
		if a := w.post(t, first+`,{"role":"assistant","content":"yes"},{"role":"user","content":"And now?"}]}`); a.status != 200 {
			t.Fatal(a)
		}
		one, two := w.records(t)[0], w.records(t)[1]
		if one.Session == "" || one.Session != two.Session || two.Turn != 2 || !two.SwitchCostKnown {
			t.Errorf("%+v", two)
		}
		// Both are warm after two stages, and so a switch is free; after one, large would have to read all that small has in its cache.
		if dear := two.PairFees != nil && two.PairFees[largeNone] > two.PairFees[smallNone]+1; dear != (stages == "small/none") {
			t.Errorf("%s: fees %v", stages, two.PairFees)
		}
		w.checkRecord(t, one)
		w.checkRecord(t, two)
	}
}

// What failed is left out of the next decision, and the record says so: the decisions can be made again.
func TestCascadeRecordOfFailures(t *testing.T) {
	for name, faults := range map[string][2]func(int, http.ResponseWriter, *http.Request) bool{"the first": {fault(500), nil}, "the second": {nil, fault(500)}} {
		w := newPricedCascade(t, nil)
		w.small.Text, w.large.Text = unsure, sure
		w.small.Fault, w.large.Fault = faults[0], faults[1]
		if a := w.post(t, staging+`}`); a.status != 200 {
			t.Fatal(a)
		}
		rec := w.records(t)[0]
		failed := map[string]int{"the first": smallNone, "the second": largeNone}[name]
		if n := len(rec.StageAvailable); n != 8 || rec.StageAvailable[n-4+failed] || !rec.Available[failed] {
			t.Errorf("%s: %+v", name, rec)
		}
		w.checkRecord(t, rec)
	}
}

// An any-price policy that decides once, and a cascade that accepts every first answer, have the same prices of a request: what is gathered
// for both is the same.
func TestCascadePricesAreThoseOfOthers(t *testing.T) {
	w := newWorldOf(t, nil, func(s *Settings) {
		loss := 1.0
		s.Latency = &patience.Latency{Policies: map[string]patience.Lateness{"any": {Deadline: time.Millisecond, Loss: &loss}, "priced": {Deadline: time.Millisecond, Loss: &loss}}}
	}, func(folder string, _ *decision.Settings) {
		writeCascadeOf(t, folder, func(p *cascade.Policy) {
			anyPriced(p)
			p.States = p.States[:1]
			p.States[0].Policy, p.States[0].Later = p.Rest, nil
		})
		writeAnyPrice(t, folder, "priced", func(p *policy.Policy) { p.Info = worthOfLoss(1) })
	})
	w.small.Delay, w.large.Delay = 2*time.Millisecond, 2*time.Millisecond
	for range 21 {
		for _, name := range []string{"small", "large"} {
			w.post(t, `{"model":"`+name+`","messages":[{"role":"user","content":"Is oil good?"}]}`)
		}
	}
	header := []string{"X-Pipe-Lambda", "0.5", "X-Pipe-Fees", "expert=small:0.1,expert=large:0.2,advice=search:0.1", "X-Pipe-Without", "pair=small/search", "X-Pipe-Explore", "false"}
	for _, name := range []string{"any", "priced"} {
		if a := w.post(t, strings.Replace(question, "pipe", "pipe/"+name, 1)+`}`, header...); a.status != 200 {
			t.Fatal(a)
		}
	}
	a, b := w.records(t)[0], w.records(t)[1]
	if a.Lambda != 0.5 || a.Lambda != b.Lambda || !slices.Equal(a.ExpertFees, b.ExpertFees) || !slices.Equal(a.AdviceFees, b.AdviceFees) || !slices.Equal(a.Available, b.Available) || a.PairFees == nil {
		t.Errorf("%+v\n%+v", a, b)
	}
	for i, fee := range a.PairFees { // what is learned of the times moves between the two
		if math.Abs(fee-b.PairFees[i]) > 0.002 {
			t.Errorf("%v and %v", a.PairFees, b.PairFees)
		}
	}
}

// The guarantee of a cascade for any price is about the path at the prices of the request, and promises nothing at prices that it does not
// list: such decisions are counted apart.
func TestGuaranteedCascadeAtPrices(t *testing.T) {
	w := newWorldOf(t, nil, nil, func(folder string, _ *decision.Settings) {
		writeCascadeOf(t, folder, anyPriced)
		guardCascade(t, folder, 0.9, policy.Abstain)
	})
	w.small.Text, w.large.Text = unsure, sure
	for _, c := range []struct{ header, value, stages, accepted string }{
		{"X-Pipe-Lambda", "1", "small/none,large/none", "true"},
		{"X-Pipe-Fees", "expert=large:1", "small/none", "unpromised"}, // the file itself goes on at its own prices
		{"X-Pipe-Without", "expert=large", "small/none", "false"},     // a choice among fewer pairs
	} {
		before := counted(t, w, "pipe_guarantee_decisions_total", "any", c.accepted)
		a := w.post(t, askPeople, c.header, c.value)
		if a.header.Get(headerStages) != c.stages && c.accepted != "false" || a.header.Get(headerAccepted) != fmt.Sprint(c.accepted != "false") {
			t.Errorf("%s %s: %v", c.header, c.value, a)
		}
		if n := counted(t, w, "pipe_guarantee_decisions_total", "any", c.accepted) - before; n != 1 {
			t.Errorf("%s %s: counted %v times as %s", c.header, c.value, n, c.accepted)
		}
	}
}
