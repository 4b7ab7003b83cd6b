package cascade

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pipe/costs"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

var nan = float32(math.NaN())

// actions are pairs of experts with one advice, of which the last pair does not exist.
func actions(experts, dim int) *costs.Actions {
	a := &costs.Actions{Advice: []costs.Advice{{Name: "none"}, {Name: "docs", Fee: 0.02}}, Features: costs.FeatureSource{Dim: dim}}
	for j := range experts {
		a.Experts = append(a.Experts, costs.Expert{Name: fmt.Sprintf("e%d", j), Fee: 0.05 * float64(j)})
	}
	a.Unavailable = []costs.Pair{{Expert: experts - 1, Advice: 1}}
	return a
}

func affine(rng *rand.Rand, in, out int) network.Affine {
	a := network.Affine{In: in, Out: out, W: make([]float32, in*out), B: make([]float32, out)}
	for i := range a.W {
		a.W[i] = float32(rng.NormFloat64() / math.Sqrt(float64(in)))
	}
	for i := range a.B {
		a.B[i] = float32(rng.NormFloat64())
	}
	return a
}

// estimated is a policy by random estimates, with networks of hidden units, a margin and curves.
func estimated(rng *rand.Rand, a *costs.Actions, dim, hidden int) *policy.Policy {
	n := a.Len()
	layer := affine(rng, dim, hidden)
	net := estimate.Network{MLP: network.MLP{Layers: []network.Affine{layer, affine(rng, hidden, n)}}, Low: 0, High: 1}
	e := &policy.Estimate{
		Blend: estimate.Blend{Parts: []estimate.Part{
			{Weight: 0.7, Estimator: net}, {Weight: 0.3, Estimator: estimate.Linear{Affine: affine(rng, dim, n)}},
		}},
		Constant: make([]float64, n), Margin: 0.01,
		Curve:     estimate.Curve{X: []float64{-2, 0.2, 3}, Y: []float64{0, 0.3, 1}},
		Selection: estimate.Curve{X: []float64{0, 0.5}, Y: []float64{-0.03, 0.01}},
	}
	for i := range e.Constant {
		e.Constant[i] = rng.Float64()
	}
	std := network.Standardizer{Mean: make([]float32, dim), Scale: make([]float32, dim)}
	for c := range std.Scale {
		std.Mean[c], std.Scale[c] = float32(rng.NormFloat64()), 1
	}
	return &policy.Policy{Actions: a, Method: "auto", Recipe: "auto", Lambda: 1, Decoder: policy.DecoderEstimate, Dim: dim, Standard: std, Estimate: e}
}

// planted is a policy with a state for every set of up to two pairs, but one, and with three facts.
func planted(rng *rand.Rand, experts, dim, hidden int) *Policy {
	a := actions(experts, dim)
	p := &Policy{
		Actions: a, Dim: dim, Stages: 2, Lambda: 1.5,
		Facts: []costs.Fact{{Name: "label", Values: []string{"no", "yes"}}, {Name: "confidence"}, {Name: "length"}},
		Info:  map[string]string{"method": "auto"},
	}
	p.Rest = estimated(rng, PairActions(a, 1.5, nil, nil, dim), dim, hidden)
	var sets [][]int
	for i, ok := range a.Mask() {
		for j := i + 1; ok && j < a.Len(); j++ {
			if a.Mask()[j] && j-i != 2 {
				sets = append(sets, []int{i, j})
			}
		}
		if ok {
			sets = append([][]int{{i}}, sets...)
		}
	}
	for n, executed := range append([][]int{nil}, sets...) {
		e := Encoding{Dim: dim}
		for _, i := range executed {
			e.Numbers = append(e.Numbers, Number{i*3 + 1, 0, 1, 0.5}, Number{i*3 + 2, -1, 50, 2})
			e.Values = append(e.Values, Value{i * 3, 0}, Value{i * 3, 1})
			e.Known = append(e.Known, i*3, i*3+1)
		}
		if len(executed) == 2 {
			e.Agree = []Agreement{{executed[0] * 3, executed[1] * 3}}
		}
		var allowed []bool
		if len(executed) == 2 {
			allowed = make([]bool, a.Len())
			allowed[executed[0]], allowed[executed[1]] = true, true
		}
		own := estimated(rng, PairActions(a, 1.5, executed, allowed, e.Width()), e.Width(), hidden)
		if n%4 == 3 {
			mean := make([]float64, a.Len())
			for i := range mean {
				mean[i] = rng.Float64()
			}
			own = policy.NewFixed(own.Actions, mean, 1, e.Width())
			own.Method, own.Recipe = "auto", "auto"
		}
		p.States = append(p.States, State{Executed: executed, Encoding: e, Policy: own})
	}
	return p
}

