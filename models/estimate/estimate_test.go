package estimate

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"pipe/models/network"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

const dim, pairs = 5, 6

func floats(rng *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(rng.NormFloat64())
	}
	return out
}

func layer(rng *rand.Rand, out, in int) network.Affine {
	return network.Affine{Out: out, In: in, W: floats(rng, out*in), B: floats(rng, out)}
}

func estimators(rng *rand.Rand) []Estimator {
	net := network.MLP{Layers: []network.Affine{layer(rng, 7, dim), layer(rng, pairs, 7)}}
	near := &Neighbours{Dim: dim, Rows: floats(rng, 40*dim), Losses: floats(rng, 40*pairs), ByRank: []float32{0.5, 0.2, 0.1, 0.1, 0.1}}
	parts := []Part{{Linear{layer(rng, pairs, dim)}, 0.3}, {Network{net, 0.1, 0.9}, 0.5}, {near, 1}}
	return []Estimator{
		Linear{layer(rng, pairs, dim)},
		NewConstant([]float64{1, 2, 3, 4, 5, 6}, dim),
		Network{net, 0, 1},
		Network{net, -2, 5},
		near,
		&Neighbours{Dim: dim, Rows: floats(rng, 9*dim), Losses: floats(rng, 9*pairs), ByRank: Mean(9)},
		Blend{Parts: parts},
		Block{1, 4, Linear{layer(rng, pairs, 3)}},
		Block{2, dim, &Neighbours{Dim: 3, Rows: floats(rng, 40*3), Losses: floats(rng, 40*pairs), ByRank: Mean(5)}},
		curved{Linear{layer(rng, pairs, dim)}, Curve{X: []float64{-0.5, 0, 0.2, 1}, Y: []float64{0, 0.1, 0.7, 0.9}}},
	}
}

// curved is an estimator with a curve behind it, as policies have.
type curved struct {
	Linear
	Curve
}

func (c curved) Check(dim, pairs int) error {
	return errors.Join(c.Linear.Check(dim, pairs), c.Curve.Check())
}

func (c curved) Estimate(dst, x []float64) {
	c.Linear.Estimate(dst, x)
	for i, v := range dst {
		dst[i] = c.At(v)
	}
}

func (c curved) Graph(g *onnx.Graph, x *onnx.Value, prefix string) *onnx.Value {
	return c.Curve.Graph(g, c.Linear.Graph(g, x, prefix), prefix)
}

func run(t *testing.T, rt *ort.Runtime, e Estimator, x []float32) []float32 {
	t.Helper()
	g := onnx.NewGraph("estimate")
	g.Output("y", e.Graph(g, g.Input("x", onnx.Float32, onnx.Shape{onnx.Sym("batch"), onnx.Fix(dim)}), "e_"))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	s, err := rt.Session(b, rt.SessionOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Run(context.Background(), map[string]*onnx.Tensor{"x": onnx.Float32s([]int64{int64(len(x) / dim), dim}, x)})
	if err != nil {
		t.Fatal(err)
	}
	return out["y"].Float32s()
}

func TestGraphsEstimateAsGo(t *testing.T) {
	rt := orttest.Open(t, 0)
	rng := rand.New(rand.NewPCG(3, 4))
	const rows = 30
	for _, e := range estimators(rng) {
		if err := e.Check(dim, pairs); err != nil {
			t.Fatalf("%s: %v", e.Kind(), err)
		}
		x := floats(rng, rows*dim)
		got := run(t, rt, e, x)
		want, in := make([]float64, pairs), make([]float64, dim)
		for n := range rows {
			for c := range in {
				in[c] = float64(x[n*dim+c])
			}
			e.Estimate(want, in)
			for i, v := range want {
				if d := math.Abs(v - float64(got[n*pairs+i])); d > 1e-4 {
					t.Fatalf("%s, row %d, pair %d: the graph says %g, Go says %g", e.Kind(), n, i, got[n*pairs+i], v)
				}
			}
		}
	}
}

// A feature that is not a number must not be hidden by the neighbours of the row.
func TestBlendShowsFeaturesThatAreNoNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	near := &Neighbours{Dim: dim, Rows: floats(rng, 9*dim), Losses: floats(rng, 9*pairs), ByRank: Mean(3)}
	x := floats(rng, 3*dim)
	x[dim], x[2*dim+1] = float32(math.NaN()), float32(math.Inf(1))
	got := run(t, orttest.Open(t, 0), Blend{Parts: []Part{{near, 1}}}, x)
	for i, v := range got {
		if (i >= pairs) != math.IsNaN(float64(v)) {
			t.Errorf("row %d, pair %d: %g", i/pairs, i%pairs, v)
		}
	}
}

