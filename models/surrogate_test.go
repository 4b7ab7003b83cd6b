package models

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

// surrogateProbe is a session for one surrogate. It maps scores and targets to the summed loss per model and its
// gradient at the scores.
type surrogateProbe struct {
	session *ort.Session
	shape   []int64 // of scores
	actions int64
	dt      onnx.DType
}

func newProbe(t *testing.T, name string, dt onnx.DType, tau []float64, experts, advice, batch int, allowed []bool) *surrogateProbe {
	t.Helper()
	sur, err := surrogateNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	outputs, err := sur.Outputs(experts, advice)
	if err != nil {
		t.Fatal(err)
	}
	s, b, a := int64(len(tau)), int64(batch), int64(experts*advice)
	g := onnx.NewGraph("probe")
	scores := g.Input("scores", dt, onnx.Dims(s, int64(outputs), b))
	target := g.Input("target", dt, onnx.Dims(s, a, b))
	coef := g.Input("coef", dt, onnx.Dims(s, 1, b))
	zero := perModel(g, dt, len(tau), make([]float64, len(tau)*experts*advice))
	loss := sur.Loss(g, Batch{Scores: scores, Target: target, Coef: coef, Fees: zero, Slope: slopes(g, dt, tau), Models: len(tau), Allowed: allowed, Experts: experts, Advice: advice})
	grad, err := g.Gradients(loss, scores)
	if err != nil {
		t.Fatal(err)
	}
	g.Output("loss", g.ReduceSum(loss, false, 1, 2))
	g.Output("gradient", grad[0])
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	graph, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	session, err := open(orttest.Open(t, 0), graph)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return &surrogateProbe{session, []int64{s, int64(outputs), b}, a, dt}
}

func (p *surrogateProbe) run(t *testing.T, scores, target []float64) (loss, gradient []float64) {
	t.Helper()
	tensor := func(shape []int64, v []float64) *onnx.Tensor {
		if p.dt == onnx.Float64 {
			return onnx.Float64s(shape, v)
		}
		n := make([]float32, len(v))
		for i := range v {
			n[i] = float32(v[i])
		}
		return onnx.Float32s(shape, n)
	}
	coef := make([]float64, p.shape[0]*p.shape[2])
	for i := range coef {
		coef[i] = 1 / float64(p.shape[2])
	}
	out, err := p.session.Run(context.Background(), map[string]*onnx.Tensor{
		"scores": tensor(p.shape, scores), "target": tensor([]int64{p.shape[0], p.actions, p.shape[2]}, target),
		"coef": tensor([]int64{p.shape[0], 1, p.shape[2]}, coef),
	})
	if err != nil {
		t.Fatal(err)
	}
	wide := func(x *onnx.Tensor) []float64 {
		if p.dt == onnx.Float64 {
			return x.Float64s()
		}
		var v []float64
		for _, f := range x.Float32s() {
			v = append(v, float64(f))
		}
		return v
	}
	return wide(out["loss"]), wide(out["gradient"])
}

// TestSurrogateGradientsEqualFiniteDifferences compares every surrogate, at several tau in one graph, with central
// differences in double precision.
func TestSurrogateGradientsEqualFiniteDifferences(t *testing.T) {
	taus := []float64{0, 0.3, 0.999, 1, 1.001, 1.5, 2, 3}
	cases := []struct {
		name            string
		experts, advice int
		mask            bool
	}{
		{"comp_sum", 3, 2, false},
		{"comp_sum", 2, 3, true},
		{"weighted", 4, 1, false},
		{"separated", 2, 2, false},
		{"separated_softmax", 3, 3, false},
	}
	covered := map[string]bool{}
	for _, c := range cases {
		covered[c.name] = true
		t.Run(fmt.Sprintf("%s_%dx%d", c.name, c.experts, c.advice), func(t *testing.T) {
			const batch = 4
			a := c.experts * c.advice
			var allowed []bool
			if c.mask {
				for i := range a * len(taus) {
					allowed = append(allowed, (i/a+i%a)%3 != 1)
				}
			}
			p := newProbe(t, c.name, onnx.Float64, taus, c.experts, c.advice, batch, allowed)
			r := rand.New(rand.NewPCG(3, 4))
			scores := make([]float64, p.shape[0]*p.shape[1]*p.shape[2])
			for i := range scores {
				scores[i] = 2 * r.NormFloat64()
			}
			target := make([]float64, len(taus)*a*batch)
			for i := range target {
				target[i] = r.Float64()
			}
			_, grad := p.run(t, scores, target)
			per := int(p.shape[1] * p.shape[2])
			const h = 1e-5
			for i := range scores {
				keep := scores[i]
				scores[i] = keep + h
				up, _ := p.run(t, scores, target)
				scores[i] = keep - h
				down, _ := p.run(t, scores, target)
				scores[i] = keep
				m := i / per
				want := (up[m] - down[m]) / (2 * h)
				if math.Abs(grad[i]-want) > 1e-6*math.Max(1, math.Abs(want)) {
					t.Fatalf("tau %g, score %d: gradient %.9g, finite difference %.9g", taus[m], i%per, grad[i], want)
				}
			}
		})
	}
	for name := range surrogates() {
		if !covered[name] {
			t.Errorf("surrogate %s has no case here", name)
		}
	}
}

