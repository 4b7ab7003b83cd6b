package session

import (
	"math"
	"slices"
	"testing"
	"time"
)

// pair of experts with a conversation at the first one.
type bench struct {
	*Sessions
	settings Settings
	policy   Policy
	now      time.Time
	messages []Message
	bytes    int
}

// newBench has experts "a" and "b" at the same price, and three kinds of advice: none, one that changes before everything, and one
// before the last message.
func newBench(t *testing.T) *bench {
	b := &bench{Sessions: mustOpen(t, DefaultSettings()), settings: DefaultSettings(), now: time.Unix(1e9, 0)}
	price := func(float64) (Price, bool) { return Price{In: 1, Read: 0.1, Write: 1.25, TTL: 5 * time.Minute}, true }
	b.policy = Policy{
		Digest: "p", Experts: []Expert{{"a", "a", price}, {"b", "b", price}}, Tokens: true,
		Advice: []Advice{{}, {Breaks: true}, {Inside: true}, {Lead: "rules"}},
	}
	return b
}

// say adds a message of the user of 2,000 bytes, after an answer.
func (b *bench) say() {
	if len(b.messages) > 0 {
		b.messages = append(b.messages, Message{Raw: body(2000)})
		b.bytes += 2000
	}
	b.messages = append(b.messages, Message{User: true, Raw: append(body(1999), byte(len(b.messages)))})
	b.bytes += 2000
}

func (b *bench) begin() *Turn {
	return b.Begin(b.now, b.settings, Facts{Bytes: b.bytes, Messages: b.messages})
}

// answer answers by a pair; tokens are a quarter of the bytes, and everything that can be found is.
func (b *bench) answer(pair int) {
	t := b.begin()
	plan, levels := t.Plan(&b.policy), len(b.policy.Advice)
	e := pair / levels
	t.Done(Answer{Plan: plan, Pair: pair, Expert: &b.policy.Experts[e], Advice: &b.policy.Advice[pair%levels], Tokens: int64(b.bytes / 4), Cached: int64(plan.states[e].could), Written: 1 << 40, Billed: math.NaN()})
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(b)) }

// The surcharge of a pair is at least 0, and 0 for the cheapest. Staying costs less than leaving by what is cached, as long as it is.
func TestPlan(t *testing.T) {
	b := newBench(t)
	b.say()
	b.answer(0)
	b.say()
	p := b.begin().Plan(&b.policy)
	if p.InUse != 0 || slices.Min(p.Extra) != 0 || p.Extra[0] != 0 {
		t.Errorf("in use %d, extra %v", p.InUse, p.Extra)
	}
	// 500 of 1,500 tokens can be found, of which 9 of 10 are expected to be.
	if want := 1050*1.25 + 450*0.1; !near(p.Prompt[0], want) || !near(p.Prompt[4], 1500*1.25) {
		t.Errorf("prompts %v, want %v", p.Prompt, want)
	}
	// Without samples: what a has in its cache would be found in a later turn by either.
	if want := 450 * (1.25 - 0.1); !near(p.Prompt[4]-p.Prompt[0], want) || p.Extra[4] <= 0 {
		t.Errorf("staying saves %v, want %v", p.Prompt[4]-p.Prompt[0], want)
	}
	// What breaks the prefix finds nothing at a, and leaves nothing there.
	if !near(p.Prompt[1], 1500*1.25) || p.Extra[1] <= p.Extra[2] || p.Extra[2] < p.Extra[0] {
		t.Errorf("advice costs %v", p.Extra[:4])
	}
	// Other text before the conversation is another prefix.
	if !near(p.Prompt[3], 1500*1.25) {
		t.Errorf("%v", p.Prompt[3])
	}
	b.now = b.now.Add(b.policy.price().TTL)
	if p = b.begin().Plan(&b.policy); !near(p.Prompt[0], 1500*1.25) || p.Extra[0] != p.Extra[4] {
		t.Errorf("after the time to live: %v, %v", p.Prompt, p.Extra)
	}
}

func (p *Policy) price() Price {
	price, _ := p.Experts[0].Price(1)
	return price
}