func TestNearerRowsFirstAndEarlierOnTies(t *testing.T) {
	near := &Neighbours{Dim: 1, Rows: []float32{4, 1, 1, 2}, Losses: []float32{1, 10, 100, 1000}, ByRank: []float32{1, 0.5}}
	e := Blend{Parts: []Part{{near, 1}}}
	for x, want := range map[float64]float64{1: 10 + 50, 5: 1 + 500} {
		var got [1]float64
		e.Estimate(got[:], []float64{x})
		if got[0] != want {
			t.Errorf("at %g: %g, want %g", x, got[0], want)
		}
	}
}

func TestCurveRisesThroughItsPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "points")
		var c Curve
		x, y := rapid.Float64Range(-5, 5).Draw(t, "x"), rapid.Float64Range(-5, 5).Draw(t, "y")
		for range n {
			c.X, c.Y = append(c.X, x), append(c.Y, y)
			x += rapid.Float64Range(0.01, 2).Draw(t, "dx")
			y += rapid.Float64Range(0.01, 2).Draw(t, "dy")
		}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		for i := range c.X {
			if got := c.At(c.X[i]); math.Abs(got-c.Y[i]) > 1e-9 {
				t.Fatalf("point %d: %g, want %g", i, got, c.Y[i])
			}
		}
		a, b := rapid.Float64Range(-8, 20).Draw(t, "a"), rapid.Float64Range(-8, 20).Draw(t, "b")
		if a < b && c.At(a) > c.At(b) {
			t.Fatalf("falls from %g at %g to %g at %g", c.At(a), a, c.At(b), b)
		}
	})
}

func TestCheckRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	nan := float32(math.NaN())
	good := func() *Neighbours {
		return &Neighbours{Dim: dim, Rows: floats(rng, 4*dim), Losses: floats(rng, 4*pairs), ByRank: Mean(2)}
	}
	bent := func(change func(*Neighbours)) *Neighbours { m := good(); change(m); return m }
	for name, e := range map[string]Estimator{
		"another width":       Linear{layer(rng, pairs, dim+1)},
		"other pairs":         Linear{layer(rng, pairs-1, dim)},
		"falling range":       Network{network.MLP{Layers: []network.Affine{layer(rng, pairs, dim)}}, 1, 0},
		"no parts":            Blend{},
		"an empty part":       Blend{Parts: []Part{{}}},
		"weight not a number": Blend{Parts: []Part{{good(), math.NaN()}}},
		"flat curve":          curved{Linear{layer(rng, pairs, dim)}, Curve{X: []float64{0, 1}, Y: []float64{1, 1}}},
		"one point":           curved{Linear{layer(rng, pairs, dim)}, Curve{X: []float64{0}, Y: []float64{1}}},
		"neighbours of none":  bent(func(m *Neighbours) { m.ByRank = nil }),
		"too many neighbours": bent(func(m *Neighbours) { m.ByRank = Mean(5) }),
		"a loss too few":      bent(func(m *Neighbours) { m.Losses = m.Losses[1:] }),
		"a feature too few":   bent(func(m *Neighbours) { m.Rows = m.Rows[1:] }),
		"a far row":           bent(func(m *Neighbours) { m.Rows[0] = 3e38 }),
		"a loss of NaN":       bent(func(m *Neighbours) { m.Losses[0] = nan }),
	} {
		if e.Check(dim, pairs) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
