package session

import (
	"log/slog"
	"math"
	"sync"
	"time"
)

// Sessions are the conversations of a server. All methods are safe for concurrent use.
type Sessions struct {
	digests digester
	store   *store
	learned *learned
	file    *file // nil: none
	mu      sync.Mutex
	counts  Counts
}

// Counts are what was counted since the start.
type Counts struct {
	Sessions int64 // that began
	Turns    int64
	Switches int64 // turns that another expert answered than the turn before
	Priced   int64 // turns in which the expert stayed because of the price of a switch
	Looped   int64 // turns in which the expert stayed because of open tool calls
	// Predicted and Billed are the money of prompts whose price and cached tokens are known: as expected before the call, and as
	// the service counted.
	Predicted, Billed float64
	Evicted           int64 // conversations that were forgotten for want of room
	Open              int   // conversations that are remembered
}

// Open makes sessions, and reads their file if the settings name one. The settings must be valid. The caller closes them.
func Open(s Settings, log *slog.Logger) (*Sessions, error) {
	out := &Sessions{digests: newDigester(s.Key), store: newStore(&s), learned: newLearned()}
	if s.File == "" {
		return out, nil
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	var err error
	out.file, err = openFile(string(s.File), out.digests.of([]byte("check")), out.store, s.Flush, log)
	return out, err
}

// Close writes the file.
func (s *Sessions) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.close()
}

// Counts returns what was counted.
func (s *Sessions) Counts() Counts {
	s.mu.Lock()
	c := s.counts
	s.mu.Unlock()
	c.Open, c.Evicted = s.store.len()
	return c
}

// Turn is one request of a conversation. Its methods are safe for concurrent use, but for Done.
type Turn struct {
	sessions *Sessions
	settings Settings
	facts    Facts
	now      time.Time
	talk     conversation
	entry    entry // as it was before this turn
	found    bool  // the conversation is known
}

// Begin looks up the conversation of a request. It is nil for a request without messages.
func (s *Sessions) Begin(now time.Time, settings Settings, f Facts) *Turn {
	t := &Turn{sessions: s, settings: settings, facts: f, now: now, talk: s.digests.conversation(&f)}
	if len(t.talk.lookup) == 0 {
		return nil
	}
	t.entry, t.found = s.store.get(t.talk.lookup)
	return t
}

// ID is the keyed digest that names the conversation in logs.
func (t *Turn) ID() string { return t.talk.id.String() }

// Number is the number of the turn, from 1.
func (t *Turn) Number() int { return int(t.entry.Turn) + 1 }

// Stays reports whether an expert answered the last turn, and its tool calls are open. No other expert should answer then.
func (t *Turn) Stays(expert string) bool {
	return t.settings.Keep && t.facts.Loop && t.found && t.entry.Expert == t.sessions.digests.word([]byte(expert))
}

// Decided tells what a policy expected of its pairs, so that later turns of all conversations are planned: what each pair costs
// with its fee but without the surcharge of the plan, in money, and what its prompt costs of that. A cost that is not known is
// NaN or above most.
func (t *Turn) Decided(p *Plan, costs []float64, prompt func(pair int) float64) {
	if row := p.row(costs, prompt); row != nil {
		t.sessions.learned.decided(p.policy.Digest, row)
	}
}

// most is more than any pair costs.
const most = 1e28

// row is what the best pair of each expert costs beside its prompt; nil if it is not known of every expert.
func (p *Plan) row(costs []float64, prompt func(pair int) float64) []float64 {
	row, levels := make([]float64, len(p.states)), len(p.policy.Advice)
	for e := range row {
		if p.states[e].absent {
			continue
		}
		row[e] = most
		for k := range levels {
			pair := e*levels + k
			if c := costs[pair] - prompt(pair); c < row[e] {
				row[e] = c
			}
		}
		if row[e] >= most {
			return nil
		}
	}
	return row
}

// Answer is what became of a turn.
type Answer struct {
	Plan   *Plan // nil: prices are not known
	Pair   int   // that answered
	Expert *Expert
	Advice *Advice
	Added  int // bytes of advice in the prompt
	Kept   Kept
	// Usage of the call. Tokens are those of the prompt, 0 where they are not known. Of them, Cached were found in the cache, -1 where
	// that is not known, and Written were written to it.
	Tokens, Cached, Written int64
	Billed                  float64 // money of the prompt; NaN where it is not known
}

// Kept says why the expert of a conversation stayed.
type Kept string

