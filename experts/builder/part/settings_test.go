package part

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// channelSettings are embedded in those of a test.
type channelSettings struct {
	Size int        `json:"size"`
	Mean PerChannel `json:"mean"`
	Std  PerChannel `json:"std"`
}

func TestSettingsName(t *testing.T) {
	for says, settings := range map[string]map[string]any{
		"learning_rate is NaN; it must be finite":         {"learning_rate": math.NaN()},
		"l2 is -Inf; it must be finite":                   {"l2": math.Inf(-1)},
		"mean[1] is NaN; it must be finite":               {"mean": []any{0.5, math.NaN(), 0}},
		"mean: expected a number or a list, not a string": {"mean": "dark"},
		"std: expected a number, not a string":            {"std": []any{1, "b", 1}},
		"size: expected a whole number":                   {"size": "large"},
		`unknown key "x"`:                                 {"x": 1},
		"l2: expected a number, not a string":             {"l2": "much"},
		"more: expected a section with keys":              {"more": "endpoint"},
		"many: expected a list, not a section with keys":  {"many": map[string]any{"a": 1}},
		"some: expected a whole number":                   {"some": 1.5},
	} {
		err := DecodeSettings(settings, &struct {
			LearningRate float64        `json:"learning_rate"`
			L2           float64        `json:"l2"`
			More         map[string]any `json:"more"`
			Many         []string       `json:"many"`
			Some         *int           `json:"some"`

			channelSettings
		}{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", settings, err)
		}
	}
}

// TestOneNumberForAllChannels is the same setting as the number three times.
func TestOneNumberForAllChannels(t *testing.T) {
	var digests []Inputs
	for _, mean := range []any{0.5, []any{0.5, 0.5, 0.5}} {
		s := (&Build{Inputs: make(Inputs)}).Setup("part")
		var cfg channelSettings
		if err := s.Settings(map[string]any{"mean": mean}, &cfg); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(cfg.Mean, PerChannel{0.5, 0.5, 0.5}) {
			t.Errorf("mean %v is %v", mean, cfg.Mean)
		}
		digests = append(digests, s.Inputs)
	}
	if !maps.Equal(digests[0], digests[1]) {
		t.Error("one number is another setting")
	}
}