// randomRows are rows in random states, with unknown and hostile values.
func randomRows(rng *rand.Rand, p *Policy, n int) Rows {
	a, f := p.Actions.Len(), len(p.Facts)
	r := Rows{N: n, Features: make([]float32, n*p.Dim), Observed: make([]float32, n*a*f), Executed: make([]bool, n*a)}
	for i := range r.Features {
		r.Features[i] = float32(rng.NormFloat64())
	}
	hostile := []float32{nan, float32(math.Inf(1)), float32(math.Inf(-1)), 1e38, -1e38, 0.5, 7, -1}
	for i := range r.Observed {
		switch i % f {
		case 0:
			r.Observed[i] = float32(rng.IntN(2))
		case 1:
			r.Observed[i] = rng.Float32()
		default:
			r.Observed[i] = 60 * rng.Float32()
		}
		if rng.IntN(5) == 0 {
			r.Observed[i] = hostile[rng.IntN(len(hostile))]
		}
	}
	mask := p.Actions.Mask()
	for row := range n {
		for range rng.IntN(4) {
			if i := rng.IntN(a); mask[i] {
				r.Executed[row*a+i] = true
			}
		}
	}
	return r
}

// reference decides a row in Go.
func (p *Policy) reference(t *testing.T, r Rows, n int) (action int) {
	t.Helper()
	a, c := p.Actions.Len(), p.Actions.Len()*len(p.Facts)
	var executed []int
	for i, is := range r.Executed[n*a : (n+1)*a] {
		if is {
			executed = append(executed, i)
		}
	}
	x := r.Features[n*p.Dim : (n+1)*p.Dim]
	at := p.State(executed)
	if at < 0 {
		return -1
	}
	s := p.States[at]
	action, err := s.Policy.Decide(s.Encoding.Encode(nil, x, r.Observed[n*c:(n+1)*c]))
	if err != nil {
		t.Fatal(err)
	}
	return action
}

