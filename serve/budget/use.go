package budget

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"pipe/serve/ledger"
)

// Use is the use of budgets by one request. A nil Use has no budgets. It is for one goroutine.
type Use struct {
	of      *Budgets
	members []*member // that hold for the request, those of experts excepted
	experts []int     // budgets of experts, by their place in the settings
	prices  map[*member]float64
}

// price is the price of a budget as the request first saw it. Other requests move it meanwhile.
func (u *Use) price(m *member) float64 {
	v, ok := u.prices[m]
	if !ok {
		v = m.pacer.now()
		u.prices[m] = v
	}
	return v
}

// For returns the budgets that hold for a request of a key that a policy decides on. Without a policy, policy is "". It is nil for
// nil Budgets.
func (b *Budgets) For(key, policy string) (*Use, error) {
	if b == nil {
		return nil, nil
	}
	u := b.ForAll()
	for i := range b.settings.List {
		of, name := &b.settings.List[i], ""
		switch of.Of {
		case Expert, Total:
			continue
		case Key:
			name = KeyName(key)
		case Policy:
			if name = policy; name == "" {
				continue
			}
		}
		if !of.covers(name) {
			continue
		}
		m, err := b.member(i, name)
		if err != nil {
			return nil, err
		}
		u.members = append(u.members, m)
	}
	return u, nil
}

// ForAll returns the budgets that hold for every call: those of all calls together, and of experts.
func (b *Budgets) ForAll() *Use {
	if b == nil {
		return nil
	}
	return &Use{of: b, members: slices.Clone(b.totals), experts: b.experts, prices: map[*member]float64{}}
}

// KeyName is the name of a key, or else what stands for callers without one.
func KeyName(key string) string { return cmp.Or(key, "anybody") }