// Services that answered beside the one that is remembered have the conversation in their caches, too.
func TestAnswersBeside(t *testing.T) {
	b := newBench(t)
	b.say()
	one := b.begin()
	of := func(pair int) Answer {
		return Answer{Pair: pair, Expert: &b.policy.Experts[pair/4], Advice: &b.policy.Advice[pair%4], Tokens: int64(b.bytes / 4), Billed: math.NaN()}
	}
	if r := one.Done(of(4), of(0)); !r.New || r.Switched {
		t.Errorf("%+v", r)
	}
	b.say()
	p := b.begin().Plan(&b.policy)
	if p.InUse != 1 || p.states[0].could != 500 || p.states[1].could != 500 || p.Extra[0] != 0 || p.Extra[4] != 0 {
		t.Errorf("in use %d, extra %v, %+v", p.InUse, p.Extra, p.states)
	}
	if c := b.Counts(); c.Turns != 1 || c.Sessions != 1 {
		t.Errorf("%+v", c)
	}
}

// Several experts have the conversation in their caches, each as far as it got, and for its time.
func TestSeveralCaches(t *testing.T) {
	b := newBench(t)
	b.say()
	b.answer(0)
	b.now = b.now.Add(3 * time.Minute)
	b.say()
	b.answer(4)
	b.now = b.now.Add(time.Minute)
	b.say()
	p := b.begin().Plan(&b.policy)
	if p.states[0].could != 500 || p.states[1].could != 1500 || p.InUse != 1 {
		t.Errorf("%+v", p.states)
	}
	b.now = b.now.Add(2 * time.Minute)
	if p = b.begin().Plan(&b.policy); p.states[0].could != 0 || p.states[1].could != 1500 {
		t.Errorf("%+v", p.states)
	}
}

// Experts with the same service and model share a cache, whatever their advice is, as far as the prefix is the same.
func TestSharedCaches(t *testing.T) {
	b := newBench(t)
	b.policy.Experts[1].Cache = "a"
	b.say()
	b.answer(2) // inside: what is before the last message, which is nothing
	b.say()
	if p := b.begin().Plan(&b.policy); p.states[0].could != 0 {
		t.Errorf("%+v", p.states[0])
	}
	b.answer(2) // now one message and its answer are before it
	b.say()
	p := b.begin().Plan(&b.policy)
	if p.states[0].could != 1000 || p.states[1].could != 1000 || p.Extra[0] != p.Extra[4] {
		t.Errorf("%+v, %v", p.states, p.Extra)
	}
	b.answer(3) // rules before everything
	b.say()
	p = b.begin().Plan(&b.policy)
	if p.Prompt[3] >= p.Prompt[0] || p.Prompt[3] != p.Prompt[7] {
		t.Errorf("rules cost %v, none %v", p.Prompt[3], p.Prompt[0])
	}
}

// A conversation whose earlier messages were changed finds nothing in the cache.
func TestEditedConversation(t *testing.T) {
	b := newBench(t)
	b.say()
	b.answer(0)
	b.say()
	b.answer(0)
	b.say()
	b.messages[2].Raw = body(2000)
	turn := b.begin()
	if p := turn.Plan(&b.policy); turn.Number() != 1 || p.states[0].could != 0 { // it may be another one with the same beginning
		t.Errorf("turn %d, %+v", turn.Number(), p.states[0])
	}
	name := func() *Turn {
		return b.Begin(b.now, b.settings, Facts{Named: "chat", Bytes: b.bytes, Messages: b.messages})
	}
	turn = name()
	turn.Done(Answer{Plan: turn.Plan(&b.policy), Expert: &b.policy.Experts[0], Advice: &b.policy.Advice[0], Tokens: 1000, Billed: math.NaN()})
	b.messages[2].Raw = body(2001)
	turn = name()
	if p := turn.Plan(&b.policy); turn.Number() != 2 || p.states[0].could != 0 || p.InUse != 0 {
		t.Errorf("turn %d, %+v", turn.Number(), p.states[0])
	}
}

// What services report corrects the estimates: the share of the cache, in the conversation and for the service, and the tokens of a byte.
func TestObserved(t *testing.T) {
	b := newBench(t)
	l, key := b.learned, b.digests.word([]byte("cache"), []byte("a"))
	for range 30 {
		b.messages, b.bytes = []Message{{Raw: append(body(1000), byte(b.Counts().Turns))}}, 1000
		for range 3 {
			b.say()
			turn := b.begin()
			p := turn.Plan(&b.policy)
			turn.Done(Answer{Plan: p, Expert: &b.policy.Experts[0], Advice: &b.policy.Advice[0], Tokens: int64(b.bytes / 2), Cached: int64(p.states[0].could / 4), Billed: math.NaN()})
		}
	}
	if s := l.service(key); math.Abs(s.tokens-0.5) > 0.02 || math.Abs(s.warm-0.25) > 0.05 || s.cold != 0 || s.writes > 0.1 {
		t.Errorf("%+v", s)
	}
	turn := b.begin()
	if m := turn.entry.find(key); math.Abs(m.Share-0.25) > 0.05 {
		t.Errorf("share %v", m.Share)
	}
	// Nothing is written at a price of its own, so a prompt costs its plain price.
	if p := turn.Plan(&b.policy); p.states[0].price.Write > 1.05 {
		t.Errorf("%+v", p.states[0].price)
	}
	l.sent(key, call{tokens: 1e9, bytes: 2e9, found: -1})
	if s := l.service(key); s.warm < 0.2 {
		t.Errorf("a service that says nothing of its cache changed it: %+v", s)
	}
}

