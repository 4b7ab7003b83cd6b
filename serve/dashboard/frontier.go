package dashboard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/serve/policies"
)

// Frontier compares what a policy would decide on recent rows at chosen prices with single pairs. Means are over the rows.
// Losses are expectations of the policy, and fees are those of the chosen prices.
type Frontier struct {
	Policy    string   `json:"policy"`
	Digest    string   `json:"digest"`
	Rows      int      `json:"rows"`
	Lambda    float64  `json:"lambda"`
	Unchecked []string `json:"unchecked,omitempty"` // why the guard did not check the policy at these prices
	Chosen    Point    `json:"chosen"`              // what the policy decides at these prices
	File      *Point   `json:"file,omitempty"`      // its decisions at the prices of its file, or of the price file, with the fees of the chosen prices; nil: the prices are the same
	// Curve has the decisions of an any-price policy with all fees multiplied by Scale, from small to large. The fees of the
	// points are those of the chosen prices.
	Curve []Point     `json:"curve,omitempty"`
	Pairs []pairPoint `json:"pairs"` // that exist
}

// Point has means per row.
type Point struct {
	Scale float64 `json:"scale"` // the factor on all fees when the policy decided
	Fee   float64 `json:"fee"`
	Loss  float64 `json:"loss"`
	Cost  float64 `json:"cost"` // Fee plus Loss
}

// pairPoint has the means of one pair for all rows.
type pairPoint struct {
	Pair  string  `json:"pair"`
	Fee   float64 `json:"fee"`
	Loss  float64 `json:"loss"`
	Cost  float64 `json:"cost"`
	Share float64 `json:"share"` // of the rows for which the policy chooses it at the chosen prices
}

// scales are the factors of the points of a curve.
var scales = []float64{0, 1. / 16, 1. / 8, 1. / 4, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4, 8, 16, 64}

// The errors of frontiers.
var (
	// errSuperseded means that a newer computation cancelled this one.
	errSuperseded = errors.New("a newer computation took the place of this one")
	// errNoRows means that the version of the policy has not decided on any features yet.
	errNoRows = errors.New("the policy has not decided on anything yet, so there are no recent rows to decide on again")
	// errNoExpectations means that the policy does not estimate losses.
	errNoExpectations = errors.New("the policy states no expected losses, so its decisions cannot be valued without outcomes")
)

// latestOnly runs one computation at a time. A newer one cancels the running one.
type latestOnly struct {
	mu     sync.Mutex
	cancel context.CancelCauseFunc
	turn   chan struct{}
}

