package inspect

import (
	"math"

	"pipe/costs"
	"pipe/internal/safetext"
)

// propensities says what the tensor knows of the probabilities with which pairs were executed.
type propensities struct {
	Rows  int      `json:"rows"`            // on which the only pair whose loss is known has a propensity
	Least *float64 `json:"least,omitempty"` // of these
}

// propensitiesOf returns nil for a tensor without propensities.
func propensitiesOf(t *costs.Tensor) *propensities {
	if t.Propensity == nil {
		return nil
	}
	p, least := &propensities{}, math.Inf(1)
	for n := range t.Len() {
		if i := t.Observed(n); i >= 0 && t.Propensities(n)[i] > 0 {
			p.Rows++
			least = min(least, t.Propensities(n)[i])
		}
	}
	if p.Rows > 0 {
		p.Least = &least
	}
	return p
}

func (p *propensities) write(b *safetext.Fields) {
	switch {
	case p == nil:
	case p.Rows == 0:
		b.Add("propensities", "of no executed pair")
	default:
		b.Add("propensities", "of the executed pair on %d rows, at least %g", p.Rows, *p.Least)
	}
}