// TestCompSumInFloat32EqualsTheFormula covers logits up to 80 apart in both directions, near and away from tau = 1.
// Below the cap the graph equals the formula in float64; beyond it the result is finite and has no gradient.
func TestCompSumInFloat32EqualsTheFormula(t *testing.T) {
	taus := []float64{0, 0.25, 0.5, 0.9, 0.99, 0.9999, 1, 1.0001, 1.01, 1.5, 2, 2.5, 3}
	gaps := []float64{-160, -80, -40, -10, -1, -0.01, 0, 0.01, 1, 10, 40, 80, 160}
	p := newProbe(t, "weighted", onnx.Float32, taus, 2, 1, len(gaps), nil)
	var scores, target []float64
	for range taus {
		for _, row := range []float64{0.5, -0.5} {
			for _, d := range gaps {
				scores = append(scores, row*d)
			}
		}
		for _, w := range []float64{1, 0} { // only the first action has weight
			for range gaps {
				target = append(target, w)
			}
		}
	}
	_, grad := p.run(t, scores, target)
	for m, tau := range taus {
		for i, d := range gaps {
			one := newOne(p, scores, target, m, i)
			got, _ := p.run(t, one.scores, one.target)
			value := got[m] * float64(len(gaps))
			nll := math.Log1p(math.Exp(-math.Abs(d))) + math.Max(0, -d)
			u := (1 - tau) * nll
			g := grad[(m*2)*len(gaps)+i] * float64(len(gaps))
			if math.IsNaN(value) || math.IsInf(value, 0) || math.IsNaN(g) || math.IsInf(g, 0) {
				t.Fatalf("tau %g, logit gap %g: loss %g, gradient %g", tau, d, value, g)
			}
			if u > phiCap {
				want := math.Expm1(phiCap) / (1 - tau)
				if math.Abs(value-want) > 2e-5*want || g != 0 {
					t.Errorf("tau %g, logit gap %g: beyond the cap loss %g (want %g), gradient %g (want 0)", tau, d, value, want, g)
				}
				continue
			}
			want := compSumLoss(tau, -nll)
			// exp of u in float32 has a relative error of about u * 2^-24, and a
			// log-sum near 0 an absolute one of 2^-24.
			if tol := (2e-6+1.5e-7*math.Abs(u))*math.Abs(want) + 6e-8; math.Abs(value-want) > tol {
				t.Errorf("tau %g, logit gap %g: loss %.9g, formula %.9g", tau, d, value, want)
			}
			slope := -math.Exp(u) * -math.Expm1(-nll) // d phi/d s_i = -exp(u) (1 - p_i)
			if tol := 1e-4*math.Abs(slope) + 1e-7; math.Abs(g-slope) > tol {
				t.Errorf("tau %g, logit gap %g: gradient %.9g, formula %.9g", tau, d, g, slope)
			}
		}
	}
}

// newOne keeps one instance's weight of one model.
func newOne(p *surrogateProbe, scores, target []float64, m, i int) struct{ scores, target []float64 } {
	n := int(p.shape[2])
	out := make([]float64, len(target))
	out[m*2*n+i] = target[m*2*n+i]
	return struct{ scores, target []float64 }{scores, out}
}

// TestSeparatedSoftmaxIsTheBinaryLoss compares the generalisation with the paper's loss at J = 2, K = 1 with r = s_1 -
// s_0 and q_j = q_j1 - q_j0.
func TestSeparatedSoftmaxIsTheBinaryLoss(t *testing.T) {
	const batch = 50
	tau := []float64{1}
	general := newProbe(t, "separated_softmax", onnx.Float64, tau, 2, 2, batch, nil)
	binary := newProbe(t, "separated", onnx.Float64, tau, 2, 2, batch, nil)
	r := rand.New(rand.NewPCG(5, 6))
	wide, narrow, target := make([]float64, 6*batch), make([]float64, 3*batch), make([]float64, 4*batch)
	for i := range wide {
		wide[i] = 3 * r.NormFloat64()
	}
	for i := range target {
		target[i] = r.Float64()
	}
	for n := range batch {
		for o := range 3 {
			narrow[o*batch+n] = wide[(2*o+1)*batch+n] - wide[2*o*batch+n]
		}
	}
	got, _ := general.run(t, wide, target)
	want, _ := binary.run(t, narrow, target)
	if math.Abs(got[0]-want[0]) > 1e-10 {
		t.Fatalf("generalisation %.12g, binary loss %.12g", got[0], want[0])
	}
}
