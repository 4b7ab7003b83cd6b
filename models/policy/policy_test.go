package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/internal/hint"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/onnx"
	"pipe/onnx/ort/orttest"
)

// randomPolicy has members of random shapes over random actions, some of which
// are unavailable if gaps is set.
func randomPolicy(rng *rand.Rand, decoder Decoder, members int, gaps bool) *Policy {
	j, levels, dim := 1+rng.IntN(4), 1+rng.IntN(4), 1+rng.IntN(9)
	if decoder == DecoderSeparated {
		j, levels = 2, 2
	}
	a := coststest.Actions(make([]float64, j), make([]float64, levels))
	a.Features = costs.FeatureSource{Name: "random", Dim: dim}
	for i := range a.Len() {
		if _, k := a.Pair(i); gaps && k > 0 && rng.IntN(3) == 0 {
			j, _ := a.Pair(i)
			a.Unavailable = append(a.Unavailable, costs.Pair{Expert: j, Advice: k})
		}
	}
	p := &Policy{Actions: a, Method: "ours", Recipe: "paper", Lambda: 0.5, Tau: 1, Decoder: decoder}
	p.Standard = network.Standardizer{Mean: coststest.Floats(rng, dim), Scale: coststest.Floats(rng, dim)}
	for range members {
		p.Members = append(p.Members, randomMember(rng, dim, memberWidths[decoder](j, levels)))
	}
	if decoder == DecoderFixed {
		mean := make([]float64, a.Len())
		for i := range mean {
			mean[i] = rng.Float64()
		}
		f := NewFixed(a, mean, 0.5, dim)
		p.Members, p.Dim, p.Fixed, p.FixedScores = nil, dim, f.Fixed, f.FixedScores
	}
	if decoder == DecoderEstimate {
		p.Members, p.Dim, p.Estimate = nil, dim, randomEstimate(rng, dim, a.Len())
	}
	return p
}

// randomEstimate is a blend of a linear map, a network and neighbours.
func randomEstimate(rng *rand.Rand, dim, pairs int) *Estimate {
	rows := 5 + rng.IntN(30)
	e := &Estimate{Margin: float64(rng.IntN(2)) * rng.Float64() / 2, Blend: estimate.Blend{Parts: []estimate.Part{
		{Weight: 0.4, Estimator: estimate.NewConstant(doubles(rng, pairs), dim)},
		{Weight: 0.7, Estimator: estimate.Network{MLP: randomMember(rng, dim, pairs), Low: 0, High: 2}},
		{Weight: 1, Estimator: &estimate.Neighbours{
			Dim: dim, Rows: coststest.Floats(rng, rows*dim), Losses: coststest.Floats(rng, rows*pairs), ByRank: estimate.Mean(1 + rng.IntN(rows)),
		}},
	}}}
	if rng.IntN(2) == 0 {
		e.Curve = estimate.Curve{X: []float64{-1, 0, 1, 2}, Y: []float64{-0.5, 0, 1.5, 2}}
	}
	if rng.IntN(2) == 0 {
		e.Selection = estimate.Curve{X: []float64{0, 0.1, 0.5}, Y: []float64{-0.2, -0.05, 0.1}}
	}
	e.Constant = doubles(rng, pairs)
	return e
}

func doubles(rng *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = rng.Float64()
	}
	return out
}

func randomMember(rng *rand.Rand, dim, width int) network.MLP {
	var m network.MLP
	for range rng.IntN(3) {
		h := 1 + rng.IntN(12)
		m.Layers = append(m.Layers, network.Affine{Out: h, In: dim, W: coststest.Floats(rng, h*dim), B: coststest.Floats(rng, h)})
		dim = h
	}
	m.Layers = append(m.Layers, network.Affine{Out: width, In: dim, W: coststest.Floats(rng, width*dim), B: coststest.Floats(rng, width)})
	return m
}

// memberWidths are the outputs of a member over j experts and levels of advice. Every decoder has a line.
var memberWidths = map[Decoder]func(j, levels int) int{
	DecoderComposite:        func(j, levels int) int { return j * levels },
	DecoderL2D:              func(j, _ int) int { return j },
	DecoderSeparated:        func(int, int) int { return 3 },
	DecoderSeparatedSoftmax: func(j, levels int) int { return j + j*levels },
	DecoderFixed:            func(int, int) int { return 0 }, // has no members
	DecoderEstimate:         func(int, int) int { return 0 }, // nor has this
}

