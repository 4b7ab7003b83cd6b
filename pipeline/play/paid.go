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
	first := n * t.Actions.Len()
	loss := float64(t.Loss[first+path.Accepted])
	paid := Paid{Loss: loss, Cost: loss}
	for _, i := range path.Pairs {
		measured := 0.0
		if t.Fee != nil {
			measured = float64(t.Fee[first+i])
		}
		paid.Money += p.Money[i] + measured
		paid.Cost += p.Fees[i] + measured
	}
	return paid
}
