package decideapi

import (
	"context"

	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/serve/policies"
)

// accepted says whether the guarantee of a cascade accepts the answer of a pair on one row at prices, and what takes over if not, "" if nothing does;
// nil: the cascade has no guarantee, or the pair was not executed.
func accepted(ctx context.Context, p *policies.Policy, at *policy.Prices, rows cascade.Rows, pair int) (is *bool, instead string, err error) {
	g := p.Guarantee()
	if g == nil || !rows.Executed[pair] {
		return nil, "", nil
	}
	yes, err := p.Guarantees(ctx, at, rows, pair)
	if err != nil {
		return nil, "", err
	}
	if !yes {
		instead = g.Instead.Name
	}
	return &yes, instead, nil
}