// The conformance test of decoders: the exported graph equals the reference.
func TestExportedGraphEqualsReference(t *testing.T) {
	rt := orttest.Open(t, 0)
	for decoder := range decoders {
		if memberWidths[decoder] == nil {
			t.Errorf("decoder %s has no line in memberWidths", decoder)
			continue
		}
		for seed := range uint64(12) {
			t.Run(fmt.Sprintf("%s/%d", decoder, seed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 5))
				p := randomPolicy(rng, decoder, 1+int(seed%3), seed%2 == 1)
				m, err := p.Export()
				if err != nil {
					t.Fatal(err)
				}
				d, err := NewDecider(rt, m)
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				compareWithReference(t, p, d, coststest.Floats(rng, 33*p.FeatureDim()))
			})
		}
	}
}

// compareWithReference accepts another action only if the two scores are within float32 rounding of each other.
func compareWithReference(t *testing.T, p *Policy, d *Decider, features []float32) {
	t.Helper()
	dim, a := p.FeatureDim(), p.Actions.Len()
	got, err := d.Decide(context.Background(), features, len(features)/dim)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float64, a)
	for n := range got.Action {
		x := features[n*dim : (n+1)*dim]
		if err := p.Scores(want, x); err != nil {
			t.Fatal(err)
		}
		action := mustDecide(t, p, x)
		for i, s := range got.Scores[n*a : (n+1)*a] {
			if math.Abs(float64(s)-want[i]) > 1e-4*(1+math.Abs(want[i])) {
				t.Fatalf("row %d: score of %s is %v, reference %v", n, p.Actions.Name(i), s, want[i])
			}
		}
		if g := int(got.Action[n]); g != action && want[action]-want[g] > 1e-4 {
			t.Fatalf("row %d: action %d, reference %d, scores %v", n, g, action, want)
		}
		if p.Decoder == DecoderEstimate {
			compareLosses(t, p, got.Loss[n*a:(n+1)*a], want, x)
		}
		j, k := p.Actions.Pair(int(got.Action[n]))
		if int(got.Expert[n]) != j || int(got.Advice[n]) != k {
			t.Fatalf("row %d: action %d says pair (%d, %d)", n, got.Action[n], got.Expert[n], got.Advice[n])
		}
		if !p.Actions.Available(int(got.Action[n])) || p.Decoder == DecoderL2D && k != 0 {
			t.Fatalf("row %d: action %d must never be chosen", n, got.Action[n])
		}
	}
}

// compareLosses compares expected losses with what the estimates and the scores of a row say.
func compareLosses(t *testing.T, p *Policy, got []float32, scores []float64, x []float32) {
	t.Helper()
	e, best := p.Estimate, slices.Max(scores)
	raw, wide := make([]float64, len(scores)), make([]float64, len(x))
	for c, v := range p.Standard.Apply(x, len(x)) {
		wide[c] = float64(v)
	}
	e.Blend.Estimate(raw, wide)
	for i, v := range raw {
		if !p.Actions.Available(i) {
			continue
		}
		want := e.Curve.At(v)
		if len(e.Selection.X) > 0 {
			want -= e.Selection.At(best - scores[i])
			if y := e.Curve.Y; len(y) > 0 {
				want = min(max(want, y[0]), y[len(y)-1])
			}
		}
		if math.Abs(float64(got[i])-want) > 1e-3 {
			t.Fatalf("the expected loss of %s is %v, reference %v", p.Actions.Name(i), got[i], want)
		}
	}
}

func mustDecide(t testing.TB, p *Policy, x []float32) int {
	t.Helper()
	action, err := p.Decide(x)
	if err != nil {
		t.Fatal(err)
	}
	return action
}

