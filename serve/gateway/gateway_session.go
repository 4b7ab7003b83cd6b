package gateway

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/serve/access"
	"pipe/serve/decision"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/gateway/session"
	"pipe/serve/metrics"
	"pipe/serve/policies"
)

// turn is a request of a conversation. A nil turn belongs to no conversation, and does nothing.
type turn struct {
	*session.Turn
	backends *backends
	began    time.Time
	lock     sync.Mutex
	plans    map[string]*switching // by digest of the policy; guarded by lock

	held  string // the only expert that may answer, because its tool calls are open; "": any
	spare []policy.Part
	// without is what must not be chosen beside spare.
	without []policy.Part
	kept    session.Kept
}

// switching says what a switch costs under one policy.
type switching struct {
	plan  *session.Plan // nil: a price is not known
	worth float64       // money of a loss of 1
}

// beginTurn looks up the conversation of a request; nil without sessions.
func (c *chat) beginTurn() *turn {
	s := c.api.sessions
	if s == nil {
		return nil
	}
	set, m := c.settings.Sessions, c.request.Middle()
	facts := session.Facts{
		Client: access.CallerOf(c.r.Context()).Name, User: c.request.User, Bytes: c.request.Len(), Loop: m.ToolLoopOpen(), Messages: make([]session.Message, len(m.Messages)),
	}
	for i := range m.Messages {
		one := &m.Messages[i]
		facts.Messages[i] = session.Message{User: one.Role == middle.User, Raw: appendParts([]byte(one.Role+"\x00"+one.Name), one.Parts)}
	}
	if set.Header != "" {
		facts.Named = c.r.Header.Get(set.Header)
	}
	t := s.Begin(c.began, set, facts)
	if t == nil {
		return nil
	}
	return &turn{Turn: t, backends: c.backends, began: c.began, plans: make(map[string]*switching)}
}

// openSessions opens the sessions, if they are configured.
func (a *API) openSessions(s session.Settings) (err error) {
	if !s.On {
		return nil
	}
	s.Key = a.decider.Settings().UserKey
	a.sessions, err = session.Open(s, a.log)
	return err
}

// Sessions returns what was counted of sessions; nil without sessions.
func (a *API) Sessions() *session.Counts {
	if a.sessions == nil {
		return nil
	}
	c := a.sessions.Counts()
	return &c
}

// added is the number of bytes that the advice of a pair added to the prompt.
func (q *routed) added(pair int) int {
	_, k := q.actions.Pair(pair)
	if m := q.fetched[k].message; m != nil {
		return len(m.Text)
	}
	return 0
}

// appendParts appends the content of parts, such that other parts have another content.
func appendParts(b []byte, parts []middle.Part) []byte {
	for i := range parts {
		p := &parts[i]
		for _, text := range [...]string{
			string(p.Kind), p.Text, p.Media.Type, p.Media.Data, p.Media.URL, p.Media.FileID, p.Media.Name, p.Media.Detail, p.ID, p.Name, p.Arguments, p.Signature, p.Signer, p.Type,
		} {
			b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		}
		b = appendParts(binary.AppendUvarint(b, uint64(len(p.Parts))), p.Parts)
	}
	return b
}

// hold adds the experts that must not be chosen because the tool calls of another one are open, if that one is available.
func (t *turn) hold(actions *costs.Actions, without []policy.Part) []policy.Part {
	if t == nil {
		return without
	}
	for _, e := range actions.Experts {
		if t.Stays(e.Name) && !slices.Contains(without, policy.Expert(e.Name)) {
			t.held = e.Name
		}
	}
	if t.held == "" {
		return without
	}
	for _, e := range actions.Experts {
		if part := policy.Expert(e.Name); e.Name != t.held && !slices.Contains(without, part) {
			t.spare = append(t.spare, part)
		}
	}
	all := append(slices.Clone(without), t.spare...)
	if _, err := policy.Without(actions, all); err != nil { // no pair of the expert is left
		t.release()
		return without
	}
	t.without = without
	return all
}

// release lets other experts answer though tool calls are open. It returns those that were left out.
func (t *turn) release() (spare []policy.Part) {
	if t == nil {
		return nil
	}
	spare, t.held, t.spare = t.spare, "", nil
	return spare
}

// surcharge is what a switch costs for the pairs of a policy; nil without sessions.
func (t *turn) surcharge() surcharge {
	if t == nil {
		return nil
	}
	return func(p *policies.Policy) ([]float64, error) {
		s := t.switching(p)
		if s == nil {
			return nil, nil
		}
		amounts := make([]float64, len(s.plan.Extra))
		for i := range amounts {
			amounts[i] = s.amount(i)
		}
		return amounts, nil
	}
}

// amount is what a pair costs beside its fee, in units of the loss.
func (s *switching) amount(pair int) float64 {
	const most = policy.MaxFee / 16 // beyond it no policy chooses a pair
	return min(s.plan.Extra[pair]/s.worth, most)
}

