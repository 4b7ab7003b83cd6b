package expert

import (
	"time"

	"pipe/costs/prices"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/protocol"
)

// Most bounds what a call can use.
type Most struct {
	Tokens      float64 // of prompt and answer together
	Money       float64
	TokensKnown bool // the length of the answer is bounded, by the request or by fields of the expert
	MoneyKnown  bool // that, and tokens of prompts and answers have prices
}

// Most returns the most that a call with a request and advice can use at a time.
func (e *Expert) Most(r *protocol.Incoming, add *chatjson.Addition, at time.Time) Most {
	w, err := e.writing(r, add)
	var body []byte
	if err == nil {
		body, err = w.write(e.cfg.StreamUsage)
	}
	if err != nil { // the expert refuses the request, and is not called
		return Most{TokensKnown: true, MoneyKnown: true}
	}
	l := protocol.LimitsOf(w.format, body)
	if l.In < 0 || l.Out < 0 {
		return Most{}
	}
	m := Most{Tokens: float64(l.In + l.Out), TokensKnown: true}
	if period, ok := e.period("", false, at); ok {
		m.Money, m.MoneyKnown = period.Most(float64(l.In), float64(l.Out))
	}
	return m
}

// Bounded reports why no upper bound of a call can be known; "" if one can. money says that it is one of money.
func (e *Expert) Bounded(money bool, at time.Time) (why string) {
	r, err := protocol.Chat.ReadRequest([]byte(`{"model":"m","messages":[{"role":"user","content":""}]}`))
	if err != nil {
		return err.Error()
	}
	switch m := e.Most(r, nil, at); {
	case !m.TokensKnown:
		return "nothing bounds its answers: set " + protocol.LimitField(e.kind.Format) + " in its fields"
	case money && !m.MoneyKnown:
		return "it has no price of prompts and answers (in, out)"
	}
	return ""
}

// Expected is the money of a call by the tokens that are expected. ok is false if it cannot be known.
func (e *Expert) Expected(in, cached, out float64, at time.Time) (money float64, ok bool) {
	period, ok := e.period("", false, at)
	if !ok {
		return 0, false
	}
	if period.Cached == nil {
		cached = 0
	}
	money, err := period.Cost(prices.Usage{In: in, Cached: min(cached, in), Out: out})
	return money, err == nil
}