// TestReferenceRefuses what it has no answer for.
func TestReferenceRefuses(t *testing.T) {
	p := biasPolicy(DecoderComposite, 2, 2, 0, 1, 2, 3)
	for want, x := range map[string][]float32{
		"3 features, it takes 2": {1, 2, 3}, "0 features": nil, "feature 1 is NaN": {0, float32(math.NaN())}, "feature 0 is +Inf": {float32(math.Inf(1)), 0},
	} {
		if action, err := p.Decide(x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: action %d, error %v, want %q", x, action, err, want)
		}
	}
	if err := p.Scores(make([]float64, 3), []float32{1, 2}); err == nil || !strings.Contains(err.Error(), "room for 3 scores") {
		t.Error(err)
	}
	p.Decoder = "best"
	if _, err := p.Decide([]float32{1, 2}); err == nil || !strings.Contains(err.Error(), "unknown decoder") {
		t.Error(err)
	}
}

// TestDecodersFitNetworks: before training it is known which networks a decoder can read.
func TestDecodersFitNetworks(t *testing.T) {
	a := coststest.Actions([]float64{0, 0}, []float64{0, 0})
	for _, c := range []struct {
		decoder Decoder
		outputs int
		want    string // of the error; empty: it fits
	}{
		{DecoderComposite, 4, ""},
		{DecoderComposite, 5, "5 outputs"},
		{DecoderL2D, 2, ""},
		{DecoderL2D, 4, ""},
		{DecoderSeparated, 3, ""},
		{DecoderSeparatedSoftmax, 6, ""},
		{DecoderSeparatedSoftmax, 4, "4 outputs"},
		{DecoderFixed, 4, "reads no network"},
		{"nonsense", 4, "unknown decoder"},
	} {
		err := c.decoder.Fits(a, c.outputs)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %d outputs: %v, want %q", c.decoder, c.outputs, err, c.want)
		}
	}
}

// biasPolicy has constant outputs.
func biasPolicy(decoder Decoder, j, levels int, bias ...float32) *Policy {
	return &Policy{
		Actions: coststest.Actions(make([]float64, j), make([]float64, levels)), Method: "ours", Recipe: "paper", Tau: 1, Decoder: decoder,
		Members: []network.MLP{{Layers: []network.Affine{{Out: len(bias), In: 2, W: make([]float32, 2*len(bias)), B: bias}}}},
	}
}

func TestTiesInReferenceAndFile(t *testing.T) {
	rt := orttest.Open(t, 0)
	for _, c := range []struct {
		name string
		p    *Policy
		want int
	}{
		{"composite all equal", biasPolicy(DecoderComposite, 2, 3, 0, 0, 0, 0, 0, 0), 0},
		{"composite two best", biasPolicy(DecoderComposite, 2, 3, -1, 2, 0, 2, 2, 0), 1},
		{"l2d two best", biasPolicy(DecoderL2D, 3, 2, 1, 4, 4), 2},
		{"l2d wide ignores advice", biasPolicy(DecoderL2D, 2, 2, 1, 9, 1, 9), 0},
		{"separated zero takes the larger", biasPolicy(DecoderSeparated, 2, 2, 0, 5, 0), 3},
		{"separated negative router", biasPolicy(DecoderSeparated, 2, 2, -1, 0, 5), 1},
		{"separated no advice", biasPolicy(DecoderSeparated, 2, 2, 1, 5, -1e-6), 2},
		{"softmax ties take the smaller", biasPolicy(DecoderSeparatedSoftmax, 2, 2, 1, 1, 3, 3, 9, 0), 0},
		{"softmax decides on the expert first", biasPolicy(DecoderSeparatedSoftmax, 2, 2, 0, 1, 99, 98, -5, -4), 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := mustDecide(t, c.p, []float32{1, 2}); got != c.want {
				t.Fatalf("reference takes %d, want %d", got, c.want)
			}
			d := mustDecider(t, rt, c.p)
			got, err := d.Decide(context.Background(), make([]float32, 6), 3)
			if err != nil {
				t.Fatal(err)
			}
			for n, action := range got.Action {
				if int(action) != c.want {
					t.Fatalf("row %d of the file takes %d, want %d; scores %v", n, action, c.want, got.Scores)
				}
			}
		})
	}
}