// switching returns what a switch costs under a policy; nil if that is not known, or if the policy takes no prices.
func (t *turn) switching(p *policies.Policy) *switching {
	t.lock.Lock()
	defer t.lock.Unlock()
	s, ok := t.plans[p.Digest]
	if !ok {
		s = t.plan(p)
		t.plans[p.Digest] = s
	}
	return s
}

func (t *turn) plan(p *policies.Policy) *switching {
	worth, _, ok := worthOf(p)
	if !ok {
		return nil
	}
	plan := t.Turn.Plan(t.backends.sessionPolicy(p, worth, t.began))
	if plan == nil {
		return nil
	}
	return &switching{plan, worth}
}

// worthOf is what a loss of 1 is worth in money, if the policy says so and takes prices at request time; else a reason why not.
func worthOf(p *policies.Policy) (worth float64, reason string, ok bool) {
	if p.Info().Prices == nil {
		return 0, "has fixed prices", false
	}
	m, ok, err := costs.MoneyOf(p.Info().Shared())
	if !ok || err != nil {
		return 0, "does not say what a loss is worth in money", false
	}
	return m.PerLoss, "", true
}

// sessionPolicy describes a policy for plans.
func (b *backends) sessionPolicy(p *policies.Policy, worth float64, at time.Time) *session.Policy {
	out := &session.Policy{Digest: p.Digest, Tokens: p.Info().Usage != nil && p.Prices().Usage[costs.TokensIn] != nil}
	for j, e := range p.Info().Actions.Experts {
		out.Experts = append(out.Experts, b.sessionExpert(e.Name, at))
		if !out.Tokens && !p.Info().MeasuredFees() {
			out.Fees = append(out.Fees, p.Prices().Experts[j]*worth)
		}
	}
	for k := range p.Info().Actions.Advice {
		out.Advice = append(out.Advice, b.sessionAdvice(p.Info().Actions, k))
	}
	return out
}

// sessionExpert describes an expert for plans. One that is not configured never answers.
func (b *backends) sessionExpert(name string, at time.Time) session.Expert {
	e, ttl := b.experts[name], b.settings.Sessions.TTL
	if e == nil {
		return session.Expert{Name: name}
	}
	return session.Expert{Name: name, Cache: e.Service(), Price: func(tokens float64) (session.Price, bool) {
		p, ok := e.PromptPrice(tokens, at)
		if p.TTL == 0 {
			p.TTL = ttl
		}
		return session.Price{In: p.In, Read: p.Read, Write: p.Write, TTL: p.TTL}, ok
	}}
}

// sessionAdvice describes what advice does to prompts. The first advice of a policy is none.
func (b *backends) sessionAdvice(a *costs.Actions, k int) session.Advice {
	v := b.advice[a.Advice[k].Name]
	if k == 0 || v == nil {
		return session.Advice{}
	}
	at := v.Place()
	return session.Advice{Lead: at.Lead, Breaks: at.Changes, Inside: at.Inside}
}

// decided notes in the record what a switch would have cost, and tells the sessions what the policy expected.
func (t *turn) decided(q *routed) {
	if t == nil {
		return
	}
	r, rec := q.result, q.record
	rec.Session, rec.Turn = t.ID(), t.Number()
	if t.held != "" {
		t.kept = session.ByLoop
	}
	if s := t.switching(r.Policy); s != nil {
		t.compare(s, q)
		if rec.ExpectedCost != nil {
			t.learn(s, q)
		}
	}
	rec.Kept = string(t.kept)
}

// compare notes what a switch would have cost: by how much more the best pair of another expert costs, beside the fees, than the
// expert of the last turn does at its best.
func (t *turn) compare(s *switching, q *routed) {
	rec, now := q.record, s.plan.InUse
	if now < 0 {
		return
	}
	actions := q.actions
	stay := math.Inf(1)
	possible := t.possible(rec, actions)
	var other, without, with cheapest
	for pair := range s.plan.Extra {
		j, _ := actions.Pair(pair)
		if j == now {
			stay = min(stay, s.plan.Extra[pair])
		}
		if t.backends.experts[actions.Experts[j].Name] == nil || j != now && !possible[pair] {
			continue
		}
		cost := s.plan.Extra[pair] // where the policy expects nothing
		if rec.ExpectedCost != nil && rec.Available[pair] {
			with.see(pair, float64(rec.ExpectedCost[pair]))
			cost = float64(rec.ExpectedCost[pair]) - q.surcharged(pair, s.amount)
			without.see(pair, cost)
		}
		if j != now {
			other.see(pair, cost)
		}
	}
	if !other.seen {
		return
	}
	rec.SwitchCost, rec.SwitchCostKnown = s.plan.Extra[other.pair]-stay, true
	of := func(pair int) int { j, _ := actions.Pair(pair); return j }
	// The least costs are compared, since the policy may prefer a pair by its margin.
	if t.kept == session.NotKept && with.seen && of(rec.Greedy) == now && of(with.pair) == now && of(without.pair) != now {
		t.kept = session.ByPrice
	}
}

