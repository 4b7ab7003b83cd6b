package play

import "pipe/costs"

// Paid is what a path cost.
type Paid struct {
	Loss  float64 // task loss of the accepted answer
	Money float64 // fees of all executed pairs: those of experts, those of advice before lambda, and measured ones
	Cost  float64 // Loss and the same fees, those of advice times lambda
}

// Prices are the fees of every pair of a table at a price.
type Prices struct {
	Money []float64 // A: paid, advice before lambda
	Fees  []float64 // A: that decide, advice times lambda
}

// PricesAt are the fees of actions at a lambda.
func PricesAt(a *costs.Actions, lambda float64) Prices {
	return Prices{Money: a.Fees(1), Fees: a.Fees(lambda)}
}

// Of is what a path cost on row n of t. It is NaN where a measured fee of an executed pair, or the loss of the accepted answer, is
// not known.
func (p Prices) Of(t *costs.Tensor, n int, path Path) Paid {
	loss := float64(t.Loss[n*t.Actions.Len()+path.Accepted])
	money, fees := p.paid(t, n, path)
	return Paid{Loss: loss, Money: money, Cost: loss + fees}
}

// paid are the fees of all executed pairs: as they are paid, and as they decide.
func (p Prices) paid(t *costs.Tensor, n int, path Path) (money, fees float64) {
	for _, i := range path.Pairs {
		measured := 0.0
		if t.Fee != nil {
			measured = float64(t.Fee[n*t.Actions.Len()+i])
		}
		money += p.Money[i] + measured
		fees += p.Fees[i] + measured
	}
	return money, fees
}