// Permuting the experts permutes the decisions.
func TestPermutingExpertsPermutesDecisions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	p := biasPolicy(DecoderComposite, 3, 2, 0, 0, 0, 0, 0, 0)
	p.Members[0] = randomMember(rng, 4, 6)
	last := &p.Members[0].Layers[len(p.Members[0].Layers)-1]
	q := *p
	q.Members = []network.MLP{{Layers: append([]network.Affine(nil), p.Members[0].Layers...)}}
	turned := network.Affine{Out: 6, In: last.In}
	for i := range 6 { // expert j of q is expert j+1 of p
		from := (i + 2) % 6
		turned.W = append(turned.W, last.W[from*last.In:(from+1)*last.In]...)
		turned.B = append(turned.B, last.B[from])
	}
	q.Members[0].Layers[len(q.Members[0].Layers)-1] = turned
	for range 200 {
		x := coststest.Floats(rng, 4)
		if got, want := mustDecide(t, &q, x), (mustDecide(t, p, x)+4)%6; got != want {
			t.Fatalf("permuted policy takes %d, want %d", got, want)
		}
	}
}

func TestExportIsDeterministicAndExplainsItself(t *testing.T) {
	p := randomPolicy(rand.New(rand.NewPCG(1, 1)), DecoderComposite, 2, true)
	p.Info = map[string]string{"guard": `{"on":false}`, "training_digest": "abc"}
	first, second := exportBytes(t, p), exportBytes(t, p)
	if !bytes.Equal(first, second) {
		t.Fatal("two exports differ")
	}
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	info, err := Parse(m)
	if err != nil {
		t.Fatal(err)
	}
	if info.Method != "ours" || info.Lambda != 0.5 || info.Decoder != DecoderComposite || info.Dim != p.FeatureDim() ||
		info.Members != 2 || info.Fixed != -1 || info.Info["training_digest"] != "abc" || len(info.Info) != 2 {
		t.Errorf("info %+v", info)
	}
	if err := info.Actions.SameSet(p.Actions); err != nil {
		t.Error(err)
	}
	if got := m.Metadata()["pipe.guard"]; got != `{"on":false}` {
		t.Errorf("pipe.guard is %q", got)
	}
}

func exportBytes(t *testing.T, p *Policy) []byte {
	t.Helper()
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParsePolicyRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(meta map[string]string)
		want   string
	}{
		{"another model", func(m map[string]string) { delete(m, "pipe.kind") }, "not a policy"},
		{"another kind", func(m map[string]string) { m["pipe.kind"] = "expert" }, `"expert"`},
		{"newer", func(m map[string]string) { m["pipe.format"] = "5" }, "newer"},
		{"no format", func(m map[string]string) { delete(m, "pipe.format") }, "pipe.format"},
		{"actions", func(m map[string]string) { m["pipe.actions"] = "{}" }, "pipe.actions"},
		{"other actions", func(m map[string]string) {
			m["pipe.actions"] = string(coststest.Actions([]float64{0}, []float64{0}).JSON())
		}, "wide"},
		{"lambda", func(m map[string]string) { m["pipe.lambda"] = "NaN" }, "pipe.lambda"},
		{"dim", func(m map[string]string) { m["pipe.dim"] = "0" }, "pipe.dim"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := biasPolicy(DecoderComposite, 2, 2, 0, 1, 2, 3).Export()
			if err != nil {
				t.Fatal(err)
			}
			meta := m.Metadata()
			c.change(meta)
			m.SetMetadata(meta)
			if _, err := Parse(m); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one about %q", err, c.want)
			}
		})
	}
	t.Run("no outputs", func(t *testing.T) {
		g := onnx.NewGraph("other")
		g.Output("y", g.Neg(g.Input("x", onnx.Float32, onnx.Dims(3))))
		m, err := g.Build(onnx.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m.SetMetadata(biasPolicy(DecoderComposite, 2, 2, 0, 1, 2, 3).metadata())
		if _, err := Parse(m); err == nil || !strings.Contains(err.Error(), `no output "action"`) {
			t.Fatalf("error %v", err)
		}
	})
}