// The reasons.
const (
	NotKept Kept = ""
	ByPrice Kept = "price"     // without the price of a switch, the policy would have chosen another expert
	ByLoop  Kept = "tool_loop" // the results of its tool calls were sent
)

// Result says what a turn was.
type Result struct {
	New       bool    // the conversation was not known
	Switched  bool    // another expert answered the turn before
	Predicted float64 // money of the prompt, as it was expected before the call; 0 where it or the bill is not known
	Billed    float64 // money of the prompt, as the service counted; 0 where it or the prediction is not known
	Open      int     // conversations that are remembered
}

// Done records what became of the turn. others are answers of other services to the same request, whose caches have it now, too.
func (t *Turn) Done(a Answer, others ...Answer) Result {
	next, before := t.entry, t.entry.Key
	expert := t.sessions.digests.word([]byte(a.Expert.Name))
	r := Result{New: !t.found, Switched: t.found && next.Expert != 0 && next.Expert != expert}
	next.ID, next.Key = t.talk.id, t.talk.lookup[0]
	next.Turn, next.Expert, next.Used = next.Turn+1, expert, t.now.UnixNano()
	for i := range others {
		t.learn(&next, &others[i])
	}
	if c := t.conversation(&a); t.found && t.entry.Tokens > 0 {
		t.sessions.learned.paused(age(t.now, t.entry.Used), c-float64(t.entry.Tokens), t.facts.Loop)
	}
	r.Predicted, r.Billed = t.learn(&next, &a)
	t.sessions.store.put(next, before)
	t.sessions.count(&a, r)
	r.Open, _ = t.sessions.store.len()
	return r
}

// learn moves what the service counted into the entry and the estimates. It returns the money of the prompt as it was predicted and
// billed, 0 where one of them is not known.
func (t *Turn) learn(next *entry, a *Answer) (predicted, billed float64) {
	tokens, conversation := float64(a.Tokens), t.conversation(a)
	cache := t.cache(a.Expert)
	s, _ := t.state(a.Expert)
	if a.Plan != nil && a.Tokens > 0 && a.Cached >= 0 && !math.IsNaN(a.Billed) {
		predicted, billed = a.Plan.Prompt[a.Pair], a.Billed
	}
	if a.Tokens > 0 {
		could, found := s.could, float64(a.Cached)
		if a.Advice.Breaks || s.lead != t.lead(a.Advice) {
			could = 0
		}
		t.sessions.learned.sent(cache, call{tokens, float64(t.facts.Bytes + a.Added), could, found, float64(a.Written)})
		if could > 0 && found >= 0 {
			s.share = (s.share + min(1, found/could)) / 2
		}
		next.Tokens, next.Bytes = int64(conversation), int64(t.facts.Bytes)
	}
	t.mark(next.place(cache), a, conversation, s.share)
	return predicted, billed
}

// conversation is the number of tokens of the prompt of an answer without its advice.
func (t *Turn) conversation(a *Answer) float64 {
	tokens := float64(a.Tokens)
	if a.Tokens == 0 {
		cache := t.cache(a.Expert)
		tokens = t.tokens(cache, t.sessions.learned.service(cache).tokens)
	}
	return tokens * float64(t.facts.Bytes) / float64(max(1, t.facts.Bytes+a.Added))
}

// cache is the digest that names the cache of an expert.
func (t *Turn) cache(e *Expert) uint64 {
	return t.sessions.digests.word([]byte("cache"), []byte(e.Cache))
}

// mark notes what the cache of a service has now.
func (t *Turn) mark(m *mark, a *Answer, tokens, share float64) {
	if m.Share = share; a.Advice.Breaks {
		return // what was there stays there
	}
	n, kept := len(t.facts.Messages), 1.0
	if a.Advice.Inside {
		n, kept = t.before(), t.inside()
	}
	*m = mark{Cache: m.Cache, Lead: t.lead(a.Advice), N: int64(n), Tokens: int64(kept * tokens), At: t.now.UnixNano(), Share: share}
	if n > 0 {
		m.Chain = t.talk.chain[n-1]
	} else {
		m.Tokens = 0
	}
}

// count counts a turn.
func (s *Sessions) count(a *Answer, r Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.counts
	c.Turns++
	c.Predicted, c.Billed = c.Predicted+r.Predicted, c.Billed+r.Billed
	for _, one := range []struct {
		is bool
		n  *int64
	}{{r.New, &c.Sessions}, {r.Switched, &c.Switches}, {a.Kept == ByPrice, &c.Priced}, {a.Kept == ByLoop, &c.Looped}} {
		if one.is {
			*one.n++
		}
	}
}
