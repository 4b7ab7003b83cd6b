package fromlog

import (
	"math"
	"slices"

	"pipe/costs"
	"pipe/pipeline/decisionlog"
)

// draw is how the pair of an instance was drawn.
type draw struct {
	decisions  int
	propensity []float64 // A, of the first decision
	fellBack   bool
	mixing     Mixing
}

// add adds a decision. Of one policy alone, its own propensities are right.
func (w *draw) add(d decisionlog.Decision, alone bool) {
	if w.decisions++; w.decisions > 1 {
		return
	}
	w.propensity, w.fellBack = d.Propensity, d.FellBack()
	if !alone {
		w.mixing = MixingOf(d.Record)
	}
}

// propensities appends what is known of an instance, and counts it.
func (t *tensors) propensities(to *costs.Tensor, w *draw) {
	n := &t.known
	switch {
	case w.decisions > 1:
		n.Joined++
	case w.fellBack:
		n.Fallbacks++
	case w.mixing == Unmixed || w.mixing == Unsaid && t.canaries:
		n.Unmixed++
	default:
		n.Known++
		to.Propensity = append(to.Propensity, w.propensity...)
		return
	}
	to.Propensity = append(to.Propensity, slices.Repeat([]float64{math.NaN()}, t.actions.Len())...)
}
