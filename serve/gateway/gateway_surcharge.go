package gateway

import (
	"slices"

	"pipe/serve/policies"
)

// surcharge returns what the pairs of a policy cost for a request beside their fees, in units of the loss; nil: nothing.
type surcharge func(*policies.Policy) ([]float64, error)

// addUp returns the sum of the surcharges that are not nil; nil if all are.
func addUp(all ...surcharge) surcharge {
	var some []surcharge
	for _, s := range all {
		if s != nil {
			some = append(some, s)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return func(p *policies.Policy) (sum []float64, err error) {
		for _, s := range some {
			amounts, err := s(p)
			switch {
			case err != nil:
				return nil, err
			case sum == nil:
				sum = slices.Clone(amounts)
			case amounts != nil:
				for i := range sum {
					sum[i] += amounts[i]
				}
			}
		}
		return sum, nil
	}
}
