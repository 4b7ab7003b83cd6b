package build

import (
	"math"
	"strings"
	"testing"
)

func TestSettingsName(t *testing.T) {
	for says, settings := range map[string]map[string]any{
		"learning_rate is NaN; a finite number": {"learning_rate": math.NaN()},
		"l2 is -Inf; a finite number":           {"l2": math.Inf(-1)},
		`unknown key "x"`:                       {"x": 1},
	} {
		err := decodeSettings(settings, &struct {
			LearningRate float64 `json:"learning_rate"`
			L2           float64 `json:"l2"`
		}{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", settings, err)
		}
	}
}
