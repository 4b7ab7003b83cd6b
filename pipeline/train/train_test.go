package train

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/world"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/lightgbm"
	"pipe/models/lightgbm/lightgbmtest"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/eval"
	"pipe/pipeline/stage"
)

// TestTrainNeedsTrainingRows: rows of another split must not be used instead of missing training rows.
func TestTrainNeedsTrainingRows(t *testing.T) {
	rt := orttest.Open(t, 1)
	tensor := world.SyntheticTensor(50, costs.Val, 1, true)
	for _, recipe := range []string{"auto", "paper"} {
		c := DefaultSettings()
		c.Recipe = recipe
		_, _, err := Policies(context.Background(), rt, tensor, c, models.CheckpointPolicy{}, stage.Quiet)
		var data *costs.DataError
		if !errors.As(err, &data) || data.Column != "split" {
			t.Errorf("recipe %s: error %v, want one about the column split", recipe, err)
		}
	}
}

// TestTrainWithoutTreesLibrary: trees that cannot be trained are an error before any method is trained.
func TestTrainWithoutTreesLibrary(t *testing.T) {
	lightgbmtest.Absent(t)
	c := DefaultSettings()
	c.Auto.Trees = []int{30}
	tensor := world.SyntheticTensor(100, costs.Train, 1, true)
	save := models.CheckpointPolicy{Dir: t.TempDir(), Every: 1}
	_, _, err := Policies(t.Context(), orttest.Open(t, 1), tensor, c, save, stage.Quiet)
	var missing *lightgbm.MissingLibraryError
	if !errors.As(err, &missing) {
		t.Errorf("error %v, want one about the library", err)
	}
	if left, err := os.ReadDir(save.Dir); err != nil || len(left) > 0 {
		t.Errorf("%d folders of checkpoints, %v", len(left), err)
	}
}

func TestTrainOptionsNameEveryProblem(t *testing.T) {
	o := DefaultOptions()
	o.Recipe, o.Methods, o.Split = "paper", []string{"ours", "l2d", "l2d", "best"}, "valid"
	err := o.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"ours" is always trained by`, `"l2d" is a duplicate`, `"best", known are l2d`, `unknown split "valid"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
}

// TestAnyPriceRefusesUnusedLambdas: lambdas that train nothing are an error, and not ignored.
func TestAnyPriceRefusesUnusedLambdas(t *testing.T) {
	for want, change := range map[string]func(c *Settings){
		"":         func(*Settings) {},
		"lambdas:": func(c *Settings) { c.Lambdas = []float64{0.5} },
		"lambdas: no policy is trained for [0 1]": func(c *Settings) { c.Lambdas, c.Methods = []float64{0, 1}, nil },
		"any_price: only":                         func(c *Settings) { c.Recipe = "paper" },
		"prices.lambda: 2 to 1":                   func(c *Settings) { c.Prices.Lambda = [2]float64{2, 1} },
		"prices.fee: -1 to 1":                     func(c *Settings) { c.Prices.Fee = [2]float64{-1, 1} },
		"prices.fee: 1 to 1e+13":                  func(c *Settings) { c.Prices.Fee = [2]float64{1, 1e13} },
	} {
		c := DefaultSettings()
		c.AnyPrice = true
		change(&c)
		if err := c.Validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	c := DefaultSettings()
	c.AnyPrice, c.Lambdas, c.Methods = true, []float64{0.5}, []string{"separated"}
	if err := c.Validate(); err != nil {
		t.Errorf("lambdas of another method: %v", err)
	}
}

// TestTrainProblemsNameTheirField: errors distinguish sections with settings of the same name.
func TestTrainProblemsNameTheirField(t *testing.T) {
	c := DefaultSettings()
	c.Lambdas = []float64{math.Copysign(0, -1)}
	c.LearningRate, c.WeightDecay = math.Inf(1), math.NaN()
	c.Network.Epochs, c.Auto.Seeds, c.Seeds = 0, 0, 100_000_000
	wrong := &c.Auto.Networks[0]
	wrong.Hidden, wrong.Dropout, wrong.WeightDecay, wrong.LearningRate = []int{0}, 2, math.Inf(1), 0
	err := c.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"lambdas: -0 ", "\nlearning_rate: +Inf", "\nweight_decay: NaN", "network.epochs: 0", "auto.seeds: 0", "\nseeds: 100000000, not 1 to 1000",
		"auto.networks: network 0: hidden", "dropout 2", "weight_decay +Inf", "learning_rate 0",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
}

// TestEvalWithoutFreeAdvice: if every expert needs advice, the baselines without it are left out.
func TestEvalWithoutFreeAdvice(t *testing.T) {
	rt := orttest.Open(t, 1)
	tensor := world.SyntheticTensor(60, costs.Val, 1, true)
	a := *tensor.Actions
	tensor.Actions = &a
	for j := range a.Experts {
		a.Unavailable = append(a.Unavailable, costs.Pair{Expert: j})
		for n := range tensor.Len() {
			tensor.Loss[n*a.Len()+a.Index(j, 0)] = float32(math.NaN())
		}
	}
	r, err := eval.Decisions(t.Context(), rt, tensor, nil, eval.DefaultOptions(), stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if strings.HasSuffix(row.Method, "no_advice") {
			t.Errorf("%s is reported with %g", row.Method, row.TrueLossMean)
		}
	}
	if len(r.Rows) == 0 {
		t.Error("nothing is reported")
	}
}

// TestTextOfAnyPriceReports: the text says what is exported, also where only one price differs or nothing was held out.
func TestTextOfAnyPriceReports(t *testing.T) {
	r := policy.DefaultPriceRange()
	many := []policy.PriceGuard{{Lambda: 0}, {Lambda: 1}}
	for want, g := range map[string]policy.Guard{
		"against 0.0000 of always a/none on 9 held-out rows":          {Rows: 9, Fixed: "a/none"},
		"against 0.0000 of the best fixed pairs of 2 prices on 9":     {Rows: 9, Fixed: "a/none", Prices: many},
		"for the guard: the best fixed pair of every price is export": {Fixed: "a/none", Fallback: true},
	} {
		var b strings.Builder
		if writeAuto(&b, auto.Report{Lambda: 1, Prices: &r, Rows: 9, Guard: g}); !strings.Contains(b.String(), want) {
			t.Errorf("text %q, want %q", b.String(), want)
		}
	}
}

// TestTextOfCloseVerdicts: whether the policy is exported or not, the text says that the verdict is close, and nothing of
// a clear one.
func TestTextOfCloseVerdicts(t *testing.T) {
	for _, fallback := range []bool{false, true} {
		text := func(g policy.Guard) string {
			var b strings.Builder
			g.Rows, g.Fixed, g.Rule, g.Fallback = 9, "a/none", policy.RuleBound, fallback
			writeAuto(&b, auto.Report{Lambda: 1, Rows: 9, Guard: g})
			return b.String()
		}
		if got := text(policy.Guard{Draws: 10, Close: true}); !strings.Contains(got, "a mean over 10 draws of folds, and close: another seed may decide otherwise\n") {
			t.Errorf("close: %s", got)
		}
		if got := text(policy.Guard{Draws: 4}); !strings.Contains(got, "a mean over 4 draws of folds\n") {
			t.Errorf("clear after 4 draws: %s", got)
		}
		if got := text(policy.Guard{}); strings.Contains(got, "draws") || strings.Contains(got, "close") {
			t.Errorf("clear: %s", got)
		}
	}
}
