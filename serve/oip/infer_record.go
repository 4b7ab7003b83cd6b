package oip

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"pipe/serve/access"
	"pipe/serve/decision"
	"pipe/serve/policies"
)

// logID returns the id of a request if the log accepts it, and "" otherwise: the decision then gets a new id.
func logID(id string) string {
	if len(id) > 128 || strings.ContainsFunc(id, func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }) {
		return ""
	}
	return id
}

// readyToRecord refuses requests while the log cannot be written, if every decision must be logged.
func (a *API) readyToRecord() error {
	if a.decider == nil {
		return nil
	}
	if err := a.decider.ReadyToRecord(); err != nil {
		return &problem{kind: unavailable, text: err.Error(), err: err}
	}
	return nil
}

// record logs and counts decisions. It returns their ids in the log.
func (a *API) record(ctx context.Context, p *policies.Policy, r *request, decided *policies.Answer, t *times) ([]string, error) {
	if a.decider == nil {
		return nil, nil
	}
	return a.decider.RecordInferred(decision.Inferred{
		Policy: p, Decisions: decided.Decisions, Features: decided.Features, Prices: decided.Prices, Listed: decided.Listed, Pricing: decided.Pricing, Request: logID(r.log), Client: access.CallerOf(ctx).Name,
		Start: t.start, Decode: t.read.Sub(t.start), Decide: t.ran.Sub(t.read),
	})
}
