package monitor

import (
	"strings"
	"testing"

	"pipe/pipeline/decide/decidetest"
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
