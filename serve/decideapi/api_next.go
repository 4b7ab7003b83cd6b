package decideapi

import (
	"net/http"

	"github.com/go-json-experiment/json"

	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/serve/policies"
)

// nextAnswer is the answer about the next step of a cascade.
type nextAnswer struct {
	RequestID string     `json:"request_id"`
	Policy    nextPolicy `json:"policy"`
	Prices    nextPrices `json:"prices"`
	Accept    bool       `json:"accept"` // the answer of the pair, which was executed
	nextPair
	// Accepted says, of an answer that is accepted, whether the guarantee of the cascade accepts it, and Instead what takes over if not;
	// nil: the cascade has no guarantee, or another pair is to be executed.
	Accepted *bool      `json:"accepted,omitempty"`
	Instead  string     `json:"instead,omitempty"`
	Loss     *float32   `json:"expected_loss"` // of the best answer at hand, if it is accepted; null: there is none
	Ranked   []nextPair `json:"ranked"`
}

type nextPolicy struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

type nextPrices struct {
	Lambda    float64  `json:"lambda"`
	Unchecked []string `json:"unchecked"`
}

// nextPair is a pair that was executed, to accept its answer, or one to execute.
type nextPair struct {
	Index  int     `json:"index"`
	Pair   string  `json:"pair"`
	Expert string  `json:"expert"`
	Advice string  `json:"advice"`
	Done   bool    `json:"executed"`
	Fee    float64 `json:"fee"`           // 0 for an answer at hand
	Cost   float32 `json:"expected_cost"` // that is still to come
}

// next answers what a cascade does next on one row. It is not logged: the first decision was.
func (a *API) next(w http.ResponseWriter, r *http.Request, ask *parsedRequest) error {
	p, features, err := a.decider.Features(r.Context(), ask.request)
	if err != nil {
		return err
	}
	defer p.Release()
	info := p.Cascade()
	switch {
	case info == nil:
		return unfit("executed", "policy %q is no cascade: it decides once", p.Name)
	case len(features) != info.Dim:
		return unfit("executed", "of a cascade, the next step of one row is decided; there are %d", len(features)/info.Dim)
	}
	rows, err := ask.executed.rows(info)
	if err != nil {
		return err
	}
	rows.Features = features
	at, err := a.decider.Prices(ask.request, p, rows.Executed)
	if err != nil {
		return err
	}
	d, err := p.Next(r.Context(), []*policy.Prices{at}, rows)
	if err != nil {
		return err
	}
	order := d.Ranked(0, info.Actions.Len(), func(int) bool { return true })
	if ask.request.ID == "" {
		ask.request.ID = decisionlog.NewID()
	}
	w.Header().Set("X-Request-Id", ask.request.ID)
	answer := answerOf(p, at, rows, d, order, ask)
	if answer.Accepted, answer.Instead, err = accepted(r.Context(), p, at, rows, order[0]); err != nil {
		return err
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, append(body, '\n'))
	return nil
}

// answerOf describes the first of the pairs, and as many of all as the request asks for.
func answerOf(p *policies.Policy, at *policy.Prices, rows cascade.Rows, d *cascade.Decisions, order []int, ask *parsedRequest) *nextAnswer {
	actions := p.Info().Actions
	describe := func(i int) nextPair {
		j, k := actions.Pair(i)
		out := nextPair{Index: i, Pair: actions.Name(i), Expert: actions.Experts[j].Name, Advice: actions.Advice[k].Name, Done: rows.Executed[i], Cost: d.Cost[i]}
		if !out.Done {
			out.Fee = at.Fee(i)
		}
		return out
	}
	out := &nextAnswer{
		RequestID: ask.request.ID, Policy: nextPolicy{p.Name, p.Digest}, Prices: nextPrices{at.Lambda, append([]string{}, at.Unchecked...)},
		Accept: rows.Executed[order[0]], nextPair: describe(order[0]), Ranked: []nextPair{},
	}
	if loss := d.Loss[0]; loss == loss {
		out.Loss = &loss
	}
	if ask.top >= 0 {
		order = order[:min(ask.top, len(order))]
	}
	for _, i := range order {
		out.Ranked = append(out.Ranked, describe(i))
	}
	return out
}