func TestValidateRefuses(t *testing.T) {
	for name, change := range map[string]func(p *Policy){
		"decoder":     func(p *Policy) { p.Decoder = "best" },
		"width":       func(p *Policy) { p.Members[0].Layers[0].Out = 3 },
		"no member":   func(p *Policy) { p.Members = nil },
		"no layers":   func(p *Policy) { p.Members[0].Layers = nil },
		"nan weight":  func(p *Policy) { p.Members[0].Layers[0].W[0] = float32(math.NaN()) },
		"lambda":      func(p *Policy) { p.Lambda = -1 },
		"info":        func(p *Policy) { p.Info = map[string]string{"format": "9"} },
		"dim":         func(p *Policy) { p.Dim = 5 },
		"actions dim": func(p *Policy) { p.Actions.Features.Dim = 7 },
		"scale":       func(p *Policy) { p.Standard.Mean = []float32{0, 0} },
		"separated":   func(p *Policy) { p.Decoder = DecoderSeparated },
		"no actions":  func(p *Policy) { p.Actions = nil },
	} {
		p := biasPolicy(DecoderComposite, 2, 2, 0, 1, 2, 3)
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		change(p)
		if err := p.Validate(); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := p.Export(); err == nil {
			t.Errorf("%s: exported", name)
		}
	}
}

func TestMatches(t *testing.T) {
	tensor := coststest.Tensor(coststest.Actions([]float64{0, 1}, []float64{0, 1}), make([]float32, 4))
	tensor.Dim = 2
	tensor.Actions.Features.Name = "encoder"
	tensor.Actions.Digests = map[string]string{costs.FeatureDigest: "d1", "rows": "r1"}
	for name, c := range map[string]struct {
		change func(p *Policy)
		want   string
	}{
		"equal":      {func(*Policy) {}, ""},
		"fees":       {func(p *Policy) { p.Actions.Experts[1].Fee = 3 }, ""},
		"unrecorded": {func(p *Policy) { p.Actions.Features.Name, p.Actions.Digests = "", nil }, ""},
		"provenance": {func(p *Policy) { p.Actions.Digests["rows"] = "r2" }, ""},
		"names":      {func(p *Policy) { p.Actions.Experts[1].Name = "other" }, `"other"`},
		"order": {func(p *Policy) {
			e := p.Actions.Experts
			e[0], e[1] = e[1], e[0]
		}, "expert 0"},
		"dimension": {func(p *Policy) { p.Dim = 3 }, "3 features"},
		"source":    {func(p *Policy) { p.Actions.Features.Name = "table" }, `"table"`},
		"digest":    {func(p *Policy) { p.Actions.Digests[costs.FeatureDigest] = "d2" }, "d2"},
	} {
		p := biasPolicy(DecoderComposite, 2, 2, 0, 0, 0, 0)
		p.Actions = coststest.Actions([]float64{0, 1}, []float64{0, 1})
		p.Actions.Features.Name = "encoder"
		p.Actions.Digests = map[string]string{costs.FeatureDigest: "d1", "rows": "r1"}
		c.change(p)
		switch err := p.Matches(tensor); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want one about %q", name, err, c.want)
		}
	}
	// Another name of the same columns may be that of another file. Of other columns it is not.
	p := biasPolicy(DecoderComposite, 2, 2, 0, 0, 0, 0)
	p.Actions = coststest.Actions([]float64{0, 1}, []float64{0, 1})
	p.Actions.Features.Name = "may.csv"
	for digest, hinted := range map[string]bool{"d1": true, "d2": false, "": false} {
		p.Actions.Digests = map[string]string{costs.FeatureDigest: digest}
		h, ok := errors.AsType[*hint.Error](p.Matches(tensor))
		if ok != hinted || ok && !strings.Contains(h.Hint(), `feature_name: "may.csv"`) {
			t.Errorf("digest %q: hint %v", digest, h)
		}
	}
}

func BenchmarkReferenceDecide(b *testing.B) {
	p := benchmarkPolicy(384, 128, 1)
	x := make([]float32, 384)
	for b.Loop() {
		mustDecide(b, p, x)
	}
}

func TestUnknownDecoderIsRefused(t *testing.T) {
	p := randomPolicy(rand.New(rand.NewPCG(1, 1)), DecoderComposite, 1, false)
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	meta := m.Metadata()
	meta["pipe.decoder"] = "oracle"
	m.SetMetadata(meta)
	if _, err := Parse(m); err == nil || !strings.Contains(err.Error(), `"separated_softmax"`) {
		t.Fatalf("error is %v", err)
	}
}
