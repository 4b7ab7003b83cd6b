package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/serve/access"
	"pipe/serve/budget"
	"pipe/serve/decision"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/protocol"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/policies"
)

// spending is the use of budgets by one chat request. nil: there are no budgets.
type spending struct {
	*budget.Use
	of    *chat
	at    time.Time
	calls []*held         // that the request made
	out   map[string]bool // experts that a budget does not cover
	// amounts are the surcharges of the pairs of a policy, by its digest. Other requests change the prices before the decision is
	// looked at.
	amounts map[string][]float64
	// full is the budget, of those that leave an expert out, that has room again first; nil: every expert is covered.
	full *budget.FullError
}

// beginSpending looks up the budgets of a request that a policy decides on; "" if it names an expert.
func (c *chat) beginSpending(policy string) (*spending, error) {
	if c.api.budgets == nil {
		return nil, nil
	}
	if l := c.request.Limits(); l.Field != "" && l.Out < 0 {
		return nil, &middle.FieldError{Param: l.Field, Msg: "must be a whole number of tokens above 0, because a budget of this server bounds what the answer can cost; without it the server's own limit holds"}
	}
	use, err := c.api.budgets.For(access.CallerOf(c.r.Context()).Name, policy)
	if err != nil {
		return nil, err
	}
	return &spending{Use: use, of: c, at: time.Now(), out: map[string]bool{}, amounts: map[string][]float64{}}, nil
}

// budgeted looks up the budgets of a request that a policy decides on, and adds the experts that they do not cover to those that
// must not be chosen.
func (c *chat) budgeted(name string, without []policy.Part) (*spending, []policy.Part, error) {
	if c.api.budgets == nil {
		return nil, without, nil
	}
	p, err := c.api.decider.Policies().Acquire(name)
	if err != nil {
		return nil, nil, err
	}
	defer p.Release()
	s, err := c.beginSpending(p.Name)
	if err == nil {
		without, err = s.leaveOut(p.Info().Actions, without)
	}
	if err != nil && s != nil { // the request counts for the traffic, though no policy decides on it
		s.Passed(nil)
	}
	return s, without, err
}

// fullBudget records that a budget has no room for a pair. It answers the request and returns true if a budget refuses it in
// place of taking another pair: at says which pair of the order it is.
func (q *routed) fullBudget(pair, at int, err error) bool {
	full := budget.IsFull(err)
	q.addFailure(pair, 0, 0, err)
	q.api.metrics.Fallback(q.expertOf(pair), "budget")
	if full == nil {
		return false
	}
	if full.AtEnd != budget.Refuse || at > 0 {
		return false
	}
	q.respondWithoutAnswer()
	return true
}

// retryText is the value of Retry-After, "" for a time of 0.
func retryText(after time.Duration) string {
	if after == 0 {
		return ""
	}
	return strconv.Itoa(int(math.Ceil(max(after.Seconds(), 1))))
}

// leaveOut adds the experts that a budget does not cover to the parts that must not be chosen. If one of them is the expert whose tool
// calls are open, others may answer. If no pair is left because of that, the error is a *budget.FullError.
func (s *spending) leaveOut(p *costs.Actions, without []policy.Part) ([]policy.Part, error) {
	if s == nil {
		return without, nil
	}
	for _, e := range p.Experts {
		part := policy.Expert(e.Name)
		if slices.Contains(without, part) || s.of.experts[e.Name] == nil { // people cost no money
			continue
		}
		most := s.most(s.of.experts[e.Name], nil)
		full, err := s.Full(e.Name, most)
		switch {
		case err != nil:
			return nil, err
		case full == nil:
			continue
		case s.full == nil || s.full.Unbounded || !full.Unbounded && full.Wait < s.full.Wait:
			s.full = full
		}
		s.out[e.Name] = true
		without = append(without, part)
	}
	if _, err := policy.Without(p, without); err == nil || s.full == nil {
		return without, nil
	}
	if spare := s.of.turn.release(); spare != nil {
		return s.leaveOut(p, slices.DeleteFunc(without, func(part policy.Part) bool { return slices.Contains(spare, part) }))
	}
	return nil, s.full
}

// isFull reports whether a budget has no room for a call of an expert, and leaves such calls out. An error is found by the call itself.
func (s *spending) isFull(e *expert.Expert) bool {
	if s == nil {
		return false
	}
	full, err := s.Full(e.Name, s.most(e, nil))
	return full != nil && err == nil
}

func (s *spending) most(e *expert.Expert, add *chatjson.Addition) budget.Amount {
	return mostOf(e, s.of.request, add, s.at)
}

// mostOf is the most that a call can use. What cannot be known is infinite, so that no budget covers it.
func mostOf(e *expert.Expert, r *protocol.Incoming, add *chatjson.Addition, at time.Time) budget.Amount {
	m := e.Most(r, add, at)
	amount := budget.Amount{Money: math.Inf(1), Tokens: math.Inf(1)}
	if m.TokensKnown {
		amount.Tokens = m.Tokens
	}
	if m.MoneyKnown {
		amount.Money = m.Money
	}
	return amount
}

