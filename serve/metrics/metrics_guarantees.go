package metrics

import "github.com/prometheus/client_golang/prometheus"

// guarantees has the metrics of policies that accept only some of their decisions.
type guarantees struct {
	decisions *prometheus.CounterVec
	fees      *prometheus.CounterVec
}

func newGuarantees(r *prometheus.Registry) guarantees {
	return guarantees{
		decisions: counter(r, "pipe_guarantee_decisions_total", "Decisions of policies with a guarantee: accepted is true, false, or unpromised (accepted at prices that the guarantee is not about), and instead names what took over, empty where it is accepted.", "policy", "accepted", "instead"),
		fees:      counter(r, "pipe_guarantee_fees_total", "Stated fees of what took over, in the unit of the loss.", "policy", "instead"),
	}
}

// Guaranteed counts a decision of a policy with a guarantee. instead and its fee are those of the file; a fee that is not stated is 0.
func (m *Metrics) Guaranteed(policy string, accepted, promised bool, instead string, fee float64) {
	if m == nil {
		return
	}
	as := word(accepted)
	if accepted && !promised {
		as = "unpromised"
	}
	m.guarantees.decisions.WithLabelValues(policy, as, instead).Inc()
	if isAmount(fee) {
		m.guarantees.fees.WithLabelValues(policy, instead).Add(fee)
	}
}
