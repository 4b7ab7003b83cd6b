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

// Frontier is what a policy would decide on recent rows at chosen prices. Means are over the rows; losses are the policy's
// expectations, fees are those of the chosen prices.
type Frontier struct {
	Policy    string   `json:"policy"`
	Digest    string   `json:"digest"`
	Rows      int      `json:"rows"`
	Lambda    float64  `json:"lambda"`
	Unchecked []string `json:"unchecked,omitempty"` // why the guard did not check the policy at these prices
	Chosen    Point    `json:"chosen"`              // what the policy decides at these prices
	File      *Point   `json:"file,omitempty"`      // what it decides at the prices of the file, in fees of the chosen prices; nil: they are the same
	// Curve is what the policy decides where all fees are multiplied by Scale, from small to large, paid at the chosen
	// prices. It is only of an any-price policy.
	Curve []Point     `json:"curve,omitempty"`
	Pairs []PairPoint `json:"pairs"` // those that exist
}

// Point are means per row.
type Point struct {
	Scale float64 `json:"scale"` // that multiplied all fees when the policy decided
	Fee   float64 `json:"fee"`
	Loss  float64 `json:"loss"`
	Cost  float64 `json:"cost"` // Fee plus Loss
}

// PairPoint is one pair for all rows.
type PairPoint struct {
	Pair  string  `json:"pair"`
	Fee   float64 `json:"fee"`
	Loss  float64 `json:"loss"`
	Cost  float64 `json:"cost"`
	Share float64 `json:"share"` // of the rows for which the policy takes it at the chosen prices
}

// scales are the multipliers of the points of a curve.
var scales = []float64{0, 1. / 16, 1. / 8, 1. / 4, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4, 8, 16, 64}

// Errors of frontiers.
var (
	// ErrNewer means that a newer computation took the place of this one.
	ErrNewer = errors.New("a newer computation took the place of this one")
	// ErrNoRows means that the version of the policy has not decided on any features yet.
	ErrNoRows = errors.New("the policy has not decided on anything yet, so there are no recent rows to decide on again")
	// ErrNoExpectations means that the policy states no expected losses.
	ErrNoExpectations = errors.New("the policy states no expected losses, so its decisions cannot be valued without outcomes")
)

// latest lets one computation run at a time. A newer one cancels it.
type latest struct {
	mu     sync.Mutex
	cancel context.CancelCauseFunc
	turn   chan struct{}
}

// do calls f with a context that ends when a newer call comes, after the one before it has ended.
func (l *latest) do(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.mu.Lock()
	if l.cancel != nil {
		l.cancel(ErrNewer)
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

// frontier decides on the kept rows of a policy at changed prices.
func frontier(ctx context.Context, p *policies.Policy, rows []float32, change policy.PriceChange) (*Frontier, error) {
	info := p.Info()
	n := 0
	if info.Dim > 0 {
		n = len(rows) / info.Dim
	}
	if n == 0 {
		return nil, ErrNoRows
	}
	at, err := info.Price(change)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	chosen, err := decideRows(ctx, p, at, rows, n)
	if err != nil {
		return nil, err
	}
	if chosen.Loss == nil {
		return nil, ErrNoExpectations
	}
	if fits := rowsWithin(n, time.Since(start)); fits < n {
		n, rows = fits, rows[:fits*info.Dim]
		if chosen, err = decideRows(ctx, p, at, rows, n); err != nil {
			return nil, err
		}
	}
	v := valued{loss: chosen.Loss, fees: at.Fees(), n: n}
	f := &Frontier{Policy: p.Name, Digest: p.Digest, Rows: n, Lambda: at.Lambda, Unchecked: at.Unchecked, Chosen: v.point(1, chosen.Action)}
	f.Pairs = v.pairs(info.Actions, chosen.Action)
	if info.Prices == nil {
		return f, nil
	}
	if !change.IsZero() {
		same, err := decideRows(ctx, p, nil, rows, n)
		if err != nil {
			return nil, err
		}
		point := v.point(1, same.Action)
		f.File = &point
	}
	for _, scale := range scales {
		d, err := decideRows(ctx, p, scaled(at, scale), rows, n)
		if err != nil {
			return nil, err
		}
		f.Curve = append(f.Curve, v.point(scale, d.Action))
	}
	return f, nil
}

// What a frontier may cost, so that looking at the page does not slow down the requests of others: its runs take about
// mostTime together, on one core, and between two runs of partRows rows others have their turn. A large policy is valued on
// fewer rows for it, of at least leastRows.
const (
	mostTime  = time.Second
	leastRows = 32
	partRows  = 64
)

// rowsWithin is the number of rows with which all runs take about mostTime, if one of n rows takes so long.
func rowsWithin(n int, took time.Duration) int {
	all := took * time.Duration(len(scales)+2)
	if all <= mostTime {
		return n
	}
	return min(n, max(leastRows, int(float64(n)*float64(mostTime)/float64(all))))
}

// decideRows decides in parts. Scores are left out.
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
	}
	return all, nil
}

// scaled are prices with all fees multiplied.
func scaled(at *policy.Prices, by float64) *policy.Prices {
	times := func(fees []float64) []float64 {
		fees = slices.Clone(fees)
		for i := range fees {
			fees[i] *= by
		}
		return fees
	}
	return &policy.Prices{
		Lambda: at.Lambda, Experts: times(at.Experts), Advice: times(at.Advice), Pairs: times(at.Pairs), Available: at.Available,
	}
}

// valued are expected losses and fees by which decisions are compared.
type valued struct {
	loss []float32 // n x pairs
	fees []float64 // of every pair
	n    int
}

// point are the means of the actions.
func (v valued) point(scale float64, actions []int64) Point {
	p := Point{Scale: scale}
	for i, a := range actions {
		p.Fee += v.fees[a]
		p.Loss += float64(v.loss[i*len(v.fees)+int(a)])
	}
	p.Fee, p.Loss = p.Fee/float64(v.n), p.Loss/float64(v.n)
	p.Cost = p.Fee + p.Loss
	return p
}

// pairs are the means of every pair that exists.
func (v valued) pairs(a *costs.Actions, actions []int64) []PairPoint {
	shares := make([]float64, len(v.fees))
	for _, action := range actions {
		shares[action] += 1 / float64(v.n)
	}
	var out []PairPoint
	for i, there := range a.Mask() {
		if !there {
			continue
		}
		p := PairPoint{Pair: a.Name(i), Fee: v.fees[i], Share: math.Round(shares[i]*1e9) / 1e9}
		for row := range v.n {
			p.Loss += float64(v.loss[row*len(v.fees)+i])
		}
		p.Loss /= float64(v.n)
		p.Cost = p.Loss + p.Fee
		out = append(out, p)
	}
	return out
}

// sampleOf is a copy of the kept rows of a version.
func (c *Collector) sampleOf(name, digest string) []float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.versions[versionKey(name, digest)]
	if v == nil {
		return nil
	}
	return append([]float32(nil), v.sample.rows...)
}
