package decideapi

import (
	"math"
	"strconv"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/serve/decision"
)

// pairJSONs are the parts of the JSON that are the same in every response of a version of a policy.
type pairJSONs struct {
	head  []byte   // name and digest
	pairs [][]byte // members that name a pair
}

// usageKeys are the members for what a pair is expected to use, by quantity.
var usageKeys = func() (keys [costs.Quantities]string) {
	for q := range keys {
		keys[q] = `,"` + policy.UsageOutput(costs.Quantity(q)) + `":`
	}
	return keys
}()

// textsOf returns the constant parts for the policy of a result.
func (a *API) textsOf(r *decision.Result) *pairJSONs {
	key := r.Policy.Digest + "\x00" + r.Policy.Name
	if t, ok := a.pairs.Load(key); ok {
		return t.(*pairJSONs)
	}
	t := &pairJSONs{}
	t.head = appendText([]byte(`"policy":{"name":`), r.Policy.Name)
	t.head = appendText(append(t.head, `,"digest":`...), r.Policy.Digest)
	actions := r.Policy.Info().Actions
	for i := range actions.Len() {
		j, k := actions.Pair(i)
		b := strconv.AppendInt([]byte(`"index":`), int64(i), 10)
		b = appendText(append(b, `,"pair":`...), r.Name(i))
		b = appendText(append(b, `,"expert":`...), actions.Experts[j].Name)
		b = appendText(append(b, `,"advice":`...), actions.Advice[k].Name)
		t.pairs = append(t.pairs, b)
	}
	a.pairs.Store(key, t)
	return t
}

// append appends the response to a request.
func (a *API) append(b []byte, r *decision.Result, top int) []byte {
	texts := a.textsOf(r)
	b = appendText(append(b, `{"request_id":`...), r.RequestID())
	b = append(b, ',')
	b = append(b, texts.head...)
	b = append(b, `,"canary":`...)
	b = strconv.AppendBool(b, len(r.Records) > 0 && r.Records[0].Canary)
	b = append(b, `},"prices":{"lambda":`...)
	b = appendFloat(b, r.Prices.Lambda, 64)
	b = append(b, `,"unchecked":[`...)
	for i, why := range r.Prices.Unchecked {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, why)
	}
	b = append(b, `]},"guard":`...)
	if decided, reason := r.Guard(); reason == "" {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendBool(append(b, `{"decided":`...), decided)
		b = appendText(append(b, `,"reason":`...), reason)
		b = append(b, '}')
	}
	b = append(b, `,"decisions":[`...)
	for i := range r.Records {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendDecision(b, r, texts, i, top)
	}
	return append(b, "]}\n"...)
}

// appendDecision appends the decision on one row.
func appendDecision(b []byte, r *decision.Result, texts *pairJSONs, row, top int) []byte {
	rec := r.Records[row]
	b = appendText(append(b, `{"id":`...), rec.ID)
	b = append(b, ',')
	b = appendPair(b, r, texts, row, rec.Action)
	b = append(b, `,"explored":`...)
	b = strconv.AppendBool(b, rec.Action != rec.Greedy)
	if accepted, instead := r.Accepted(row); instead != nil {
		b = strconv.AppendBool(append(b, `,"accepted":`...), accepted)
		if !accepted {
			b = appendText(append(b, `,"instead":`...), instead.Name)
		}
	}
	b = append(b, `,"ranked":[`...)
	for n, i := range r.Ranked(row) {
		if n == top {
			break
		}
		if n > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		b = appendPair(b, r, texts, row, i)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// appendPair appends the members that describe a pair on a row.
func appendPair(b []byte, r *decision.Result, texts *pairJSONs, row, pair int) []byte {
	rec := r.Records[row]
	b = append(b, texts.pairs[pair]...)
	b = appendFloat(append(b, `,"propensity":`...), rec.Propensity[pair], 64)
	b = appendFloat(append(b, `,"score":`...), float64(r.Decisions.Scores[row*r.Decisions.Actions+pair]), 32)
	b = append(b, `,"expected_loss":`...)
	if rec.ExpectedLoss == nil {
		b = append(b, "null"...)
	} else {
		b = appendFloat(b, float64(rec.ExpectedLoss[pair]), 32)
	}
	b = append(b, `,"fee":`...)
	if fee := r.Prices.FeeOn(r.Decisions, row, pair); math.IsNaN(fee) {
		b = append(b, "null"...)
	} else {
		b = appendFloat(b, fee, 64)
	}
	for q, values := range r.Decisions.Usage {
		if values == nil {
			continue
		}
		b = append(b, usageKeys[q]...)
		if v := values[row*r.Decisions.Actions+pair]; v != v {
			b = append(b, "null"...)
		} else {
			b = appendFloat(b, float64(v), 32)
		}
	}
	b = append(b, `,"expected_cost":`...)
	if rec.ExpectedCost == nil {
		return append(b, "null"...)
	}
	return appendFloat(b, float64(rec.ExpectedCost[pair]), 32)
}

// appendFloat appends a finite number.
func appendFloat(b []byte, v float64, bits int) []byte {
	return strconv.AppendFloat(b, v, 'g', -1, bits)
}
