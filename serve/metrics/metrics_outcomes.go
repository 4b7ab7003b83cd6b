package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// outcomes has the metrics of outcomes.
type outcomes struct {
	losses *prometheus.SummaryVec
}

func newOutcomes(r *prometheus.Registry) outcomes {
	return outcomes{
		losses: sum(r, "pipe_outcome_loss", "Loss of executed pairs, as outcomes reported it.", "policy"),
	}
}

// Outcome counts the loss of an executed pair. A value that is not finite is not counted.
func (m *Metrics) Outcome(policy string, loss float64) {
	if m == nil || !isFinite(loss) {
		return
	}
	m.losses.WithLabelValues(policy).Observe(loss)
}