func open(t testing.TB, rt *ort.Runtime, p *Policy) *Decider {
	t.Helper()
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecider(rt, m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// A batch of rows in different states is decided as Go decides them, and as rows one at a time.
func TestDeciderAgreesWithGo(t *testing.T) {
	rt := orttest.Open(t, 0)
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := planted(rng, 3, 4, 16)
		d, rows := open(t, rt, p), randomRows(rng, p, 2500)
		got, err := d.Next(t.Context(), rows)
		if err != nil {
			t.Fatal(err)
		}
		states := map[int]int{}
		for n, action := range got.Action {
			want := p.reference(t, rows, n)
			states[want]++
			if want >= 0 && int64(want) != action {
				t.Errorf("seed %d, row %d: action %d, in Go %d", seed, n, action, want)
			}
			if n%10 > 0 {
				continue
			}
			one, err := d.Next(t.Context(), rows.slice(n, n+1, d.info))
			if err != nil {
				t.Fatal(err)
			}
			if one.Action[0] != action || one.Accept[0] != got.Accept[n] || math.Abs(float64(one.Remaining[0]-got.Remaining[n])) > 1e-5 ||
				(known(one.Loss[0]) || known(got.Loss[n])) && !(math.Abs(float64(one.Loss[0]-got.Loss[n])) < 1e-5) {
				t.Errorf("seed %d, row %d: %v alone, %d in a batch", seed, n, one, action)
			}
		}
		if len(states) < 5 || states[-1] == 0 {
			t.Errorf("seed %d: actions %v", seed, states)
		}
	}
}

// BenchmarkNext has the time of one step on one row, beside a decision of an ordinary policy with the same network. The median is what
// a machine with other work tells too.
func BenchmarkNext(b *testing.B) {
	rt := orttest.Open(b, 1)
	rng := rand.New(rand.NewPCG(1, 1))
	p := planted(rng, 5, 32, 128)
	d := open(b, rt, p)
	bench := func(name string, step func() error) {
		b.Run(name, func(b *testing.B) {
			var took []float64
			for b.Loop() {
				start := time.Now()
				if err := step(); err != nil {
					b.Fatal(err)
				}
				took = append(took, float64(time.Since(start).Nanoseconds())/1000)
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2], "median-us")
		})
	}
	for n, executed := range [][]int{{}, {1}, {1, 2}} {
		rows := randomRows(rng, p, 1)
		clear(rows.Executed)
		for _, i := range executed {
			rows.Executed[i] = true
		}
		bench(fmt.Sprintf("step=%d/states=%d", n+1, len(p.States)), func() error {
			_, err := d.Next(b.Context(), rows)
			return err
		})
	}
	priced := plantedAny(rng, 5, 32, 128)
	any, rows := open(b, rt, priced), randomRows(rng, p, 1)
	clear(rows.Executed)
	bench("any-price/step=1", func() error {
		_, err := any.Next(b.Context(), rows)
		return err
	})
	rows.Executed[1] = true
	bench("any-price/step=2", func() error {
		_, err := any.Next(b.Context(), rows)
		return err
	})
	m, err := p.Rest.Export()
	if err != nil {
		b.Fatal(err)
	}
	one, err := policy.NewDecider(rt, m)
	if err != nil {
		b.Fatal(err)
	}
	defer one.Close()
	x := make([]float32, p.Dim)
	bench("policy", func() error {
		_, err := one.Decide(b.Context(), x, 1)
		return err
	})
}

