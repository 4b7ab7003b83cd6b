package decideapi

import (
	"context"

	"pipe/models/cascade"
	"pipe/serve/policies"
)

// accepted says whether the guarantee of a cascade accepts the answer of a pair on one row, and what takes over if not, "" if nothing does;
// nil: the cascade has no guarantee. d are the decisions on the row. Pairs that the cascade would not have executed are another path than that
// of the promise, and nothing is accepted then.
func accepted(ctx context.Context, p *policies.Policy, rows cascade.Rows, d *cascade.Decisions, pair int) (is *bool, instead string, err error) {
	g := p.Guarantee()
	if g == nil || !rows.Executed[pair] {
		return nil, "", nil
	}
	yes := d.Accepted[0] && int64(pair) == d.Action[0]
	if yes {
		if yes, err = onPath(ctx, p, rows); err != nil {
			return nil, "", err
		}
	}
	if !yes {
		instead = g.Instead.Name
	}
	return &yes, instead, nil
}

// onPath reports whether the cascade itself executes the pairs of a row.
func onPath(ctx context.Context, p *policies.Policy, rows cascade.Rows) (bool, error) {
	path, left := rows, 0
	path.Executed = make([]bool, len(rows.Executed))
	for _, executed := range rows.Executed {
		if executed {
			left++
		}
	}
	for ; left > 0; left-- {
		d, err := p.Next(ctx, path)
		if err != nil {
			return false, err
		}
		next := d.Action[0]
		if d.Accept[0] || !rows.Executed[next] {
			return false, nil
		}
		path.Executed[next] = true
	}
	return true, nil
}
