package budget

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipe/serve/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// open opens budgets, which the test closes.
func open(t *testing.T, folder string, now func() time.Time, list ...Budget) *Budgets {
	t.Helper()
	b, err := Open(t.Context(), Settings{List: list, Folder: folder}, Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func closing(t *testing.T, b *Budgets) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func use(t *testing.T, b *Budgets, key, policy string) *Use {
	t.Helper()
	u, err := b.For(key, policy)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestValidate(t *testing.T) {
	good := Budget{Name: "a", Money: 1, Per: ledger.Day, Of: Total}
	for want, change := range map[string]func(*Settings){
		`list[0].name: ""`:              func(s *Settings) { s.List[0].Name = "" },
		`list[0].name: "a/b"`:           func(s *Settings) { s.List[0].Name = "a/b" },
		`list[0] (a).money, tokens: -`:  func(s *Settings) { s.List[0].Money = -1 },
		`money, tokens: NaN`:            func(s *Settings) { s.List[0].Money = math.NaN() },
		`money, tokens: set one`:        func(s *Settings) { s.List[0].Tokens = 1 },
		`per: "week"`:                   func(s *Settings) { s.List[0].Per = "week" },
		`of: "me"`:                      func(s *Settings) { s.List[0].Of = "me" },
		`only: all calls`:               func(s *Settings) { s.List[0].Only = []string{"x"} },
		`at_end: "stop"`:                func(s *Settings) { s.List[0].AtEnd = "stop" },
		`list[1] (a): the name is used`: func(s *Settings) { s.List = append(s.List, good) },
		`shared: there are no budgets`:  func(s *Settings) { s.List, s.Shared = nil, "x" },
	} {
		s := Settings{List: []Budget{good}}
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
	if err := (&Settings{List: []Budget{good}}).Validate(); err != nil {
		t.Error(err)
	}
}

// A request keeps the prices that it first saw, though others move them before they are read again.
func TestPricesOfARequest(t *testing.T) {
	b := open(t, "", nil, Budget{Name: "all", Money: 1, Per: ledger.Month, Of: Total}, Budget{Name: "each", Money: 1, Per: ledger.Month, Of: Expert})
	defer closing(t, b)
	u := use(t, b, "", "")
	choices := []Choice{{Expert: "e", Cost: 1, Use: Amount{Money: 1}}}
	if price, err := u.Price("e", Amount{Money: 1}); price != 0 || err != nil {
		t.Fatal(price, err)
	}
	for _, m := range b.all() {
		m.pacer.mu.Lock()
		m.pacer.price = 2
		m.pacer.mu.Unlock()
	}
	if names, prices := u.Prices(choices); len(names) != 2 || prices[0] != 0 || prices[1] != 0 {
		t.Errorf("%v %v", names, prices)
	}
	if price, err := use(t, b, "", "").Price("e", Amount{Money: 1}); price != 4 || err != nil {
		t.Error(price, err)
	}
}

// Calls of many goroutines at once never take more than the budget, and what they hold is all given back.
func TestConcurrent(t *testing.T) {
	b := open(t, t.TempDir(), nil, Budget{Name: "all", Money: 1, Per: ledger.Month, Of: Total}, Budget{Name: "each", Tokens: 400, Per: ledger.Month, Of: Key})
	var all sync.WaitGroup
	var mu sync.Mutex
	spent, tokens := 0.0, map[string]float64{}
	for g := range 8 {
		all.Go(func() {
			r, key := rand.New(rand.NewPCG(uint64(g), 1)), []string{"a", "b"}[g%2]
			u := use(t, b, key, "p")
			for range 300 {
				most := Amount{Money: 0.01 * r.Float64(), Tokens: math.Floor(5 * r.Float64())}
				h, err := u.Spend("e", most)
				if err != nil {
					if full := IsFull(err); full == nil || !(full.Wait > 0) {
						t.Error(err)
					}
					continue
				}
				used := Amount{most.Money * r.Float64(), math.Floor(most.Tokens * r.Float64())}
				h.Settle(used)
				mu.Lock()
				spent, tokens[key] = spent+used.Money, tokens[key]+used.Tokens
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if spent > 1 || spent < 0.5 || tokens["a"] > 400 || tokens["b"] > 400 || tokens["a"] == 0 {
		t.Errorf("%v, %v", spent, tokens)
	}
	for _, s := range b.States() {
		if math.Abs(s.Held) > 1e-9 || s.Member != "" && s.Spent != tokens[s.Member] {
			t.Errorf("%+v", s)
		}
	}
	closing(t, b)
}

// A budget that one call of several needs is not charged if another has no room.
func TestAllOrNothing(t *testing.T) {
	b := open(t, "", nil, Budget{Name: "big", Money: 10, Per: ledger.Month, Of: Total}, Budget{Name: "small", Money: 1, Per: ledger.Month, Of: Expert, Only: []string{"e"}})
	defer closing(t, b)
	u := use(t, b, "", "")
	var full *FullError
	if _, err := u.Spend("e", Amount{Money: 2}); !errors.As(err, &full) || full.Budget != "small:e" {
		t.Error(err)
	}
	if h, err := u.Spend("other", Amount{Money: 2}); err != nil {
		t.Error(err)
	} else {
		h.Settle(Amount{Money: 1.5})
	}
	if s := b.States(); s[0].Spent != 1.5 || s[1].Spent != 0 || s[0].Held != 0 {
		t.Errorf("%+v", s)
	}
}

// While calls that run hold what is missing, a request may come again soon; else when the period ends.
func TestWait(t *testing.T) {
	now := func() time.Time { return noon }
	b := open(t, "", now, Budget{Name: "all", Money: 1, Per: ledger.Day, Of: Total})
	defer closing(t, b)
	u := use(t, b, "", "")
	h, err := u.Spend("e", Amount{Money: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	if full, _ := u.Full("e", Amount{Money: 0.5}); full == nil || full.Wait != time.Second {
		t.Errorf("%+v", full)
	}
	h.Settle(Amount{Money: 0.9})
	if full, _ := u.Full("e", Amount{Money: 0.5}); full == nil || full.Wait != 12*time.Hour {
		t.Errorf("%+v", full)
	}
}

// A killed process loses at most what it had reserved; prices, traffic and usage come back as they were saved.
func TestRestart(t *testing.T) {
	folder := t.TempDir()
	var at atomic.Int64 // seconds
	at.Store(noon.Unix())
	now := func() time.Time { return time.Unix(at.Load(), 0) }
	one := Budget{Name: "all", Money: 64, Per: ledger.Month, Of: Total}
	b := open(t, folder, now, one)
	u := use(t, b, "", "")
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		at.Add(60)
		h, err := u.Spend("e", Amount{Money: 0.2})
		if err != nil {
			t.Fatal(err)
		}
		h.Settle(Amount{Money: 0.1})
		h.Learn("none", 1000, Tokens{In: 300, Cached: 30, Out: 70}, Amount{Money: 0.1}, Amount{Money: 0.1})
		u.Decided([]Choice{{Expert: "e", Cost: 1, Use: Amount{Money: 0.01}}, {Expert: "e", Cost: r.Float64(), Use: Amount{Money: 0.3}}}, 1)
	}
	before := b.States()[0]
	if err := b.save(); err != nil {
		t.Fatal(err)
	}
	close(b.stop) // the process ends without Close
	b.done.Wait()
	killed := b.totals[0].ledger
	next := open(t, folder, now, one)
	if s := next.States()[0]; s.Price != before.Price || !(s.Price > 0) || s.Spent < 20-1e-9 || s.Spent > 21.5 || s.Due < 0.5*before.Due || s.Due > 2*before.Due {
		t.Errorf("before %+v\nafter %+v", before, s)
	}
	if got := use(t, next, "", "").Expected("e", "none", 1000, Tokens{}); math.Abs(got.In-300) > 5 || math.Abs(got.Out-70) > 5 || math.Abs(got.Cached-30) > 2 {
		t.Errorf("expected %+v", got)
	}
	closing(t, next)
	if err := killed.Close(); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"", "{}", `{"format":1,"members":{"all":{"price":-1}}}`, `{"format":1,"usage":{"e":{"calls":-1}}}`} {
		if err := os.WriteFile(filepath.Join(folder, paceFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), Settings{List: []Budget{one}, Folder: folder}, Options{Now: now}); err == nil || !strings.Contains(err.Error(), paceFile) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What calls use is expected by the policy's means, then by what was seen of the pair at such lengths.
func TestExpected(t *testing.T) {
	u := newUsage()
	if got := u.expected("e", "a", 4000, Tokens{}); got != (Tokens{In: 1000, Out: answer}) {
		t.Errorf("nothing known: %+v", got)
	}
	if got := u.expected("e", "a", 4000, Tokens{In: 10, Out: 20}); got != (Tokens{In: 10, Out: 20}) {
		t.Errorf("the policy knows: %+v", got)
	}
	for range 100 {
		u.see("e", "a", 1000, Tokens{In: 200, Out: 50})
		u.see("e", "a", 100_000, Tokens{In: 30_000, Out: 1000})
	}
	short, long := u.expected("e", "a", 1000, Tokens{}), u.expected("e", "a", 90_000, Tokens{})
	if math.Abs(short.Out-50) > 15 || math.Abs(long.Out-1000) > 50 || math.Abs(short.In-250) > 30 {
		t.Errorf("%+v, %+v", short, long)
	}
	u.see("e", "a", 0, Tokens{In: 1})
	u.see("e", "a", 10, Tokens{})
	if got := u.all()[pairKey("e", "a")]; got.Calls != 200 || !got.isValid() {
		t.Errorf("%+v", got)
	}
}

// The traffic of a day without a server is not taken for a quiet one; after a while the hours of the week are known.
func TestTraffic(t *testing.T) {
	var tr traffic
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC) // a Monday
	rate := func(at time.Time) int {
		if h := at.Hour(); h < 8 {
			return 0
		}
		return 60
	}
	play := func(from, to time.Time) {
		for at := from; at.Before(to); at = at.Add(time.Hour) {
			for i := range rate(at) {
				tr.see(at.Add(time.Duration(i)*time.Minute), memory(ledger.Day, 24*time.Hour))
			}
		}
	}
	play(start, start.AddDate(0, 0, 10))
	tr.resume(start.AddDate(0, 0, 13))
	play(start.AddDate(0, 0, 13), start.AddDate(0, 0, 14))
	for i := range tr.Ends {
		tr.Ends[i] = 1 // as if months had been seen
	}
	for hours, want := range map[int]float64{1: 0, 12: 4 * 60, 24: 16 * 60, 48: 32 * 60} {
		from := start.AddDate(0, 0, 14)
		if got := tr.rest(from, from.Add(time.Duration(hours)*time.Hour)); math.Abs(got-want) > 0.03*want+1 {
			t.Errorf("%d hours: %v, not %v", hours, got, want)
		}
	}
}

// The price is the smallest one at which the target is kept, whatever the requests were.
func TestSolve(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		p := &pacer{}
		n := 1 + r.IntN(40)
		for range n {
			k := 1 + r.IntN(5)
			costs, uses := make([]float32, k), make([]float32, k)
			for a := range k {
				costs[a], uses[a] = float32(r.Float64()), float32(r.ExpFloat64())
			}
			p.last = append(p.last, sample{costs, uses})
		}
		target := r.ExpFloat64()
		p.solve(target)
		least := p.mean(1e12)
		if got := p.mean(p.price); got > target && got > least*(1+1e-6) {
			t.Errorf("uses %v at price %v, target %v", got, p.price, target)
		}
		if p.price > 0 && target > least && p.mean(p.price*(1-1e-6)) <= target && p.mean(p.price*0.999) <= target {
			t.Errorf("a lower price than %v keeps %v", p.price, target)
		}
	}
}

// A target that no price can keep leaves a price at which every request uses its least, and the next target is kept at once.
func TestSolveOutOfReach(t *testing.T) {
	p := &pacer{}
	for range 20 * solveEvery {
		p.see([]float32{0.1, 0.5}, []float32{2, 1}, 1, 1e-9)
	}
	if high := p.now(); p.mean(high) != 1 || high > 10 {
		t.Errorf("price %v, uses %v", high, p.mean(high))
	}
	for range solveEvery {
		p.see([]float32{0.1, 0.5}, []float32{2, 1}, 1, 3)
	}
	if p.now() != 0 {
		t.Errorf("price %v where all fits", p.now())
	}
}

// The first day is guessed from its first hours: a flat one stays flat, and after a rise from a quiet night a quiet evening follows.
func TestShapeOfTheFirstDay(t *testing.T) {
	day := func(rate func(hour float64) float64, until int) *traffic {
		tr := &traffic{}
		start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
		for hour := range until + 1 {
			n := max(1, int(rate(float64(hour))))
			for i := range n {
				tr.see(start.Add(time.Duration(hour)*time.Hour+time.Duration(i)*time.Hour/time.Duration(n)), memory(ledger.Day, 24*time.Hour))
			}
		}
		return tr
	}
	flat := day(func(float64) float64 { return 80 }, 14).shape()
	wave := day(func(hour float64) float64 { return 80 * math.Exp(-1.5*math.Cos(hourAngle*(hour-2))) }, 14).shape()
	for hour := range 24 {
		if got := flat.rate(hour); math.Abs(got-80) > 1 {
			t.Errorf("a flat day: %v at %d", got, hour)
		}
	}
	if peak, evening := wave.rate(14), wave.rate(23); peak < 250 || evening > 60 {
		t.Errorf("%v at 14, %v at 23", peak, evening)
	}
}
