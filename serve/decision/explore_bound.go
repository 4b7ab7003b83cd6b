package decision

import (
	"fmt"

	"pipe/models/policy"
)

// lossBound bounds the expected task loss of every pair of a policy, whatever the row.
type lossBound struct {
	// above and below are how far the expected loss of a pair may be above and below its estimate; nil with losses.
	above, below []float64
	losses       []float64 // the smallest and the largest possible loss; nil with above and below
}

// newLossBound returns the bound for a policy: losses, where they are given, or else by the calibration in its file. That is
// the larger one of the pair's calibration error and the 95% bound on the mean of loss minus estimate, both measured on
// rows left out of the fit. It is right for a pair on average over such rows, and not for every single row.
func newLossBound(info *policy.Info, losses []float64) (*lossBound, error) {
	if losses != nil {
		return &lossBound{losses: losses}, nil
	}
	c, err := info.Calibration()
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, fmt.Errorf("its file has no calibration of expected losses")
	}
	names := info.Actions.Names()
	b := &lossBound{above: make([]float64, len(names)), below: make([]float64, len(names))}
	known := make(map[string]policy.CalibrationPair, len(c.Pairs))
	for _, p := range c.Pairs {
		known[p.Pair] = p
	}
	for i, there := range info.Actions.Mask() {
		p, ok := known[names[i]]
		if there && !ok {
			return nil, fmt.Errorf("the calibration in its file has nothing about the pair %s", names[i])
		}
		b.above[i], b.below[i] = max(p.Error, p.High, 0), max(p.Error, -p.Low, 0)
	}
	return b, nil
}

// extra is an upper bound on the mean expected cost of a draw with the propensities p minus the expected cost of the greedy
// pair. Fees are as expected.
func (b *lossBound) extra(p []float64, greedy int, loss, cost []float32) float64 {
	least, sum := b.low(greedy, loss, cost), 0.0
	for i, v := range p {
		if v > 0 && i != greedy {
			sum += v * max(0, b.high(i, loss, cost)-least)
		}
	}
	return sum
}

func (b *lossBound) high(i int, loss, cost []float32) float64 {
	if b.losses != nil {
		return b.losses[1] + float64(cost[i]) - float64(loss[i])
	}
	return float64(cost[i]) + b.above[i]
}

func (b *lossBound) low(i int, loss, cost []float32) float64 {
	if b.losses != nil {
		return b.losses[0] + float64(cost[i]) - float64(loss[i])
	}
	return float64(cost[i]) - b.below[i]
}