// What is not a row in a state that can be is refused, and the row is named.
func TestDeciderRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	p := planted(rng, 3, 4, 8)
	d := open(t, orttest.Open(t, 0), p)
	for want, change := range map[string]func(*Rows){
		"row 1: feature 2 is NaN":                   func(r *Rows) { r.Features[1*p.Dim+2] = nan },
		"row 2: feature 0 is +Inf":                  func(r *Rows) { r.Features[2*p.Dim] = float32(math.Inf(1)) },
		"row 1: e2/docs was executed, but does not": func(r *Rows) { r.Executed[6+5] = true },
		"for 3 rows of 4, 18 and 6":                 func(r *Rows) { r.Observed = r.Observed[1:] },
	} {
		r := randomRows(rng, p, 3)
		change(&r)
		_, err := d.Next(t.Context(), r)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	late := randomRows(rng, p, 1500)
	late.Features[1400*p.Dim] = nan
	if _, err := d.Next(t.Context(), late); err == nil || !strings.Contains(err.Error(), "row 1400") {
		t.Error(err)
	}
	if got, err := d.Next(t.Context(), Rows{}); err != nil || len(got.Action) != 0 {
		t.Error(got, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := d.Next(t.Context(), randomRows(rng, p, 1)); !errors.Is(err, ort.ErrClosed) {
		t.Error(err)
	}
}

// In the file itself, a row with a NaN feature has no action, in every state.
func TestFileMarksInvalidRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	p := planted(rng, 3, 4, 8)
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	r := randomRows(rng, p, 400)
	for n := range r.N {
		r.Features[n*p.Dim+n%p.Dim] = []float32{nan, float32(math.Inf(1)), float32(math.Inf(-1))}[n%3]
	}
	a := int64(p.Actions.Len())
	out := orttest.Evaluate(t, m, map[string]*onnx.Tensor{
		FeaturesInput: onnx.Float32s([]int64{400, int64(p.Dim)}, r.Features), ObservedInput: onnx.Float32s([]int64{400, 3 * a}, r.Observed),
		ExecutedInput: onnx.Bools([]int64{400, a}, r.Executed),
	})
	for n, action := range out[ActionOutput].Int64s() {
		loss, remaining := out[LossOutput].Float32s()[n], out[RemainingOutput].Float32s()[n]
		if action != a || out[AcceptOutput].Bools()[n] || loss == loss || remaining == remaining {
			t.Errorf("row %d: action %d, loss %g, remaining %g, executed %v", n, action, loss, remaining, r.Executed[n*int(a):(n+1)*int(a)])
		}
	}
}

// In a state that the file has no policy for, the answer with the smallest loss by the features is accepted.
func TestRest(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	p := planted(rng, 3, 4, 8)
	d := open(t, orttest.Open(t, 0), p)
	r := randomRows(rng, p, 50)
	clear(r.Executed)
	for n := range r.N {
		r.Executed[n*6], r.Executed[n*6+2], r.Executed[n*6+3] = true, true, true
	}
	got, err := d.Next(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for n, action := range got.Action {
		best := int64(0)
		for _, i := range []int64{2, 3} {
			if got.Cost[n*6+int(i)] < got.Cost[n*6+int(best)] {
				best = i
			}
		}
		if action != best || !got.Accept[n] || got.Loss[n] != got.Remaining[n] || got.Cost[n*6+1] < noneAbove {
			t.Errorf("row %d: action %d, %v", n, action, got.Cost[n*6:n*6+6])
		}
	}
}

// Calls side by side, with other numbers of rows, do not disturb each other.
func TestDeciderConcurrently(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	p := planted(rng, 3, 4, 8)
	d := open(t, orttest.Open(t, 0), p)
	var wait sync.WaitGroup
	for n := range 8 {
		r := randomRows(rng, p, 1+n%3)
		want, err := d.Next(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		wait.Go(func() {
			for range 20 {
				if got, err := d.Next(t.Context(), r); err != nil || !slices.Equal(got.Action, want.Action) {
					t.Error(got, err)
				}
			}
		})
	}
	wait.Wait()
}

// A file that accepts every first answer has the constants of its policy once. It decides as the policy does.
func TestOneShotFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	p := planted(rng, 3, 4, 300)
	p.States = []State{{Encoding: Encoding{Dim: 4}, Policy: p.Rest}}
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	file, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if m, err = p.Rest.Export(); err != nil {
		t.Fatal(err)
	}
	if one, err := m.Marshal(); err != nil || len(file) > len(one)+12_000 {
		t.Errorf("%d bytes, the policy has %d: %v", len(file), len(one), err)
	}
	d, r := open(t, orttest.Open(t, 0), p), randomRows(rng, p, 100)
	got, err := d.Next(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for n, action := range got.Action {
		want, err := p.Rest.Decide(r.Features[n*4 : n*4+4])
		if err != nil {
			t.Fatal(err)
		}
		if executed := slices.Contains(r.Executed[n*6:n*6+6], true); got.Accept[n] != executed || !executed && action != int64(want) {
			t.Errorf("row %d: action %d, accept %t, the policy takes %d", n, action, got.Accept[n], want)
		}
	}
}

// A policy that estimates no costs cannot be a state.
func TestExportRefusesPoliciesWithoutCosts(t *testing.T) {
	p := planted(rand.New(rand.NewPCG(7, 7)), 3, 4, 8)
	p.States[2].Policy = policy.NewFixed(p.States[2].Policy.Actions, make([]float64, 6), 1, p.States[2].Encoding.Width())
	p.States[2].Policy.FixedScores = nil
	if _, err := p.Export(); err == nil || !strings.Contains(err.Error(), "estimates no costs") {
		t.Error(err)
	}
}
