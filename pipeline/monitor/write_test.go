package monitor

import (
	"math"
	"strings"
	"testing"

	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/report/figure"
)

// Large outcomes are written with an exponent, and residuals with their sign.
func TestLargeOutcomesAreShort(t *testing.T) {
	for mean, want := range map[float64]string{
		3.4028234e38: "mean of 4 outcomes 3.403e+38", -1e30: "mean of 4 outcomes -1e+30", 0.25: "mean of 4 outcomes 0.2500", 123456.5: "mean of 4 outcomes 123456.5000",
	} {
		o := OutcomesStatus{Known: 4, Mean: &mean, Residual: &mean, ADWIN: &ADWINStatus{Expected: "x"}, Alarm: &AlarmStatus{Baseline: mean, Upper: mean, Level: mean}}
		text := strings.Join(o.lines(), "\n")
		if !strings.Contains(text, want) || len(text) > 300 {
			t.Errorf("%g: %s", mean, text)
		}
		if sign := map[bool]string{true: "residual -", false: "residual +"}[mean < 0]; !strings.Contains(text, sign) {
			t.Errorf("%g: %s", mean, text)
		}
	}
}

// The band of outcomes over time stays in their range, unless an outcome was outside of it.
func TestBandStaysInTheRange(t *testing.T) {
	blocks := []BlockStatus{{Outcomes: 20, Last: 20, Mean: 0.05, Low: new(-0.04), High: new(0.14)}, {Outcomes: 20, Last: 40, Mean: 0.98, Low: new(0.94), High: new(1.02)}}
	for clipped, want := range map[int64][2]float64{0: {0, 1}, 1: {-0.04, 1.02}} {
		o := OutcomesStatus{Known: 40, Clipped: clipped, Course: blocks, Alarm: &AlarmStatus{Range: [2]float64{0, 1}}}
		points := o.figure().Body.(*figure.Plot).Series[0].Points
		if got := [2]float64{points[0].Along.Low, points[1].Along.High}; got != want {
			t.Errorf("%d outcomes outside of the range: the band goes from %g to %g, want %v", clipped, got[0], got[1], want)
		}
	}
	for i := range blocks {
		blocks[i].Mean, blocks[i].Low = math.Inf(1), nil
	}
	if o := (OutcomesStatus{Course: blocks}); o.figure() != nil {
		t.Error("a figure of nothing")
	}
}

// A value of lambda without effect is said, and only such a one.
func TestLambdaWithoutEffectIsSaid(t *testing.T) {
	l := newLab(t)
	free := decidetest.AnyPrice(dim)
	for k := range free.Actions.Advice {
		free.Actions.Advice[k].Fee = 0
	}
	unpriced := &lab{rt: l.rt, actions: free.Actions, policy: decidetest.WritePolicy(t, free), baseline: l.baseline}
	for lambda, of := range map[float64]map[*lab]bool{1: {l: false, unpriced: false}, 4: {l: false, unpriced: true}} {
		for world, want := range of {
			o := DefaultOptions()
			o.Prices.Lambda = &lambda
			var text strings.Builder
			if err := world.open(t, o).Status().WriteText(&text); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text.String(), "lambda has no effect") != want {
				t.Errorf("lambda %v:\n%s", lambda, &text)
			}
		}
	}
}