// do calls f after the previous call has ended. The context of f ends when a newer call arrives.
func (l *latestOnly) do(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.mu.Lock()
	if l.cancel != nil {
		l.cancel(errSuperseded)
	}
	l.cancel = cancel
	l.mu.Unlock()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := f(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// frontier computes the frontier of a policy on recent rows at changed prices.
func frontier(ctx context.Context, p *policies.Policy, rows []float32, change policy.PriceChange) (*Frontier, error) {
	info := p.Info()
	n := 0
	if info.Dim > 0 {
		n = len(rows) / info.Dim
	}
	if n == 0 {
		return nil, errNoRows
	}
	pricing := p.Pricing()
	own, err := p.PricesAt(pricing)
	if err != nil {
		return nil, err
	}
	at, err := p.Price(pricing, change)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	chosen, err := decideRows(ctx, p, at, rows, n)
	if err != nil {
		return nil, err
	}
	if chosen.Loss == nil {
		return nil, errNoExpectations
	}
	if fits := rowsWithin(n, time.Since(start)); fits < n {
		n, rows = fits, rows[:fits*info.Dim]
		if chosen, err = decideRows(ctx, p, at, rows, n); err != nil {
			return nil, err
		}
	}
	v := newValuation(chosen, at, n)
	f := &Frontier{Policy: p.Name, Digest: p.Digest, Rows: n, Lambda: at.Lambda, Unchecked: at.Unchecked, Chosen: v.point(1, chosen.Action)}
	f.Pairs = v.each(info.Actions, chosen.Action)
	if info.Prices == nil {
		return f, nil
	}
	if !change.IsZero() {
		same, err := decideRows(ctx, p, own, rows, n)
		if err != nil {
			return nil, err
		}
		point := v.point(1, same.Action)
		f.File = &point
	}
	for _, scale := range scales {
		d, err := decideRows(ctx, p, scalePrices(at, scale), rows, n)
		if err != nil {
			return nil, err
		}
		f.Curve = append(f.Curve, v.point(scale, d.Action))
	}
	return f, nil
}

// Limits of the work for a frontier, so that the dashboard does not slow down requests. All runs together take about maxTime
// on one core. Runs have partRows rows, and other requests can run between them. For a large policy fewer rows are used, but
// at least minRows.
const (
	maxTime  = time.Second
	minRows  = 32
	partRows = 64
)

// rowsWithin returns the number of rows for which all runs take about maxTime, if one run of n rows took the given time.
func rowsWithin(n int, took time.Duration) int {
	all := took * time.Duration(len(scales)+2)
	if all <= maxTime {
		return n
	}
	return min(n, max(minRows, int(float64(n)*float64(maxTime)/float64(all))))
}

// decideRows decides in parts. The result has no scores.
func decideRows(ctx context.Context, p *policies.Policy, at *policy.Prices, rows []float32, n int) (*policy.Decisions, error) {
	dim, all := p.Info().Dim, &policy.Decisions{}
	for first := 0; first < n; first += partRows {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		end := min(first+partRows, n)
		d, err := p.Decide(ctx, at, rows[first*dim:end*dim], end-first)
		if err != nil {
			return nil, fmt.Errorf("decide on recent rows: %w", err)
		}
		all.Actions, all.Levels = d.Actions, d.Levels
		all.Action, all.Loss = append(all.Action, d.Action...), append(all.Loss, d.Loss...)
		for q, values := range d.Usage {
			all.Usage[q] = append(all.Usage[q], values...)
		}
	}
	return all, nil
}

// scalePrices returns prices with all fees multiplied.
func scalePrices(at *policy.Prices, by float64) *policy.Prices {
	times := func(fees []float64) []float64 {
		fees = slices.Clone(fees)
		for i := range fees {
			fees[i] *= by
		}
		return fees
	}
	return &policy.Prices{
		Lambda: at.Lambda, Experts: times(at.Experts), Advice: times(at.Advice), Pairs: times(at.Pairs), Usage: at.Usage.Times(by, -1), Available: at.Available,
	}
}

// valuation has the expected losses and the fees by which decisions are compared.
type valuation struct {
	loss  []float32 // n x pairs
	fees  []float64 // n x pairs
	n     int
	pairs int
}

func newValuation(d *policy.Decisions, at *policy.Prices, n int) valuation {
	v := valuation{loss: d.Loss, fees: make([]float64, n*d.Actions), n: n, pairs: d.Actions}
	for i := range v.fees {
		v.fees[i] = at.FeeOn(d, i/v.pairs, i%v.pairs)
	}
	return v
}

// point returns the means of the given actions.
func (v valuation) point(scale float64, actions []int64) Point {
	p := Point{Scale: scale}
	for i, a := range actions {
		p.Fee += v.fees[i*v.pairs+int(a)]
		p.Loss += float64(v.loss[i*v.pairs+int(a)])
	}
	p.Fee, p.Loss = p.Fee/float64(v.n), p.Loss/float64(v.n)
	p.Cost = p.Fee + p.Loss
	return p
}

// each returns the means of every pair that exists.
func (v valuation) each(a *costs.Actions, actions []int64) []pairPoint {
	shares := make([]float64, v.pairs)
	for _, action := range actions {
		shares[action] += 1 / float64(v.n)
	}
	var out []pairPoint
	for i, there := range a.Mask() {
		if !there {
			continue
		}
		p := pairPoint{Pair: a.Name(i), Share: math.Round(shares[i]*1e9) / 1e9}
		for row := range v.n {
			p.Loss += float64(v.loss[row*v.pairs+i])
			p.Fee += v.fees[row*v.pairs+i]
		}
		p.Loss, p.Fee = p.Loss/float64(v.n), p.Fee/float64(v.n)
		p.Cost = p.Loss + p.Fee
		out = append(out, p)
	}
	return out
}

// sampleOf returns a copy of the recent rows of a version.
func (c *Collector) sampleOf(name, digest string) []float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.versions[versionKey(name, digest)]
	if v == nil {
		return nil
	}
	return append([]float32(nil), v.sample.rows...)
}
