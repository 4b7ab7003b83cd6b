package paper_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/models"
	"pipe/models/paper"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort/orttest"
)

func TestMain(m *testing.M) { orttest.Main(m) }

// crossEntropy is comp_sum at tau = 1 as another module would write it.
type crossEntropy struct{ expectedCost }

func (crossEntropy) Name() string { return "cross_entropy" }

func (crossEntropy) Loss(g *onnx.Graph, b models.Batch) *onnx.Value {
	c := b.Costs(g)
	weight := g.StopGradient(g.Sub(g.ReduceMax(c, true, 1), c))
	return g.Mul(g.Mul(weight, g.Neg(g.LogSoftmax(b.Scores, 1))), b.Coef)
}

func quick() paper.Settings {
	s := paper.DefaultSettings()
	s.Seeds, s.LearningRate, s.Network.Epochs, s.Network.Workers = 2, 0.01, 4, 1
	return s
}

func train(t *testing.T, m models.Method, lambdas []float64, s paper.Settings) []*policy.Policy {
	t.Helper()
	policies, err := paper.Train(t.Context(), twoExperts(400), m, lambdas, s, models.Options{Runtime: orttest.Open(t, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return policies
}

// TestOwnSurrogateEqualsTheBuiltIn: the same formula from another module trains the same weights, up to rounding.
func TestOwnSurrogateEqualsTheBuiltIn(t *testing.T) {
	ours, err := models.MethodNamed(models.Ours)
	if err != nil {
		t.Fatal(err)
	}
	own := models.Method{Name: "own", Surrogate: crossEntropy{}}
	theirs, mine := train(t, ours, []float64{0, 1}, quick()), train(t, own, []float64{0, 1}, quick())
	if len(mine) != 4 || len(theirs) != 4 {
		t.Fatalf("%d and %d policies for two lambdas and two seeds", len(mine), len(theirs))
	}
	for i, p := range mine {
		if p.Method != "own" || p.Lambda != theirs[i].Lambda || !strings.Contains(p.Info[policy.SettingsKey], `"surrogate":"cross_entropy"`) {
			t.Errorf("policy %d is %q for lambda %g, %s", i, p.Method, p.Lambda, p.Info[policy.SettingsKey])
		}
		for l, layer := range p.Members[0].Layers {
			for k, w := range layer.W {
				if want := theirs[i].Members[0].Layers[l].W[k]; math.Abs(float64(w-want)) > 1e-3 {
					t.Fatalf("policy %d: weight %d of layer %d is %g, that of ours %g", i, k, l, w, want)
				}
			}
		}
	}
}

// TestWithoutAdviceThereIsOnePolicy: lambda changes nothing, and no advice is bought.
func TestWithoutAdviceThereIsOnePolicy(t *testing.T) {
	own := models.Method{Name: "own", Surrogate: models.Methods()[0].Surrogate, Head: "linear", NoAdvice: true}
	policies := train(t, own, []float64{0, 1, 2}, quick())
	if len(policies) != 2 || policies[0].Decoder != policy.DecoderL2D {
		t.Fatalf("%d policies with decoder %s", len(policies), policies[0].Decoder)
	}
	if a := policies[0].Actions.Name(policies[0].Decide([]float32{2})); a != "b/none" {
		t.Errorf("takes %s", a)
	}
}

func TestTrainRefuses(t *testing.T) {
	rt := orttest.Open(t, 0)
	own := func(s models.Surrogate) models.Method { return models.Method{Name: "own", Surrogate: s} }
	gaps := twoExperts(40)
	gaps.Actions.Unavailable = []costs.Pair{{Expert: 0, Advice: 1}}
	held := twoExperts(40)
	for n := range held.Splits {
		held.Splits[n] = costs.Val
	}
	for name, c := range map[string]struct {
		m    models.Method
		t    *costs.Tensor
		l    []float64
		s    func(*paper.Settings)
		want string
	}{
		"no lambda":        {m: own(expectedCost{}), l: []float64{}, want: "no lambda"},
		"no surrogate":     {m: own(nil), want: "no surrogate"},
		"no name":          {m: models.Method{Surrogate: expectedCost{}}, want: "no name"},
		"gaps":             {m: own(expectedCost{}), t: gaps, want: "some are unavailable"},
		"cannot mask":      {m: models.Method{Name: "own", Surrogate: expectedCost{}, NoAdvice: true}, want: "scores every pair"},
		"loss of a scalar": {m: own(summed{}), want: "its loss has the shape"},
		"taken name":       {m: own(named{crossEntropy{}, "comp_sum"}), want: `the name "comp_sum" is already used`},
		"other decoder":    {m: models.Method{Name: "own", Surrogate: models.Methods()[2].Surrogate, NoAdvice: true}, want: "without advice"},
		"settings":         {m: own(expectedCost{}), s: func(s *paper.Settings) { s.Seeds = 0 }, want: "seeds: 0"},
		"no training rows": {m: own(expectedCost{}), t: held, want: "there are no training rows"},
	} {
		s := quick()
		if c.s != nil {
			c.s(&s)
		}
		if c.t == nil {
			c.t = twoExperts(40)
		}
		if c.l == nil {
			c.l = []float64{1}
		}
		_, err := paper.Train(t.Context(), c.t, c.m, c.l, s, models.Options{Runtime: rt})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one about %q", name, err, c.want)
		}
		var data *costs.DataError
		if c.t == held && !errors.As(err, &data) {
			t.Errorf("%s: %T is not an error about the data", name, err)
		}
	}
}

// summed sums the loss of all models.
type summed struct{ expectedCost }

func (s summed) Loss(g *onnx.Graph, b models.Batch) *onnx.Value {
	return g.ReduceSum(s.expectedCost.Loss(g, b), true, 0, 1, 2)
}

// named is a surrogate under another name.
type named struct {
	models.Surrogate
	name string
}

func (n named) Name() string { return n.name }