// expected is what a call of a pair is expected to use, and the tokens of that.
func (s *spending) expected(p *policies.Policy, pair int) budget.Amount {
	actions := p.Info().Actions
	j, k := actions.Pair(pair)
	e := s.of.experts[actions.Experts[j].Name]
	if e == nil {
		return budget.Amount{}
	}
	before := budget.Tokens{}
	if u := p.Info().Usage; u != nil {
		before = budget.Tokens{In: mean(&u.Mean, costs.TokensIn, pair), Out: mean(&u.Mean, costs.TokensOut, pair)}
	}
	t := s.Expected(e.Name, actions.Advice[k].Name, s.of.request.Len(), before)
	money, _ := e.Expected(t.In, t.Cached, t.Out, s.at) // 0 where the expert has no price, and then no budget of money holds for it
	return budget.Amount{Money: money, Tokens: t.In + t.Out}
}

// later are the calls that are expected after that of a pair: none, unless a cascade looks at its answer.
func (s *spending) later(q *routed, first int) (calls []budget.Call) {
	for i := range q.record.Available {
		if n := q.executions(first, i); n > 0 && i != first {
			use := s.expected(q.result.Policy, i)
			calls = append(calls, budget.Call{Expert: q.expertOf(i), Use: budget.Amount{Money: n * use.Money, Tokens: n * use.Tokens}})
		}
	}
	return calls
}

// mean is what a pair used of a quantity when the policy was trained; 0 if that is not known.
func mean(u *costs.Usage, q costs.Quantity, pair int) float64 {
	if u[q] == nil || !(u[q][pair] > 0) {
		return 0
	}
	return float64(u[q][pair])
}

// worth is the money that a loss of 1 of a policy is worth: 1 if the policy does not say.
func worth(p *policies.Policy) float64 {
	if m, ok, err := costs.MoneyOf(p.Info().Shared()); ok && err == nil {
		return m.PerLoss
	}
	return 1
}

// surcharge is what the pairs of a policy cost by the prices of budgets; nil without budgets, and for fixed prices.
func (s *spending) surcharge() surcharge {
	if s == nil {
		return nil
	}
	return func(p *policies.Policy) ([]float64, error) {
		if p.Info().Prices == nil || s.amounts[p.Digest] != nil {
			return s.amounts[p.Digest], nil
		}
		amounts, perLoss := make([]float64, p.Info().Actions.Len()), worth(p)
		for i := range amounts {
			j, _ := p.Info().Actions.Pair(i)
			price, err := s.Price(p.Info().Actions.Experts[j].Name, s.expected(p, i))
			if err != nil {
				return nil, err
			}
			amounts[i] = min(price/perLoss, maxSurcharge)
		}
		s.amounts[p.Digest] = amounts
		return amounts, nil
	}
}

// maxSurcharge is far above any loss, and leaves room for other fees.
const maxSurcharge = 1e6

// decided lets the prices learn from the decision, and puts them into its record.
func (s *spending) decided(q *routed) {
	if s == nil {
		return
	}
	choices, chosen, decided := s.choices(q)
	s.log(q, choices)
	q.record.BudgetDecided = len(s.out) > 0 || decided
	if len(s.out) == 0 && chosen >= 0 {
		s.Decided(choices, chosen)
	} else { // prices would learn that requests want nothing of an expert that a budget left out
		s.Passed(choices)
	}
}

// choices returns the pairs that could answer, with what the policy expects without budgets. chosen is the index of the pair that was
// chosen, -1 if it is not among them. decided is whether another pair is expected to cost least without budgets; the choice of the
// policy does not say that, since it may prefer a pair by its margin. Without expected costs, or at fixed prices, only the experts of
// the choices are known, and budgets decide nothing.
func (s *spending) choices(q *routed) (list []budget.Choice, chosen int, decided bool) {
	p, perLoss := q.result.Policy, worth(q.result.Policy)
	amounts := s.amounts[p.Digest]
	priced := q.record.ExpectedCost != nil && amounts != nil
	var without, with cheapest
	chosen = -1
	for i, open := range q.record.Available {
		c := budget.Choice{Expert: q.expertOf(i)}
		if !open && !s.out[c.Expert] || q.experts[c.Expert] == nil {
			continue
		}
		if priced && open {
			cost := policy.Expected(q.record.ExpectedCost[i])
			if math.IsNaN(cost) { // never chosen
				continue
			}
			c.Use, c.Later = s.expected(p, i), s.later(q, i)
			own := q.surcharged(i, func(of int) float64 { return amounts[of] })
			c.Cost = (cost - own) * perLoss
			if i == q.record.Action {
				chosen = len(list)
			}
			with.see(i, cost)
			without.see(i, cost-own)
		}
		list = append(list, c)
	}
	return list, chosen, with.pair != without.pair
}

