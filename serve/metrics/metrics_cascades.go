package metrics

import "github.com/prometheus/client_golang/prometheus"

// cascades has the metrics of policies that look at answers.
type cascades struct {
	requests *prometheus.CounterVec
	stages   *prometheus.CounterVec
	unknown  *prometheus.CounterVec
}

func newCascades(r *prometheus.Registry) cascades {
	return cascades{
		requests: counter(r, "pipe_cascade_requests_total", "Requests by how a cascade ended: accepted, live (the last answer was passed on as it came), in_hand (no other answer could be had, or not in time), none, one_shot (one pair was to answer), instead (the guarantee did not accept the answer, and something else took over).", "policy", "end"),
		stages:   counter(r, "pipe_cascade_stages_total", "Answers that cascades had.", "policy"),
		unknown:  counter(r, "pipe_cascade_unknown_facts_total", "Facts that a cascade looks at and that were not known of an answer.", "policy", "fact"),
	}
}

// Cascade counts a request that a cascade decided on: how it ended, one of a short list, and how many answers it had.
func (m *Metrics) Cascade(policy, end string, stages int) {
	if m == nil {
		return
	}
	m.cascades.requests.WithLabelValues(policy, end).Inc()
	m.cascades.stages.WithLabelValues(policy).Add(float64(stages))
}

// UnknownFact counts answers of which a fact was not known.
func (m *Metrics) UnknownFact(policy, fact string, answers int) {
	if m == nil || answers == 0 {
		return
	}
	m.cascades.unknown.WithLabelValues(policy, fact).Add(float64(answers))
}
