package risk

import (
	"fmt"
	"math"
)

// Method is how a threshold is chosen; see the package.
type Method string

// The methods.
const (
	LTT  Method = "ltt"
	RCPS Method = "rcps"
	CRC  Method = "crc"
)

// Settings say what is promised.
type Settings struct {
	Risk       float64 `yaml:"risk" json:"risk"`             // alpha: largest expected loss of an accepted decision, in units of the loss, above 0
	Confidence float64 `yaml:"confidence" json:"confidence"` // of the promise, in (0, 1); CRC has none
	Method     Method  `yaml:"method" json:"method"`
	// Bound is the largest loss that is possible; losses are divided by it. A loss outside of 0 to Bound is an error.
	Bound  float64 `yaml:"bound" json:"bound"`
	Starts int     `yaml:"starts" json:"starts"` // thresholds at which the walk over thresholds starts; each has its share of 1 - Confidence
}

// DefaultSettings are learn then test at a confidence of 95%, for losses from 0 to 1. Risk is 0, which promises nothing.
func DefaultSettings() Settings {
	return Settings{Confidence: 0.95, Method: LTT, Bound: 1, Starts: 5}
}

// Validate returns the first setting that cannot be.
func (s Settings) Validate() error {
	switch {
	case !(s.Bound > 0) || math.IsInf(s.Bound, 1):
		return fmt.Errorf("bound: %g is not a largest loss above 0", s.Bound)
	case !(s.Risk > 0 && s.Risk < s.Bound):
		return fmt.Errorf("risk: %g is not between 0 and the largest loss, %g", s.Risk, s.Bound)
	case !(s.Confidence > 0 && s.Confidence < 1):
		return fmt.Errorf("confidence: %g is not between 0 and 1", s.Confidence)
	case s.Method != LTT && s.Method != RCPS && s.Method != CRC:
		return fmt.Errorf("method: %q, known are %s, %s and %s", s.Method, LTT, RCPS, CRC)
	case s.Starts < 1:
		return fmt.Errorf("starts: %d is not at least 1", s.Starts)
	}
	return nil
}