// possible are the pairs that could answer if no tool calls were open.
func (t *turn) possible(rec *decisionlog.Record, a *costs.Actions) []bool {
	if t.held == "" {
		return rec.Available
	}
	all, err := policy.Without(a, t.without)
	if err != nil { // the policy that decided has all of these parts, and more were left out
		return rec.Available
	}
	return all
}

// learn tells the sessions what the policy expected of its pairs.
func (t *turn) learn(s *switching, q *routed) {
	r, money := q.result, make([]float64, len(s.plan.Extra))
	for i := range money {
		money[i] = (policy.Expected(q.record.ExpectedCost[i]) - q.surcharged(i, s.amount)) * s.worth
	}
	prompt := func(int) float64 { return 0 }
	if used := r.Decisions.Usage; used[costs.TokensIn] != nil {
		rest := used
		rest[costs.TokensIn], rest[costs.TokensCached] = make([]float32, len(money)), make([]float32, len(money))
		prompt = func(pair int) float64 {
			return (r.Prices.FeeOf(pair, &used, pair) - r.Prices.FeeOf(pair, &rest, pair)) * s.worth
		}
	}
	t.Decided(s.plan, money, prompt)
}

// others returns the pairs that answer only if the expert fails whose tool calls are open: those that the policy expects to cost least
// first, and those without an expected cost last.
func (t *turn) others(r *decision.Result) (pairs []int) {
	if t == nil || t.held == "" {
		return nil
	}
	a := r.Policy.Info().Actions
	for pair, can := range t.possible(r.Records[0], a) {
		if can && !r.Prices.Available[pair] {
			pairs = append(pairs, pair)
		}
	}
	if cost := r.Records[0].ExpectedCost; cost != nil { // far above all others where nothing is expected of a pair
		slices.SortStableFunc(pairs, func(x, y int) int { return cmp.Compare(cost[x], cost[y]) })
	}
	return pairs
}

// answered tells the sessions which pair answered, what its service counted, and what those of the other answers of a cascade did.
// added is the number of bytes of the advice.
func (t *turn) answered(q *routed, pair int, e *expert.Expert, out *outcome, added int) {
	if t == nil || out.refused {
		return
	}
	a := t.answer(q, pair, e, out, added)
	a.Kept = t.kept
	if t.held != "" && t.held != q.expertOf(pair) {
		a.Kept = session.NotKept // it failed
		q.record.Kept = ""
	}
	r := t.Done(a, q.staged.beside(pair)...)
	q.api.metrics.Session(metrics.SessionTurn{New: r.New, Switched: r.Switched, Kept: string(a.Kept), Predicted: r.Predicted, Billed: r.Billed, Open: r.Open})
}

// answer describes an answer for the sessions.
func (t *turn) answer(q *routed, pair int, e *expert.Expert, out *outcome, added int) session.Answer {
	_, k := q.actions.Pair(pair)
	about := t.backends.sessionExpert(q.expertOf(pair), t.began)
	advice := t.backends.sessionAdvice(q.actions, k)
	a := session.Answer{Pair: pair, Expert: &about, Advice: &advice, Added: added, Cached: -1, Billed: math.NaN()}
	if s := t.switching(q.result.Policy); s != nil {
		a.Plan = s.plan
	}
	if u := out.usage; u.Known {
		a.Tokens, a.Written = u.In, u.Written+u.WrittenHour
		if u.CachedKnown {
			a.Cached = u.Cached
		}
		if money, ok := e.PromptMoney(out.model, u, t.began); ok {
			a.Billed = money
		}
	}
	return a
}

// sessionNotes says which policies have no prices of a switch, and why.
func (b *backends) sessionNotes(p *policies.Policy) (notes []string) {
	if !b.settings.Sessions.On {
		return nil
	}
	only := fmt.Sprintf("gateway: sessions: policy %q ", p.Name)
	if _, reason, ok := worthOf(p); !ok {
		return []string{only + reason + ", so a switch has no price there: sessions only keep the expert while tool calls are open"}
	}
	var missing []string
	for _, e := range p.Info().Actions.Experts {
		if known := b.experts[e.Name]; known != nil {
			if _, ok := known.PromptPrice(1, time.Now()); !ok {
				missing = append(missing, e.Name)
			}
		}
	}
	if len(missing) > 0 {
		notes = append(notes, only+"has no price of a switch: the price of prompts (in) or of cached tokens (cached) is not known of "+strings.Join(missing, ", "))
	}
	return notes
}
