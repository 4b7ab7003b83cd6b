package decideapi

import (
	"encoding/json"
	"net/http"
	"time"

	"pipe/models/policy"
	"pipe/pipeline/decide"
	"pipe/serve/policies"
)

// policyJSON describes a policy that is served.
type policyJSON struct {
	Name     string             `json:"name"`
	Digest   string             `json:"digest"`
	Default  bool               `json:"default"`
	Loaded   time.Time          `json:"loaded"`
	Input    string             `json:"input"` // what the policy takes besides features: text, image or row; features if nothing else
	Features int                `json:"features"`
	Columns  []string           `json:"columns,omitempty"` // of raw rows
	Method   string             `json:"method"`
	Recipe   string             `json:"recipe"`
	Lambda   float64            `json:"lambda"`
	AnyPrice *policy.PriceRange `json:"any_price"` // the range of prices for which it was checked; null: its prices are fixed
	Expects  bool               `json:"states_expected_cost"`
	Usage    decide.UsageList   `json:"usage_prices,omitempty"` // of a policy with usage: those in use
	Experts  []feeJSON          `json:"experts"`
	Advice   []feeJSON          `json:"advice"`
	Pairs    []pairJSON         `json:"pairs"`
	Guard    *guardJSON         `json:"guard"`
}

type feeJSON struct {
	Name string  `json:"name"`
	Fee  float64 `json:"fee"` // of advice: before lambda
}

type pairJSON struct {
	Index     int     `json:"index"`
	Name      string  `json:"pair"`
	Available bool    `json:"available"`
	Fee       float64 `json:"fee"` // with lambda, without what calls use
}

type guardJSON struct {
	Decided bool   `json:"decided"` // the policy always takes the best fixed pair, because the guard exported that
	Reason  string `json:"reason"`
}

// policies answers GET /v1/policies.
func (a *API) policies(w http.ResponseWriter, _ *http.Request) error {
	set := a.decider.Policies()
	list := []policyJSON{}
	for _, name := range set.Names() {
		p, err := set.Acquire(name)
		if err != nil { // it was removed meanwhile
			continue
		}
		list = append(list, describe(p, name == set.Default()))
		p.Release()
	}
	all := map[string]any{"policies": list}
	if f := set.PriceFile(); f != nil {
		all["prices"] = f
	}
	return answer(w, all)
}

func describe(p *policies.Policy, isDefault bool) policyJSON {
	info := p.Info()
	out := policyJSON{
		Name: p.Name, Digest: p.Digest, Default: isDefault, Loaded: p.Loaded.UTC(), Input: p.Input(), Features: info.Dim, Columns: p.Columns(),
		Method: info.Method, Recipe: info.Recipe, Lambda: info.Lambda, AnyPrice: info.Prices, Expects: info.Decoder == policy.DecoderEstimate,
	}
	for _, e := range info.Actions.Experts {
		out.Experts = append(out.Experts, feeJSON{e.Name, e.Fee})
	}
	for _, v := range info.Actions.Advice {
		out.Advice = append(out.Advice, feeJSON{v.Name, v.Fee})
	}
	fees, mask := info.Actions.Fees(info.Lambda), info.Actions.Mask()
	for i, name := range info.Actions.Names() {
		out.Pairs = append(out.Pairs, pairJSON{i, name, mask[i], fees[i]})
	}
	if info.Usage != nil {
		if at, err := p.PricesAt(p.Pricing()); err == nil { // else it was refused
			out.Usage = decide.ListUsage(info.Actions, at.Usage)
		}
	}
	if g := info.Guard; g != nil {
		_, reason := g.Verdict()
		out.Guard = &guardJSON{g.Fallback, reason}
	}
	return out
}

// answer writes a value as the JSON response.
func answer(w http.ResponseWriter, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, append(text, '\n'))
	return nil
}
