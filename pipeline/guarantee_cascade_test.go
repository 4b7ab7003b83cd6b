package pipeline_test

import (
	"math"
	"os"
	"strconv"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/models"
	"pipe/models/cascade"
	"pipe/models/cascade/fit"
	"pipe/models/policy"
	"pipe/models/risk"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/calibrate"
)

// TestRiskOfCascades trains a cascade on half of the rows of a table, once, and splits the other half 200 times into 40% calibration rows
// and 60% later rows: the mean loss of the answers that are accepted of later rows is above alpha in at most 5% of the splits. One table is
// planted, the other one real. $PIPE_SPLITS sets the number of splits.
func TestRiskOfCascades(t *testing.T) {
	if testing.Short() {
		t.Skip("trains two cascades")
	}
	splits := 200
	if n, err := strconv.Atoi(os.Getenv("PIPE_SPLITS")); err == nil && n > 0 {
		splits = n
	}
	rt := orttest.Open(t, 0)
	for name, c := range map[string]struct {
		table func() *costs.Tensor
		alpha float64
	}{
		"planted":        {func() *costs.Tensor { return coststest.Looks(6000, 3) }, 0.06},
		"FrugalML DIGIT": {func() *costs.Tensor { return realTable(t, "import-frugalml-digit.yaml") }, 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			table := c.table()
			pool := halve(table, 1)
			played := cascadeOn(t, rt, table, pool)
			decided := risk.Decisions{Score: played.Expected, Loss: played.Loss}
			two := 0
			for _, order := range played.Order {
				two += len(order) - 1
			}
			if two == 0 {
				t.Fatal("the cascade decides once")
			}
			for _, method := range []risk.Method{risk.LTT, risk.RCPS, risk.CRC} {
				s := risk.Settings{Risk: c.alpha, Confidence: 0.95, Method: method, Bound: 1, Starts: 5}
				r := manySplits(t, decided, s, splits)
				t.Logf("%d rows, two pairs on %.1f%%, alpha %g, %s: %.1f%% of %d splits above, %.1f%% accepted (standard deviation %.1f), nothing accepted in %d, mean risk %.4f, mean loss per decision %.4f",
					len(pool), 100*float64(two)/float64(len(pool)), c.alpha, method, 100*float64(r.above)/float64(splits), splits, 100*r.accepted, 100*r.spread, r.none, r.risk, r.joint)
				if method != risk.CRC && float64(r.above) > 0.05*float64(splits) {
					t.Errorf("the risk is above %g in %d of %d splits", c.alpha, r.above, splits)
				}
				if method == risk.CRC && r.joint > c.alpha+3*math.Sqrt(c.alpha/float64(len(pool))) {
					t.Errorf("the loss per decision is %.4f on average, promised are %g", r.joint, c.alpha)
				}
				if method == risk.LTT && r.accepted < 0.1 {
					t.Errorf("only %.1f%% are accepted: the test shows nothing", 100*r.accepted)
				}
			}
		})
	}
}

// cascadeOn trains a cascade on the training rows of a table, and plays other rows through its file.
func cascadeOn(t *testing.T, rt *ort.Runtime, table *costs.Tensor, rows []int) *cascade.Played {
	t.Helper()
	s := fit.DefaultSettings()
	s.Auto.Networks = nil
	p, _, err := fit.Train(t.Context(), table, 1, s, models.Options{Runtime: rt})
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	d, err := cascade.NewDecider(rt, m)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	played, err := cascade.Play(t.Context(), d, table, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	return played
}

// The guarantee of an any-price cascade is about every price of its list at once: the file accepts by one threshold, and of later rows
// those have a mean loss of at most the risk at each, within the error of their number.
func TestGuaranteeOfAnyPriceCascade(t *testing.T) {
	if testing.Short() {
		t.Skip("trains an any-price cascade")
	}
	const alpha = 0.08
	rt, table := orttest.Open(t, 0), coststest.Looks(3600, 8)
	for n := range table.Splits { // a third each
		table.Splits[n] = costs.Split(n % 3)
	}
	s := fit.DefaultSettings()
	s.Auto.Networks = nil
	p, report, err := fit.TrainAnyPrice(t.Context(), table, policy.DefaultPriceRange(), s, models.Options{Runtime: rt})
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	of := calibrate.DefaultSettings()
	of.Risk = alpha
	m, r, err := calibrate.Policy(t.Context(), rt, m, table, costs.Val, of)
	if err != nil {
		t.Fatal(err)
	}
	d, err := cascade.NewDecider(rt, m)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if len(r.Guarantee.At) != len(calibrate.DefaultLambdas) || report.Guard.Fallback {
		t.Errorf("%+v, guard %+v", r.Guarantee, report.Guard)
	}
	for _, at := range r.Guarantee.At {
		prices := d.Info().PriceAt(table.Actions, at.Lambda)
		played, err := cascade.Play(t.Context(), d, table, table.Rows(costs.Test), prices)
		if err != nil {
			t.Fatal(err)
		}
		sum, count := 0.0, 0.0
		for n, accepted := range played.Guaranteed {
			if accepted {
				sum, count = sum+played.Loss[n], count+1
			}
		}
		t.Logf("lambda %g: %.1f%% accepted, mean loss %.4f", at.Lambda, 100*count/float64(len(played.Order)), sum/count)
		if !d.Info().Promises(prices) || count == 0 || sum/count > alpha+3*math.Sqrt(alpha/count) {
			t.Errorf("lambda %g: %g accepted, mean loss %g", at.Lambda, count, sum/count)
		}
	}
	if d.Info().Promises(d.Info().PriceAt(table.Actions, 3)) {
		t.Error("a price that is not in the list is promised")
	}
}
