package gateway

import (
	"errors"
	"time"

	"pipe/serve/budget"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/protocol"
)

// held is what a call holds of budgets until its use is known. nil: there are no budgets.
type held struct {
	*budget.Held
	of       *spending
	advice   string
	expected budget.Amount
	settled  bool
}

// settle charges what the call used, the first time.
func (h *held) settle(used budget.Amount) {
	if !h.settled {
		h.settled = true
		h.Settle(used)
	}
}

// hold takes the most that a call can use from the budgets. The error is a *budget.FullError if they have no room.
func (s *spending) hold(e *expert.Expert, add *chatjson.Addition) (*held, error) {
	if s == nil {
		return nil, nil
	}
	h, err := s.Spend(e.Name, s.most(e, add))
	if err != nil {
		return nil, err
	}
	all := &held{Held: h, of: s}
	s.calls = append(s.calls, all)
	return all, nil
}

// end settles the calls of which nothing was said, because the request ended in a panic.
func (s *spending) end() {
	if s == nil {
		return
	}
	for _, h := range s.calls {
		h.settle(h.Most())
	}
}

// holdPair is hold for a pair of a policy.
func (s *spending) holdPair(q *routed, pair int, e *expert.Expert, add *chatjson.Addition) (*held, error) {
	h, err := s.hold(e, add)
	if h != nil {
		h.advice, h.expected = q.adviceOf(pair), s.expected(q.result.Policy, pair)
	}
	return h, err
}

// answered settles a call that was answered. What is not known of its use counts as the most that it could be.
func (h *held) answered(out *outcome) {
	switch {
	case h == nil:
	case out.refused:
		h.settle(budget.Amount{})
	default:
		used := h.used(out.usage, out.fee)
		h.settle(used)
		if out.usage.Known && h.advice != "" {
			u := out.usage
			h.Learn(h.advice, h.of.of.request.Len(), budget.Tokens{In: float64(u.In), Cached: float64(u.Cached), Out: float64(u.Out)}, used, h.expected)
		}
	}
}

// used is what a call used, as far as it is known, and else the most that it could.
func (h *held) used(u expert.Usage, fee expert.Fee) budget.Amount {
	used := h.Most()
	if u.Known {
		used.Tokens = float64(u.In + u.Out)
	}
	if fee.Known {
		used.Money = fee.Money
	}
	return used
}

// failed settles a call that failed: nothing was used if the service did not take the request, its usage if it states that, and
// else the most that the call could use.
func (h *held) failed(e *expert.Expert, err error) {
	if h == nil {
		return
	}
	var f *expert.Failure
	if !errors.As(err, &f) {
		h.settle(h.Most())
		return
	}
	switch f.Reason {
	case "busy", "open", "connect", "status", "redirect":
		if !f.Usage.Known {
			h.settle(budget.Amount{})
			return
		}
	}
	h.settle(h.used(f.Usage, e.Fee(f.Model, f.Usage, time.Now())))
}

// hold takes the most that a call of a panel can use from the budgets of all calls together and of experts.
func (p *panel) hold(e *expert.Expert, r *protocol.Incoming, add *chatjson.Addition) (*held, error) {
	if p.api.budgets == nil {
		return nil, nil
	}
	h, err := p.api.budgets.ForAll().Spend(e.Name, mostOf(e, r, add, time.Now()))
	if err != nil {
		return nil, err
	}
	return &held{Held: h}, nil
}
