package fromlog

import (
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/safetext"
	"pipe/pipeline/decisionlog"
)

// Propensities counts the instances of the partial tensor by what is known of the probabilities with which pairs were executed.
type Propensities struct {
	Known     int `json:"known"`                  // those of the instance's only decision
	Joined    int `json:"joined,omitempty"`       // none: several decisions
	Fallbacks int `json:"fallbacks,omitempty"`    // none: another pair answered than the drawn one
	Unmixed   int `json:"not_mixtures,omitempty"` // none: the record has those of one policy alone, although a canary got a share of the requests
}

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

// write says how many instances have propensities.
func (p *Propensities) write(b *safetext.Fields) {
	if p == nil {
		return
	}
	b.Add("propensities", "of %d instances that are one decision", p.Known)
	for _, c := range []struct {
		n   int
		why string
	}{
		{p.Joined, "several decisions"},
		{p.Fallbacks, "another pair answered than the drawn one"},
		{p.Unmixed, "the log has the probabilities of one policy alone, although a canary got a share of the requests"},
	} {
		if c.n > 0 {
			b.Add("", "not known of %d: %s", c.n, c.why)
		}
	}
}
