package regress

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"pipe/models/estimate"
	"pipe/models/network"
)

// Ridge is linear regression of the loss of every pair with the squared length of the weights as a penalty. The
// intercept is not penalised.
type Ridge struct {
	Penalties []float64 // above 0, one member each, for features with a spread of 1
}

// Members implements [Family].
func (f Ridge) Members() []string {
	out := make([]string, len(f.Penalties))
	for i, p := range f.Penalties {
		out[i] = fmt.Sprintf("ridge %g", p)
	}
	return out
}

// CrossFit implements [Family].
func (f Ridge) CrossFit(ctx context.Context, d *Data, folds []Fold) ([][][]float32, error) {
	return crossFit(folds, func(fit, held []int) ([][]float32, error) { return f.estimates(ctx, d, fit, held) })
}

// estimates fits every member on the rows fit, and returns its estimates for the rows held: by member, len(held) x
// pairs.
func (f Ridge) estimates(ctx context.Context, d *Data, fit, held []int) ([][]float32, error) {
	s, err := newRidgeSystems(d, fit)
	if err != nil {
		return nil, err
	}
	x := mat.NewDense(max(1, len(held)), d.Dim, nil)
	for n, row := range held {
		for c, v := range d.Row(row) {
			x.Set(n, c, float64(v))
		}
	}
	out := make([][]float32, len(f.Penalties))
	var y mat.Dense
	for m, penalty := range f.Penalties {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w, b, err := s.solve(penalty, d.Pairs)
		if err != nil {
			return nil, err
		}
		y.Reset()
		y.Mul(x, w)
		out[m] = make([]float32, len(held)*d.Pairs)
		for i := range out[m] {
			out[m][i] = float32(y.At(i/d.Pairs, i%d.Pairs) + b[i%d.Pairs])
		}
	}
	return out, nil
}

// Fit implements [Family]: a sum of affine maps is one.
func (f Ridge) Fit(ctx context.Context, d *Data, fit []int, weights []float64) ([]estimate.Part, error) {
	if !slices.ContainsFunc(weights, func(w float64) bool { return w != 0 }) {
		return nil, nil
	}
	s, err := newRidgeSystems(d, fit)
	if err != nil {
		return nil, err
	}
	var sum mat.Dense
	sum.ReuseAs(d.Dim, d.Pairs)
	bias := make([]float64, d.Pairs)
	for m, penalty := range f.Penalties {
		if weights[m] == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w, b, err := s.solve(penalty, d.Pairs)
		if err != nil {
			return nil, err
		}
		w.Scale(weights[m], w)
		sum.Add(&sum, w)
		for i, v := range b {
			bias[i] += weights[m] * v
		}
	}
	return []estimate.Part{{Weight: 1, Estimator: linear(&sum, bias)}}, nil
}

// linear turns weights, dim x pairs, into an estimator.
func linear(w *mat.Dense, bias []float64) estimate.Linear {
	dim, pairs := w.Dims()
	a := network.Affine{Out: pairs, In: dim, W: make([]float32, pairs*dim), B: make([]float32, pairs)}
	for i := range pairs {
		a.B[i] = float32(bias[i])
		for c := range dim {
			a.W[i*dim+c] = float32(w.At(c, i))
		}
	}
	return estimate.Linear{Affine: a}
}

// ridgeSystem are the centred normal equations of a fit, for the pairs whose losses are known on the same rows.
type ridgeSystem struct {
	pairs []int         // nil: all
	x, y  []float64     // means of features and losses
	xx    *mat.SymDense // dim x dim
	xy    *mat.Dense    // dim x pairs
}

// ridgeSystems has every pair in one of them.
type ridgeSystems []*ridgeSystem

func newRidgeSystems(d *Data, fit []int) (out ridgeSystems, err error) {
	if len(fit) == 0 {
		return nil, errors.New("ridge regression of no rows")
	}
	if d.plain() {
		return ridgeSystems{newRidgeSystem(d.moments(fit))}, nil
	}
	for _, pairs := range d.together() {
		m := newWeighted(d, fit, pairs)
		if m.rows == 0 {
			return nil, errNoLoss(pairs[0])
		}
		s := newRidgeSystem(m)
		s.pairs = pairs
		out = append(out, s)
	}
	return out, nil
}

func newRidgeSystem(m *moments) *ridgeSystem {
	dim := len(m.x)
	s := &ridgeSystem{x: slices.Clone(m.x), y: slices.Clone(m.y), xx: mat.NewSymDense(dim, nil), xy: mat.DenseCopyOf(m.xy)}
	for i := range s.x {
		s.x[i] /= m.rows
	}
	for i := range s.y {
		s.y[i] /= m.rows
	}
	for i, mean := range s.x {
		for j := i; j < dim; j++ {
			s.xx.SetSym(i, j, m.xx.At(i, j)-mean*m.x[j])
		}
		for k := range s.y {
			s.xy.Set(i, k, s.xy.At(i, k)-mean*m.y[k])
		}
	}
	return s
}

// solve returns the weights of all pairs, dim x pairs, and the intercepts under a penalty.
func (all ridgeSystems) solve(penalty float64, pairs int) (w *mat.Dense, bias []float64, err error) {
	if len(all) == 1 && all[0].pairs == nil {
		return all[0].solve(penalty)
	}
	w, bias = mat.NewDense(len(all[0].x), pairs, nil), make([]float64, pairs)
	for _, s := range all {
		own, b, err := s.solve(penalty)
		if err != nil {
			return nil, nil, err
		}
		for k, pair := range s.pairs {
			bias[pair] = b[k]
			for c := range len(s.x) {
				w.Set(c, pair, own.At(c, k))
			}
		}
	}
	return w, bias, nil
}

// solve returns the weights, dim x pairs, and the intercepts under a penalty.
func (s *ridgeSystem) solve(penalty float64) (w *mat.Dense, bias []float64, err error) {
	dim := len(s.x)
	a := mat.NewSymDense(dim, nil)
	a.CopySym(s.xx)
	for i := range dim {
		a.SetSym(i, i, a.At(i, i)+penalty)
	}
	var c mat.Cholesky
	if !c.Factorize(a) {
		return nil, nil, fmt.Errorf("ridge regression with penalty %g: the features are too large for float64", penalty)
	}
	w = new(mat.Dense)
	if err := c.SolveTo(w, s.xy); err != nil {
		var ill mat.Condition
		if !errors.As(err, &ill) {
			return nil, nil, fmt.Errorf("ridge regression with penalty %g: %w", penalty, err)
		}
	}
	bias = slices.Clone(s.y)
	for c, mean := range s.x {
		for i := range bias {
			bias[i] -= mean * w.At(c, i)
		}
	}
	return w, bias, nil
}
