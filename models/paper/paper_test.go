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
	"pipe/onnx/ort"
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
	action, err := policies[0].Decide([]float32{2})
	if err != nil || policies[0].Actions.Name(action) != "b/none" {
		t.Errorf("takes %s, %v", policies[0].Actions.Name(action), err)
	}
}

func TestTrainRefuses(t *testing.T) {
	rt := orttest.Open(t, 0)
	own := func(s models.Surrogate) models.Method { return models.Method{Name: "own", Surrogate: s} }
	gaps := twoExperts(40)
	gaps.Actions.Unavailable = []costs.Pair{{Expert: 0, Advice: 1}}
	for n := range gaps.Len() {
		gaps.Losses(n)[1] = float32(math.NaN())
	}
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
		"no lambda":        {m: own(expectedCost{}), l: []float64{}, want: "lambdas: the list is empty"},
		"negative lambda":  {m: own(expectedCost{}), l: []float64{-1}, want: "lambdas: -1 is not"},
		"no surrogate":     {m: own(nil), want: "no surrogate"},
		"no name":          {m: models.Method{Surrogate: expectedCost{}}, want: `the name ""`},
		"name is a path":   {m: models.Method{Name: "../up", Surrogate: expectedCost{}}, want: `the name "../up"`},
		"surrogate's name": {m: own(named{expectedCost{}, "a/b"}), want: `its surrogate: the name "a/b"`},
		"loss is nil":      {m: own(lossOf{as: func(*onnx.Graph, models.Batch) *onnx.Value { return nil }}), want: "its loss is nil"},
		"loss panics":      {m: own(lossOf{as: func(*onnx.Graph, models.Batch) *onnx.Value { panic("no case") }}), want: "its loss panics: no case"},
		"loss without scores": {m: own(lossOf{as: func(g *onnx.Graph, b models.Batch) *onnx.Value {
			return g.Mul(b.Costs(g), b.Coef)
		}}), want: "no derivative by the scores"},
		"loss stops the gradient": {m: own(lossOf{as: func(g *onnx.Graph, b models.Batch) *onnx.Value {
			return g.Mul(g.StopGradient(b.Scores), b.Coef)
		}}), want: "no derivative by the scores"},
		"loss of other shapes": {m: own(lossOf{as: func(g *onnx.Graph, b models.Batch) *onnx.Value {
			return g.Mul(b.Scores, g.Scalar(onnx.Int64, 1))
		}}), want: "its loss: build graph"},
		"unknown decoder":  {m: own(decoderOf{as: "nonsense"}), want: `unknown decoder "nonsense"`},
		"fixed decoder":    {m: own(decoderOf{as: policy.DecoderFixed}), want: "reads no network"},
		"no outputs":       {m: own(decoderOf{as: policy.DecoderComposite}), want: "0 outputs"},
		"nan loss":         {m: own(expectedCost{}), t: damaged(func(t *costs.Tensor) { t.Loss[3] = float32(math.NaN()) }), want: "loss"},
		"negative fee":     {m: own(expectedCost{}), t: damaged(func(t *costs.Tensor) { t.Actions.Experts[0].Fee = -1 }), want: "fee -1"},
		"no actions":       {m: own(expectedCost{}), t: damaged(func(t *costs.Tensor) { t.Actions = nil }), want: "no actions"},
		"short features":   {m: own(expectedCost{}), t: damaged(func(t *costs.Tensor) { t.Features = t.Features[:3] }), want: "features"},
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

// TestTrainNeedsTensorAndRuntime: without them there is an error, not a panic.
func TestTrainNeedsTensorAndRuntime(t *testing.T) {
	m := models.Method{Name: "own", Surrogate: expectedCost{}}
	if _, err := paper.Train(t.Context(), twoExperts(40), m, []float64{1}, quick(), models.Options{}); !errors.Is(err, ort.ErrNoRuntime) {
		t.Errorf("without a runtime: %v", err)
	}
	var data *costs.DataError
	_, err := paper.Train(t.Context(), nil, m, []float64{1}, quick(), models.Options{Runtime: orttest.Open(t, 0)})
	if !errors.As(err, &data) {
		t.Errorf("without a tensor: %v", err)
	}
}

func damaged(change func(t *costs.Tensor)) *costs.Tensor {
	t := twoExperts(40)
	change(t)
	return t
}

// lossOf is expectedCost with another loss.
type lossOf struct {
	expectedCost
	as func(g *onnx.Graph, b models.Batch) *onnx.Value
}

func (s lossOf) Loss(g *onnx.Graph, b models.Batch) *onnx.Value { return s.as(g, b) }

// decoderOf is expectedCost with another decoder, and without outputs.
type decoderOf struct {
	expectedCost
	as policy.Decoder
}

func (s decoderOf) Decoder() policy.Decoder { return s.as }

func (decoderOf) Outputs(int, int) (int, error) { return 0, nil }

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
