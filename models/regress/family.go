package regress

import (
	"context"

	"pipe/models/estimate"
)

// Family is a kind of regressor with a few members that share most of their work.
type Family interface {
	// Members names the members, such as "ridge 1000".
	Members() []string
	// Estimates fits every member on the rows fit, and returns its estimates for the rows held: per member
	// len(held) x pairs.
	Estimates(ctx context.Context, d *Data, fit, held []int) ([][]float32, error)
	// Fit fits the sum of the members with the given weights, one each, on the rows fit. Members with weight 0 are left
	// out. Parts that can be one are one.
	Fit(ctx context.Context, d *Data, fit []int, weights []float64) ([]estimate.Part, error)
}