// ofExpert returns the budgets that hold for the calls of an expert.
func (u *Use) ofExpert(expert string) ([]*member, error) {
	all := u.members[:len(u.members):len(u.members)]
	for _, i := range u.experts {
		if !u.of.settings.List[i].covers(expert) {
			continue
		}
		m, err := u.of.member(i, expert)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// Full returns why a budget that leaves out what it does not cover has no room for a call of an expert; nil if all have.
func (u *Use) Full(expert string, most Amount) (*FullError, error) {
	if u == nil {
		return nil, nil
	}
	members, err := u.ofExpert(expert)
	if err != nil {
		return nil, err
	}
	var full *FullError
	for _, m := range members {
		if m.AtEnd != Cheapest || m.amount(most) <= m.ledger.Left() {
			continue
		}
		if f := m.full(most); full == nil || f.Wait > full.Wait {
			full = f
		}
	}
	return full, nil
}

// full is the error of a budget that has no room for a call.
func (m *member) full(most Amount) *FullError {
	f := &FullError{Budget: m.label(), Unit: m.Unit(), Per: m.Per, AtEnd: m.AtEnd}
	if f.Unbounded = math.IsInf(m.amount(most), 1); !f.Unbounded {
		f.Wait = m.wait(m.amount(most))
	}
	return f
}

// FullError means that a budget has no room for a call.
type FullError struct {
	Budget string     // its name, with that of the key, policy or expert
	Unit   string     // money or tokens
	Per    ledger.Per // of which it has no room
	AtEnd  AtEnd
	Wait   time.Duration // after which the request may be sent again
	// Unbounded says that the most that the call can use is not known, so that no budget has room for it at any time.
	Unbounded bool
}

func (e *FullError) Error() string {
	if e.Unbounded {
		return fmt.Sprintf("the budget %s covers no call of which the most %s that it can use are not known: nothing bounds its answer, or the service adds to its prompt", e.Budget, e.Unit)
	}
	return fmt.Sprintf("the budget %s has no %s left in this %s for the most that the call can use", e.Budget, e.Unit, e.Per)
}

// Held is the most that a running call can use, taken from budgets. A nil Held holds nothing.
type Held struct {
	of      *Use
	expert  string
	members []*member
	charges []ledger.Charge
	most    Amount
}

// Spend takes the most that a call of an expert can use from all budgets that hold for it. The error is a *[FullError] if one of
// them has no room; then none is charged.
func (u *Use) Spend(expert string, most Amount) (*Held, error) {
	if u == nil {
		return nil, nil
	}
	members, err := u.ofExpert(expert)
	if err != nil {
		return nil, err
	}
	h := &Held{of: u, expert: expert, most: most}
	for _, m := range members {
		c, ok := m.spend(m.amount(most))
		if !ok {
			h.Settle(Amount{})
			return nil, m.full(most)
		}
		h.members, h.charges = append(h.members, m), append(h.charges, c)
	}
	return h, nil
}

// Most is what was taken.
func (h *Held) Most() Amount {
	if h == nil {
		return Amount{}
	}
	return h.most
}

// Settle charges what the call really used. It must be called once.
func (h *Held) Settle(used Amount) {
	if h == nil {
		return
	}
	for i, m := range h.members {
		h.charges[i].Settle(m.amount(used))
		m.hold(-m.amount(h.most))
		if over := m.amount(used) - m.amount(h.most); over > 1e-12*m.amount(h.most) {
			m.overdrawn(h.of.of, h.expert, over)
		}
	}
}

// overdrawn says that a call used more than it could.
func (m *member) overdrawn(b *Budgets, expert string, over float64) {
	b.log.Error("a call used more than its request allows, so a budget can be exceeded", "budget", m.label(), "expert", expert, "unit", m.Unit(), "more", over)
}

// Choice is a pair that a request could have been given.
type Choice struct {
	Expert string
	Cost   float64 // what the policy expects it to cost, in money, without prices of budgets
	Use    Amount  // that is expected
	Later  []Call  // that are expected after it, of a policy that looks at the answer
}

// Call is what is expected of a call of an expert.
type Call struct {
	Expert string
	Use    Amount
}

// Price is what a call costs by the prices of all budgets beside its own price, in money.
func (u *Use) Price(expert string, expected Amount) (float64, error) {
	if u == nil {
		return 0, nil
	}
	members, err := u.ofExpert(expert)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, m := range members {
		sum += u.price(m) * m.amount(expected)
	}
	return sum, nil
}

// Prices are the prices of the budgets that hold for the pairs of a request, as [Use.Price] took them, with their names.
func (u *Use) Prices(choices []Choice) (names []string, prices []float64) {
	if u == nil {
		return nil, nil
	}
	for _, m := range u.withExperts(choices) {
		names, prices = append(names, m.label()), append(prices, u.price(m))
	}
	return names, prices
}

// withExperts are the budgets that hold for the request, and those of experts that are among the choices.
func (u *Use) withExperts(choices []Choice) []*member {
	all := u.members[:len(u.members):len(u.members)]
	for _, m := range u.of.all() {
		if m.Of == Expert && hasExpert(choices, m.of) {
			all = append(all, m)
		}
	}
	return all
}

func hasExpert(choices []Choice, expert string) bool {
	for i := range choices {
		if choices[i].Expert == expert {
			return true
		}
	}
	return false
}

// Decided lets the prices learn from a decision: what could have been chosen, and which of it was.
func (u *Use) Decided(choices []Choice, chosen int) {
	if u == nil {
		return
	}
	members := u.withExperts(choices)
	for _, m := range members {
		costs, uses := make([]float32, len(choices)), make([]float32, len(choices))
		for a := range choices {
			c := &choices[a]
			costs[a] = float32(c.Cost)
			for _, other := range members {
				if other != m {
					costs[a] += float32(u.price(other) * other.uses(c))
				}
			}
			uses[a] = float32(m.uses(c))
		}
		m.came()
		m.pacer.see(costs, uses, m.uses(&choices[chosen]), m.target())
	}
	u.of.changed.Store(true)
}

// Passed takes a request for which a budget did not cover all pairs, so that nothing can be learned of what it would have used.
func (u *Use) Passed(choices []Choice) {
	if u == nil {
		return
	}
	for _, m := range u.withExperts(choices) {
		m.came()
		m.pacer.pass(m.target())
	}
	u.of.changed.Store(true)
}

// uses is how much of a budget a choice is expected to use.
func (m *member) uses(c *Choice) float64 {
	sum := m.usesOf(c.Expert, c.Use)
	for _, l := range c.Later {
		sum += m.usesOf(l.Expert, l.Use)
	}
	return sum
}

// usesOf is how much of a budget a call is expected to use.
func (m *member) usesOf(expert string, use Amount) float64 {
	if v := m.amount(use); (m.Of != Expert || expert == m.of) && !math.IsNaN(v) {
		return v
	}
	return 0
}

// Learn learns from a call that was answered: from its tokens, what later calls of the pair will use by the length of their request in
// bytes, and from what it used and what was expected, how far prices must rise or fall.
func (h *Held) Learn(advice string, bytes int, t Tokens, used, expected Amount) {
	if h == nil {
		return
	}
	h.of.of.usage.see(h.expert, advice, bytes, t)
	for _, m := range h.members {
		m.pacer.bill(m.amount(used), m.amount(expected))
	}
	h.of.of.changed.Store(true)
}

// Expected are the tokens that a call of a pair is expected to use. before has the means of the policy, 0 where it has none.
func (u *Use) Expected(expert, advice string, bytes int, before Tokens) Tokens {
	return u.of.usage.expected(expert, advice, bytes, before)
}

// IsFull returns the *FullError in an error; nil if there is none.
func IsFull(err error) *FullError {
	var full *FullError
	errors.As(err, &full)
	return full
}
