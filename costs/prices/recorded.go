package prices

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"

	"pipe/costs"
	"pipe/internal/digest"
)

// Recorded is what a tensor records under costs.PricesKey, and a policy under costs.MeterKey: the prices from which measured
// fees were computed.
type Recorded struct {
	Digest        string            `json:"digest,omitempty"` // of the other fields, as JSON
	*Table                          // nil: models have no prices
	CharsPerToken float64           `json:"chars_per_token,omitempty"` // where tokens were computed from characters
	PerSecond     float64           `json:"per_second,omitempty"`      // where time has a price
	Experts       map[string]string `json:"experts,omitempty"`         // models of the experts that have another name there
}

// ParseRecorded reads what Text wrote. Without text, and from {}, it is empty.
func ParseRecorded(text string) (*Recorded, error) {
	r := &Recorded{}
	if text == "" {
		return r, nil
	}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, err
	}
	if r.Table != nil && r.Models == nil {
		r.Table = nil
	}
	if !(r.PerSecond >= 0 && r.PerSecond <= mostMoney) {
		return nil, fmt.Errorf("per_second is %v", r.PerSecond)
	}
	if r.Table == nil {
		return r, nil
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	r.order()
	return r, nil
}

// Text is the form that ParseRecorded reads, with the digest of the prices, which it also sets.
func (r *Recorded) Text() (string, error) {
	plain := *r
	plain.Digest = ""
	var err error
	if r.Digest, err = digest.JSON(plain); err != nil {
		return "", err
	}
	b, err := json.Marshal(r)
	return string(b), err
}

// With returns the same with another price file, whose currency must be that of r if r has one. Its models may have the names that
// r says or those of the experts.
func (r *Recorded) With(t *Table) (*Recorded, error) {
	if r.Table != nil && r.Currency != t.Currency {
		return nil, fmt.Errorf("the prices are in %s, but measured fees are in %s", t.Currency, r.Currency)
	}
	other := *r
	other.Digest, other.Table = "", t
	return &other, nil
}

// Name records which model of a price file each expert has, and of the file those models.
func (r *Recorded) Name(a *costs.Actions, list *Table, model func(expert string) string) {
	var models []string
	r.Experts = nil
	for _, e := range a.Experts {
		name := model(e.Name)
		if models = append(models, name); name == e.Name {
			continue
		}
		if r.Experts == nil {
			r.Experts = make(map[string]string)
		}
		r.Experts[e.Name] = name
	}
	r.Table = list.Of(models)
}

// Model is the name of an expert among the models.
func (r *Recorded) Model(expert string) string {
	model := cmp.Or(r.Experts[expert], expert)
	if r.Table != nil && r.Models[model] == nil && r.Models[expert] != nil {
		return expert
	}
	return model
}

// Last returns the prices of an expert in the last period of its model, outside its hours of other prices. ok is false if it
// has none.
func (r *Recorded) Last(expert string) (p Period, ok bool) {
	if r.Table == nil {
		return p, false
	}
	p, err := r.periodAt(r.Model(expert), math.MaxInt64)
	p.Hours = nil
	return p, err == nil
}

// Rates are the prices of an expert as numbers, NaN where tokens have no price.
type Rates struct {
	In, Cached, Out float64 // money of a million tokens; Cached are part of the prompt
	Call            float64 // money of a call
	PerSecond       float64
	Above           []Tier // of calls with long prompts, which have other prices of tokens
	// ReasoningApart is that of the period.
	ReasoningApart bool
}

// Rates returns the prices of an expert in the last period of its model. ok is false if it has none, so that only its time may
// have a price.
func (r *Recorded) Rates(expert string) (rates Rates, ok bool) {
	p, ok := r.Last(expert)
	rates = Rates{In: orNaN(p.In), Cached: orNaN(p.Cached), Out: orNaN(p.Out), PerSecond: r.PerSecond, Above: p.Above, ReasoningApart: p.ReasoningApart()}
	if p.Call != nil {
		rates.Call = *p.Call
	}
	return rates, ok
}
