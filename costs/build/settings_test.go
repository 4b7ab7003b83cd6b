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
		"l2: expected a number, not a string":   {"l2": "much"},
		"more: expected a section with keys":    {"more": "endpoint"},
		"many: expected a list, not a object":   {"many": map[string]any{"a": 1}},
		"some: expected an integer":             {"some": 1.5},
	} {
		err := decodeSettings(settings, &struct {
			LearningRate float64        `json:"learning_rate"`
			L2           float64        `json:"l2"`
			More         map[string]any `json:"more"`
			Many         []string       `json:"many"`
			Some         *int           `json:"some"`
		}{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", settings, err)
		}
	}
}
