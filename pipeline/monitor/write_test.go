package monitor

import (
	"strings"
	"testing"
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