// cheapest is the pair with the least cost of those that were seen. The zero value has seen none.
type cheapest struct {
	seen bool
	pair int
	cost float64
}

func (c *cheapest) see(pair int, cost float64) {
	if !c.seen || cost < c.cost {
		*c = cheapest{true, pair, cost}
	}
}

// log puts the prices of the budgets into the record.
func (s *spending) log(q *routed, choices []budget.Choice) {
	names, prices := s.Prices(choices)
	if len(names) > maxLogged {
		names, prices = names[:maxLogged], prices[:maxLogged]
	}
	for i := range names {
		names[i] = strings.ReplaceAll(names[i], " ", "%20")
	}
	q.record.Budgets = strings.Join(names, " ")
	if slices.ContainsFunc(prices, func(v float64) bool { return v > 0 }) {
		q.record.BudgetPrices = prices
	}
}

// maxLogged is the most budgets that a record names.
const maxLogged = 32

// budgetFailure is the failure of a request that a budget has no room for.
func budgetFailure(full *budget.FullError) *failure {
	if full.Unbounded {
		return &failure{http.StatusBadRequest, invalidRequest, "unbounded", "", full.Error()}
	}
	return &failure{http.StatusTooManyRequests, "insufficient_quota", "budget", "", full.Error()}
}

// checkBudgets reports experts for which no upper bound of a call is known, so that a budget could be exceeded.
func (b *backends) checkBudgets() error {
	var errs []error
	for name, e := range b.experts {
		for i := range b.settings.Budgets.List {
			s := &b.settings.Budgets.List[i]
			if s.Of == budget.Expert && len(s.Only) > 0 && !slices.Contains(s.Only, name) {
				continue
			}
			if why := e.Bounded(s.Money != 0, time.Now()); why != "" {
				errs = append(errs, fmt.Errorf("gateway: budgets: %s: the most that a call of the expert %q can cost is not known: %s", s.Name, name, why))
				break
			}
		}
	}
	slices.SortFunc(errs, func(x, y error) int { return strings.Compare(x.Error(), y.Error()) })
	return errors.Join(errs...)
}

// budgetNotes are remarks about policies for which budgets have no prices.
func (b *backends) budgetNotes(p *policies.Policy) (notes []string) {
	if b.settings.Budgets.Enabled() && p.Info().Prices == nil {
		notes = append(notes, fmt.Sprintf("gateway: budgets: policy %q has fixed prices, so budgets cannot pace it: it chooses as without budgets until one has no room; train it with prices as inputs (any-price)", p.Name))
	}
	return notes
}

// Budgets returns the states of the budgets; nil if there are none.
func (a *API) Budgets() []budget.State {
	if a.budgets == nil {
		return nil
	}
	return a.budgets.States()
}

// serveBudgets answers GET /v1/budgets: to administrators all budgets, to other callers those of their key.
func (a *API) serveBudgets(w http.ResponseWriter, r *http.Request) {
	if a.budgets == nil {
		writeError(w, &failure{http.StatusNotFound, invalidRequest, "no_budgets", "", "this server has no budgets: none are configured, under gateway.budgets"})
		return
	}
	caller, list := access.CallerOf(r.Context()), []budget.State{}
	if _, err := a.budgets.For(caller.Name, ""); err != nil { // so that a key that has spent nothing sees its budgets, too
		a.log.LogAttrs(r.Context(), slog.LevelError, "a budget could not be opened", slog.String("error", err.Error()))
	}
	for _, s := range a.budgets.States() {
		if caller.Admin || s.Of == budget.Key && s.Member == budget.KeyName(caller.Name) {
			list = append(list, s)
		}
	}
	text, err := json.Marshal(map[string]any{"budgets": list})
	if err != nil { // all numbers are finite
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // the client may be gone
}

// budgetErr returns the failure of a request that a budget has no room for, and after which time it may be sent again; nil for
// another error.
func budgetErr(err error) (*failure, time.Duration) {
	if full := budget.IsFull(err); full != nil {
		return budgetFailure(full), full.Wait
	}
	return nil, 0
}

// spendingFailed answers a request whose budgets could not be looked up, or have no room.
func (c *chat) spendingFailed(err error) {
	if f, wait := budgetErr(err); f != nil {
		if wait > 0 {
			access.SetRetryAfter(c.w.Header(), wait)
		}
		c.api.metrics.Refused("budget")
		c.fail(f, "")
		return
	}
	if _, ok := errors.AsType[*middle.FieldError](err); ok {
		c.fail(unreadable(err), "")
		return
	}
	var unknown *policies.UnknownError
	if errors.As(err, &unknown) || errors.Is(err, decision.ErrNotLogged) {
		c.failDecision(err)
		return
	}
	c.api.log.LogAttrs(c.r.Context(), slog.LevelError, "a budget could not be used", c.id(), slog.String("error", err.Error()))
	c.fail(&failure{http.StatusServiceUnavailable, serverError, "no_budget", "", "a budget cannot be used at present; the server's log has the reason"}, "")
}
