package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"

	"pipe/models/policy"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/stages"
	"pipe/serve/people"
	"pipe/serve/policies"
)

// headerAccepted says whether the guarantee of the policy is about the answer.
const headerAccepted = "X-Pipe-Accepted"

// checkInstead returns an *unusableError if what a guarantee does not accept is for an expert that is not there.
func (b *backends) checkInstead(p *policies.Policy) error {
	g := p.Guarantee()
	if g == nil {
		return nil
	}
	actions := p.Info().Actions
	pair, err := g.Instead.Pair(actions)
	if err != nil || pair < 0 {
		return err
	}
	j, k := actions.Pair(pair)
	expert, name := actions.Experts[j].Name, p.Name
	switch {
	case k > 0 && b.advice[actions.Advice[k].Name] == nil:
		return &unusableError{fmt.Sprintf("policy %q leaves what it does not accept (its guarantee) to %s, whose advice is not configured: add it under gateway.advice", name, g.Instead.Name)}
	case b.experts[expert] != nil:
		return nil
	case !b.settings.People.Has(expert):
		return &unusableError{fmt.Sprintf("policy %q leaves what it does not accept (its guarantee) to %s, which is not configured: add it under gateway.experts or people.experts", name, g.Instead.Name)}
	case b.settings.People.OnChosen() != people.Ticket:
		return &unusableError{fmt.Sprintf("policy %q leaves what it does not accept (its guarantee) to %s, who are people, and callers get no tickets: people.on_chosen must be %s", name, g.Instead.Name, people.Ticket)}
	}
	return nil
}

// guard is the guarantee of the policy that decided, and the pair that takes over, -1 for none. Without a guarantee it is nil.
func (q *routed) guard() (g *policy.Guarantee, instead int) {
	if g = q.result.Policy.Guarantee(); g == nil {
		return nil, -1
	}
	instead, err := g.Instead.Pair(q.actions)
	if err != nil { // it was read with the file
		panic(err)
	}
	return g, instead
}

// withInstead adds the pair that takes over, if it may be asked. Whether people have the hours now is not asked: a ticket can wait.
func (q *routed) withInstead(order []int, instead int) []int {
	if instead < 0 || slices.Contains(order, instead) {
		return order
	}
	may := q.result.Prices.Available[instead]
	if q.settings.People.Has(q.expertOf(instead)) {
		asked, err := policy.Without(q.actions, q.wishes.Prices.Without)
		may = err == nil && asked[instead]
	}
	if !may {
		q.reasons = append(q.reasons, q.actions.Name(instead)+", which takes what is not accepted, is left out for this request")
		return order
	}
	return append(order, instead)
}

// settle notes whether the guarantee of a cascade accepts the answer of pair, with which it ended, and reports whether something else
// takes over.
func (s *staged) settle(pair int, end stages.End) bool {
	g, instead := s.guard()
	if g == nil || s.refused || end == stages.Live {
		return false
	}
	accepted, err := false, error(nil)
	if end == stages.Accepted {
		if accepted, err = s.result.Policy.Guarantees(context.WithoutCancel(s.r.Context()), s.result.Prices, s.play.State(), pair); err != nil {
			s.api.log.LogAttrs(s.r.Context(), slog.LevelError, "whether the guarantee accepts an answer is not known; it counts as not accepted", s.id(), slog.String("error", err.Error()))
		}
	}
	s.result.Settle(0, accepted)
	failed := pair < 0 && instead < 0 // an error says why no pair answered
	return !accepted && !failed && !clientGone(s.r.Context())
}

// takeOver answers for a cascade whose answer its guarantee does not accept.
func (s *staged) takeOver(ctx context.Context, stop func() bool) {
	_, instead := s.guard()
	if a := s.kept[instead]; a != nil {
		stop()
		s.sendRead(a)
		return
	}
	s.note(new(outcome)) // the answers that were read are in the stages
	if instead < 0 {
		stop()
		s.abstain()
		return
	}
	s.try(ctx, stop, s.withInstead(nil, instead))
}

// abstain answers that no answer is accepted.
func (q *routed) abstain() {
	if q.clientGone() {
		q.record.Error = "the client left"
		return
	}
	q.record.Error = "abstained: the guarantee of the policy accepts no answer, and nobody takes over"
	q.setHeaders(-1, 0)
	a := q.settings.Abstain
	body, err := a.Answer(q.request, q.record.ID)
	if err != nil {
		kind := invalidRequest
		if a.Status >= http.StatusInternalServerError {
			kind = serverError
		}
		q.fail(&failure{a.Status, kind, "not_accepted", "", "no answer is accepted: the guarantee of the policy does not cover this request, and nobody takes over"}, "")
		return
	}
	h := q.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	if q.request.Stream {
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache")
		q.watchEnd(body)
		q.keepStream("")
	} else {
		q.keepWhole("", &expert.Answer{Status: http.StatusOK, Body: body})
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	q.w.WriteHeader(http.StatusOK)
	_, _ = q.w.Write(body) // the client may be gone
}
