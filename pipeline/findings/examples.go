package findings

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"pipe/pipeline/report"
)

// Examples are rows that a policy, which may be nil, wins and loses by most, compared with the best fixed pair of the
// training rows or with today's pair, and rows that surprise it: most limits their number for each kind. Of rows that belong
// together, only one is shown.
func (e *Evidence) Examples(lambda float64, p *Policy, most int) []report.Examples {
	c := e.compare(lambda, p)
	if c == nil || most == 0 {
		return nil
	}
	kinds := []struct {
		kind string
		size func(k int) float64 // above 0: the row is of this kind
	}{
		{report.Won, func(k int) float64 { return c.saved[k] }},
		{report.Lost, func(k int) float64 { return -c.saved[k] }},
		{report.Surprising, c.surprise()},
	}
	var out []report.Examples
	for _, kind := range kinds {
		x := report.Examples{Lambda: lambda, Policy: p.Name, Pair: e.Tensor.Actions.Name(c.pair), Kind: kind.kind}
		var rows []int
		for _, k := range rand.New(rand.NewPCG(e.Seed, 0x6578616d706c65)).Perm(len(e.Rows)) { // rows of one size are all over the table
			if kind.size(k) > 0 {
				rows = append(rows, k)
			}
		}
		x.Rows = len(rows)
		slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(kind.size(b), kind.size(a)) })
		seen := map[int]bool{}
		for _, k := range rows {
			if set := e.Together.Of[k]; !seen[set] && len(x.Shown) < most {
				seen[set] = true
				x.Shown = append(x.Shown, c.example(k))
			}
		}
		if len(x.Shown) > 0 {
			out = append(out, x)
		}
	}
	return out
}

// surprise is how far the loss of the chosen pair, with its measured fee as in estimates, is above the expected one, less
// half the range of these losses.
func (c *comparison) surprise() func(k int) float64 {
	if c.policy.Expected == nil {
		return func(int) float64 { return 0 }
	}
	observed := make([]float64, len(c.Rows))
	for k := range observed {
		pair := c.policy.Action[k]
		observed[k] = float64(c.Tensor.Loss[c.Rows[k]*c.Tensor.Actions.Len()+pair]) + c.Tensor.MeasuredFee(c.Rows[k], pair)
	}
	half := (slices.Max(observed) - slices.Min(observed)) / 2
	return func(k int) float64 { return observed[k] - c.expected(k) - half }
}

func (c *comparison) expected(k int) float64 {
	return float64(c.policy.Expected[k*c.Tensor.Actions.Len()+c.policy.Action[k]])
}

// outcome is what a pair does on a row.
func (c *comparison) outcome(k, pair int) report.Outcome {
	t := c.Tensor
	at := c.Rows[k]*t.Actions.Len() + pair
	o := report.Outcome{Pair: t.Actions.Name(pair), Loss: float64(t.Loss[at]), Fee: t.Actions.Fees(c.lambda)[pair] + c.Tensor.MeasuredFee(c.Rows[k], pair)}
	if t.Predictions != nil {
		o.Answer = t.Predictions[at]
	}
	return o
}

func (c *comparison) example(k int) report.Example {
	x := report.Example{
		ID: c.Tensor.IDs[c.Rows[k]], Saved: c.saved[k],
		Policy: c.outcome(k, c.policy.Action[k]), Constant: c.outcome(k, c.pair),
	}
	if c.Tensor.Labels != nil {
		x.Label = c.Tensor.Labels[c.Rows[k]]
	}
	if c.policy.Expected != nil {
		x.Expected = report.Num(c.expected(k))
	}
	return x
}
