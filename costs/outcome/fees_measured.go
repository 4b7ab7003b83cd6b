package outcome

import (
	"fmt"

	"pipe/costs"
	"pipe/costs/prices"
)

// MeasuredFees says where the measured fees of an import come from, and how
// large they are.
type MeasuredFees struct {
	costs.Money           // zero if fees are in the unit of the losses
	Estimated   bool      `json:"estimated,omitempty"` // tokens were computed from characters
	Fixed       bool      `json:"fixed,omitempty"`     // the means became the experts' fixed fees
	Prices      string    `json:"prices,omitempty"`    // digest of the prices that are used
	Pairs       []PairFee `json:"pairs"`
}

// PairFee is the mean measured fee of a pair.
type PairFee struct {
	Pair  string  `json:"pair"`
	Calls int     `json:"calls"`           // outcomes in the tensor
	Fee   float64 `json:"fee"`             // mean, in the unit of the losses
	Money float64 `json:"money,omitempty"` // mean, in Currency
}

// measure reports the measured fees of a tensor, and records in its metadata
// what they are worth and the prices. It turns them into fixed fees if that is
// the configuration. It returns nil if nothing is measured.
func (m *meter) measure(t *costs.Tensor) (*MeasuredFees, error) {
	r := &MeasuredFees{Estimated: m.fees.CharsPerToken > 0, Fixed: m.fees.As == feeMean}
	if currency := m.currency(); currency != "" {
		r.Money = costs.Money{Currency: currency, PerLoss: 1 / m.scale()}
		t.Meta[costs.MoneyKey] = r.Money.Text()
	}
	if !m.on {
		return nil, nil
	}
	for i := range t.Actions.Len() {
		calls, fee := meanFee(t, i, nil)
		r.Pairs = append(r.Pairs, PairFee{Pair: t.Actions.Name(i), Calls: calls, Fee: fee, Money: fee * r.PerLoss})
	}
	if m.prices != nil || m.fees.Latency.PerSecond > 0 {
		if err := m.recordPrices(t, r); err != nil {
			return nil, err
		}
	}
	if r.Fixed {
		return r, fixFees(t)
	}
	return r, nil
}

// recordPrices keeps the prices that were used in the metadata: those of the
// models, and that of time.
func (m *meter) recordPrices(t *costs.Tensor, r *MeasuredFees) error {
	used := prices.Recorded{CharsPerToken: m.fees.CharsPerToken, PerSecond: m.fees.Latency.PerSecond}
	if m.prices != nil {
		used.Name(t.Actions, m.prices, m.model)
	}
	text, err := used.Text()
	r.Prices, t.Meta[costs.PricesKey] = used.Digest, text
	return err
}

// meanFee is the number of outcomes of an action on some rows, nil for all, and
// the mean of their measured fees.
func meanFee(t *costs.Tensor, action int, rows []int) (calls int, mean float64) {
	if rows == nil {
		rows = make([]int, t.Len())
		for n := range rows {
			rows[n] = n
		}
	}
	a := t.Actions.Len()
	sum := 0.0
	for _, n := range rows {
		if l := t.Loss[n*a+action]; l == l {
			calls++
			sum += float64(t.Fee[n*a+action])
		}
	}
	return calls, sum / float64(max(1, calls))
}

// fixFees adds the mean measured fee of every expert over the training rows to
// its fixed fee, and removes the measured fees.
func fixFees(t *costs.Tensor) error {
	if len(t.Actions.Advice) > 1 {
		return &costs.DataError{Msg: "fees.as is mean, but there is advice: the mean fee of a pair is not a fee of its expert plus one of its advice; use row"}
	}
	rows := t.Rows(costs.Train)
	for j := range t.Actions.Experts {
		calls, mean := meanFee(t, j, rows)
		if calls == 0 {
			return &costs.DataError{Msg: fmt.Sprintf("fees.as is mean, but expert %q has no outcome in a training row", t.Actions.Experts[j].Name)}
		}
		t.Actions.Experts[j].Fee += mean
	}
	t.Fee = nil
	return nil
}
