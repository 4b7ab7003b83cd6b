package baseline

import (
	"context"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/seeded"
	"pipe/models/network"
	"pipe/models/regress"
	"pipe/onnx/ort"
)

// KNNSettings are the settings of cost regression by nearest neighbours.
type KNNSettings struct {
	Grid       []int   // numbers of neighbours to choose from; each at most the number of training rows
	InnerShare float64 // share of the training rows that the choice is made on, in (0, 1)
	Seed       uint64  // of the inner split
}

// DefaultKNNSettings tries 5 to 400 neighbours on a fifth of the training rows.
func DefaultKNNSettings(seed uint64) KNNSettings {
	return KNNSettings{Grid: []int{5, 10, 20, 50, 100, 200, 400}, InnerShare: 0.2, Seed: seed}
}

func (s KNNSettings) validate() error {
	if len(s.Grid) == 0 || slices.Min(s.Grid) < 1 {
		return fmt.Errorf("grid %v must list positive numbers of neighbours", s.Grid)
	}
	if !(s.InnerShare > 0 && s.InnerShare < 1) {
		return fmt.Errorf("inner share %v is outside (0, 1)", s.InnerShare)
	}
	return nil
}

// KNN is the baseline knn. It predicts the cost of a pair as its mean over the nearest training rows, by Euclidean
// distance on standardised features, and takes the cheapest pair. Neighbours, their task losses and measured fees do
// not depend on lambda, so one fit serves every lambda.
type KNN struct {
	tensor *costs.Tensor
	grid   []int
	inner  *neighbourMeans // inner rows from the other training rows: chooses k; empty if all rows belong together
	query  *neighbourMeans // query rows from all training rows
	rows   []int           // the inner rows
}

// FitKNN finds the neighbours of the query rows of t among its training rows, of which it needs at least two. If a row
// is so far from the others that float32 cannot represent the distance, the error is a *costs.DataError. When ctx ends,
// the error is that of ctx.
func FitKNN(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, train, query []int, s KNNSettings) (*KNN, error) {
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("fit knn: %w", err)
	}
	if len(train) < 2 {
		return nil, fmt.Errorf("fit knn: %d training rows, need at least 2", len(train))
	}
	inner, rest := splitRows(train, t.Clusters(train), s.InnerShare, s.Seed)
	k := &KNN{tensor: t, grid: capGrid(s.Grid, len(rest)), rows: inner}
	var err error
	if len(inner) == 0 { // no rows to choose on
		k.grid, k.inner = k.grid[len(k.grid)-1:], &neighbourMeans{}
	} else if k.inner, err = k.means(ctx, rt, rest, inner); err != nil {
		return nil, fmt.Errorf("fit knn: %w", err)
	}
	if k.query, err = k.means(ctx, rt, train, query); err != nil {
		return nil, fmt.Errorf("fit knn: %w", err)
	}
	return k, nil
}

// splitRows draws a share of rows, at least one on either side, and keeps their order. Rows that belong together stay
// together; if all rows do, none are drawn.
func splitRows(rows []int, together costs.Clusters, share float64, seed uint64) (drawn, rest []int) {
	if together.Len() < 2 {
		return nil, rows
	}
	n := min(max(1, int(math.Round(share*float64(len(rows))))), len(rows)-1)
	order := seeded.Stream(seed, "knn/inner", 0).Perm(len(rows))
	take := make([]bool, len(rows))
	for i, drawn := range together.Pick(order).Share(n, n) {
		take[order[i]] = drawn
	}
	for m, row := range rows {
		if take[m] {
			drawn = append(drawn, row)
		} else {
			rest = append(rest, row)
		}
	}
	return drawn, rest
}

// capGrid sorts the grid and caps it at n rows.
func capGrid(grid []int, n int) []int {
	out := slices.Clone(grid)
	for i := range out {
		out[i] = min(out[i], n)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Decide returns the action of every query row at lambda, and the number of neighbours that was used: the one with the
// smallest true loss on the inner rows, the larger one on ties.
func (k *KNN) Decide(lambda float64) (actions []int, neighbours int) {
	best, at := math.Inf(1), 0
	for g := range k.grid {
		loss := k.tensor.TrueLoss(k.rows, k.actions(k.inner, g, lambda), lambda)
		if loss <= best {
			best, at = loss, g
		}
	}
	return k.actions(k.query, at, lambda), k.grid[at]
}

func (k *KNN) actions(m *neighbourMeans, g int, lambda float64) []int {
	fees := k.tensor.Actions.Fees(lambda)
	mask := k.tensor.Actions.Mask()
	actions := make([]int, m.rows)
	for n := range actions {
		best := math.Inf(1)
		for i, loss := range m.row(g, n) {
			if c := float64(loss) + fees[i]; mask[i] && c < best {
				best, actions[n] = c, i
			}
		}
	}
	return actions
}

// neighbourMeans holds, for every entry of the grid, the mean task loss plus
// measured fee of each row's nearest training rows.
type neighbourMeans struct {
	rows, width int
	mean        [][]float32 // per entry of the grid: rows x width
}

func (m *neighbourMeans) row(g, n int) []float32 { return m.mean[g][n*m.width : (n+1)*m.width] }

func (k *KNN) means(ctx context.Context, rt *ort.Runtime, train, query []int) (*neighbourMeans, error) {
	t := k.tensor
	std := network.FitStandardizer(t.Features, t.Dim, train)
	d := regress.NewData(t, slices.Concat(train, query), std)
	if i := regress.TooFar(d.X, t.Dim); i >= 0 {
		n := slices.Concat(train, query)[i]
		return nil, &costs.DataError{Row: n + 1, Column: "features", Msg: fmt.Sprintf("id %q is too far from the training rows for distances in float32", t.IDs[n])}
	}
	fit, held := make([]int, len(train)), make([]int, len(query))
	for i := range fit {
		fit[i] = i
	}
	for i := range held {
		held[i] = len(fit) + i
	}
	mean, err := regress.Neighbours{Runtime: rt, K: k.grid}.Estimates(ctx, d, fit, held)
	return &neighbourMeans{rows: len(query), width: d.Pairs, mean: mean}, err
}