// Without a price of one expert nothing is planned.
func TestUnknownPrice(t *testing.T) {
	b := newBench(t)
	b.say()
	b.policy.Experts[1].Price = func(float64) (Price, bool) { return Price{}, false }
	if p := b.begin().Plan(&b.policy); p != nil {
		t.Errorf("%+v", p)
	}
	b.policy.Experts[1].Price = nil // it never answers
	p := b.begin().Plan(&b.policy)
	if p == nil || slices.Max(p.Extra[4:]) != 0 || slices.ContainsFunc(p.Extra, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
		t.Errorf("%+v", p)
	}
}

// A saving of later turns counts as often as it is made: an expert that is cheaper in each turn is worth the price of a prompt
// that must be written, if enough turns follow.
func TestLaterTurnsCount(t *testing.T) {
	for _, c := range []struct {
		turns  float64
		leaves bool
	}{{0, false}, {0.05, false}, {5, true}, {20, true}} {
		b := newBench(t)
		dear, cheap := Price{In: 10, Read: 1, Write: 10, TTL: time.Hour}, Price{In: 2, Read: 0.2, Write: 2, TTL: time.Hour}
		b.policy.Experts[0].Price = func(float64) (Price, bool) { return dear, true }
		b.policy.Experts[1].Price = func(float64) (Price, bool) { return cheap, true }
		b.settings.Turns = c.turns
		b.learned.warmUp("a", b)
		for range 20 {
			b.learned.decided("p", []float64{0, 0}) // both answer equally well
		}
		b.say()
		for range 9 { // a long conversation
			b.say()
		}
		b.answer(0)
		b.say()
		p := b.begin().Plan(&b.policy)
		// What the policy sees: its fees at the plain price, and the surcharge.
		stay, leave := 10*p.states[0].tokens+p.Extra[0], 2*p.states[1].tokens+p.Extra[4]
		if (leave < stay) != c.leaves {
			t.Errorf("%v more turns: staying %v, leaving %v", c.turns, stay, leave)
		}
	}
}

// warmUp teaches that all that can be found is found.
func (l *learned) warmUp(name string, b *bench) {
	for _, name := range []string{name, "b"} {
		l.sent(b.digests.word([]byte("cache"), []byte(name)), call{tokens: 1e8, bytes: 4e8, could: 1e8, found: 1e8})
	}
}

// BenchmarkPlan is what a decision waits for: four experts with caches of their own, four kinds of advice, a conversation of 40 messages.
//
//	go test ./serve/gateway/session -run '^$' -bench Plan
func BenchmarkPlan(b *testing.B) {
	s, settings := mustOpen(b, DefaultSettings()), DefaultSettings()
	p := Policy{Digest: "p", Advice: make([]Advice, 4), Tokens: true}
	for i := range 4 {
		price := Price{In: float64(i + 1), Read: 0.1, Write: float64(i + 1), TTL: time.Hour}
		p.Experts = append(p.Experts, Expert{string(rune('a' + i)), string(rune('a' + i)), func(float64) (Price, bool) { return price, true }})
	}
	for i := range mostSamples {
		s.learned.decided("p", []float64{float64(i % 7), float64(i % 5), float64(i % 3), float64(i % 2)})
	}
	var messages []Message
	for i := range 40 {
		messages = append(messages, Message{User: i%2 == 0, Raw: body(2000)})
	}
	facts := Facts{Bytes: 80_000, Messages: messages}
	t := s.Begin(time.Unix(1e9, 0), settings, facts)
	t.Done(Answer{Plan: t.Plan(&p), Expert: &p.Experts[0], Advice: &p.Advice[0], Tokens: 20_000, Billed: math.NaN()})
	for b.Loop() {
		s.Begin(time.Unix(1e9, 0), settings, facts).Plan(&p)
	}
}
