package session

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// planner lets a law's conversations be planned by Sessions, as the gateway does it: with a policy that expects the true
// losses, and with fees at the plain prices.
type planner struct {
	*law
	t        testing.TB
	sessions *Sessions
	settings Settings
	policy   Policy
	now      time.Time
	name     int
	messages []Message
}

func newPlanner(t testing.TB, l *law, turns float64) *planner {
	t.Helper()
	p := &planner{law: l, t: t, settings: DefaultSettings(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	p.settings.Turns = turns
	var err error
	if p.sessions, err = Open(p.settings, nil); err != nil {
		t.Fatal(err)
	}
	p.policy = Policy{Digest: "law", Advice: make([]Advice, 1), Tokens: true}
	for e, price := range l.price {
		name := fmt.Sprint("expert", e)
		p.policy.Experts = append(p.policy.Experts, Expert{Name: name, Cache: name, Price: func(float64) (Price, bool) { return price, true }})
	}
	return p
}

// body is a text of some bytes.
func body(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'x'
	}
	return b
}

// choose is a chooser.
func (p *planner) choose(c *chat, turn, last int, has caches) int {
	p.now = p.now.Add(5 * time.Second)
	if turn == 0 {
		p.name++
		p.messages = []Message{{Raw: body(100)}, {User: true, Raw: append(body(perToken*p.first-100), fmt.Sprint(p.name)...)}}
	} else if c.long[turn] {
		p.now = p.now.Add(time.Hour)
	}
	loop := c.loop[turn]
	if turn > 0 {
		p.messages = append(p.messages, Message{Raw: body(perToken * p.grows / 2)})
		p.messages = append(p.messages, Message{User: !loop, Raw: body(perToken * (p.grows - p.grows/2))})
	}
	t := p.sessions.Begin(p.now, p.settings, Facts{Messages: p.messages, Bytes: perToken * p.tokens(turn), Loop: loop})
	plan := t.Plan(&p.policy)
	if plan == nil || t.Number() != turn+1 {
		p.t.Fatalf("turn %d of a conversation is number %d, with the plan %v", turn, t.Number(), plan)
	}
	costs := make([]float64, len(p.price))
	best, least, kept := 0, math.Inf(1), NotKept
	for e := range costs {
		plain := p.price[e].In * float64(p.tokens(turn))
		costs[e] = p.loss[c.hard[turn]][e] + plain
		if v := costs[e] + plan.Extra[e]; v < least {
			best, least = e, v
		}
		if t.Stays(p.policy.Experts[e].Name) {
			kept = ByLoop
		}
	}
	if (kept == ByLoop) != loop {
		p.t.Fatalf("a tool loop is %v, seen as %q", loop, kept)
	}
	if loop {
		best = last
	}
	t.Decided(plan, costs, func(e int) float64 { return p.price[e].In * float64(p.tokens(turn)) })
	found := 0
	if has[best] >= 0 {
		found = cached(p.tokens(has[best]))
	}
	t.Done(Answer{
		Plan: plan, Pair: best, Expert: &p.policy.Experts[best], Advice: &p.policy.Advice[0], Kept: kept,
		Tokens: int64(p.tokens(turn)), Cached: int64(found), Written: int64(p.tokens(turn) - found), Billed: p.bill(best, turn, has[best]),
	})
	return best
}

// TestNearOptimum compares the planner with the exact dynamic programme, with a policy that chooses anew in every turn, and with
// one that never switches, on planted conversations. Run it with -v for the figures.
func TestNearOptimum(t *testing.T) {
	sticky, doubtful := plainLaw(), plainLaw()
	sticky.sticky = 0.6
	for _, c := range []struct {
		name  string
		law   *law
		turns float64
		most  float64 // ratio to the optimum
	}{{"independent turns", plainLaw(), 4, 1.03}, {"turns set to 3", doubtful, 3, 1.03}, {"hard turns follow each other", sticky, 4, 1.03}} {
		t.Run(c.name, func(t *testing.T) { compare(t, c.law, c.turns, c.most) })
	}
}

func compare(t *testing.T, l *law, turns, most float64) {
	best := l.optimum()
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 34))
		chats := make([]chat, 1000)
		n := 0
		for i := range chats {
			chats[i] = l.draw(r)
			n += len(chats[i].hard)
		}
		p := newPlanner(t, l, turns)
		bills := map[string]float64{}
		total := func(name string, choose chooser) (float64, string) {
			loss, bill := l.run(chats, choose)
			bills[name] = bill
			return loss + bill, fmt.Sprintf("%.4f (bill %.4f)", loss+bill, bill)
		}
		optimum, a := total("optimum", best.choose)
		planned, b := total("planner", p.choose)
		each, c := total("each", l.eachTurn)
		never, d := total("never", l.never)
		k := p.sessions.Counts()
		t.Logf("seed %d, %d turns: optimum %s, planner %s, each turn %s, never %s; ratio %.4f, each turn %.3f, never %.3f; predicted/billed %.4f; switches %d; bill of the optimum %.4f",
			seed, n, a, b, c, d, planned/optimum, each/optimum, never/optimum, k.Predicted/k.Billed, k.Switches, bills["planner"]/bills["optimum"])
		if planned > most*optimum {
			t.Errorf("seed %d: %.4f of the optimum, more than %v", seed, planned/optimum, most)
		}
		if planned >= each || planned >= never {
			t.Errorf("seed %d: the planner costs %v, choosing anew %v, never switching %v", seed, planned, each, never)
		}
		if ratio := k.Predicted / k.Billed; !(math.Abs(ratio-1) < 0.01) {
			t.Errorf("seed %d: predicted %v of the bill", seed, ratio)
		}
		if k.Turns != int64(n) || k.Sessions != int64(len(chats)) {
			t.Errorf("%d turns of %d, %d conversations of %d", k.Turns, n, k.Sessions, len(chats))
		}
	}
}
