package metrics

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"
)

// decisions has the metrics of decisions and their expected costs.
type decisions struct {
	pairs      *prometheus.CounterVec
	expected   *prometheus.SummaryVec
	bestFixed  *prometheus.SummaryVec
	saving     *prometheus.SummaryVec
	explored   *prometheus.CounterVec
	unexplored *prometheus.CounterVec
	shadows    *prometheus.CounterVec
	reloads    *prometheus.CounterVec
	prices     *prometheus.CounterVec
	texts      *prometheus.CounterVec
}

func newDecisions(r *prometheus.Registry) decisions {
	return decisions{
		pairs:      counter(r, "pipe_decisions_total", "Decisions by the pair that was chosen.", "policy", "expert", "advice"),
		expected:   sum(r, "pipe_expected_cost", "Cost that the policy expects of the chosen pairs: loss plus fees.", "policy"),
		bestFixed:  sum(r, "pipe_expected_cost_best_fixed", "Cost that the policy expects of the best fixed pair, where that is available.", "policy"),
		saving:     sum(r, "pipe_expected_saving", "Expected cost of the best fixed pair minus that of the chosen pair, where the fixed one is available.", "policy"),
		explored:   counter(r, "pipe_explored_total", "Decisions for which exploration chose another pair than the policy.", "policy"),
		unexplored: counter(r, "pipe_not_explored_total", "Decisions that could explore and did not: ledger (the day has no room for their extra cost, or none is reserved yet) or outcomes (none came any more).", "policy", "reason"),
		shadows:    counter(r, "pipe_shadow_decisions_total", "Decisions of shadow policies, by whether they chose the same pair as the live one.", "policy", "shadow", "agrees"),
		reloads:    counter(r, "pipe_policy_loads_total", "Policy files that were read, by whether they are served now.", "policy", "ok"),
		texts:      counter(r, "pipe_log_texts_total", "Texts of decisions, by whether they were kept.", "ok"),
		prices:     counter(r, "pipe_price_file_loads_total", "Times that the price file of the policies was read, by whether its prices are in use now.", "ok"),
	}
}

// Decision counts the decision on a row. The costs are those that the policy expects of the chosen pair and of the best
// fixed pair, in the unit of the task loss; NaN if they are not known, or the best fixed pair is not available.
func (m *Metrics) Decision(policy, expert, advice string, expectedCost, bestFixedCost float64) {
	if m == nil {
		return
	}
	m.pairs.WithLabelValues(policy, expert, advice).Inc()
	if isFinite(expectedCost) {
		m.expected.WithLabelValues(policy).Observe(expectedCost)
	}
	if isFinite(bestFixedCost) {
		m.bestFixed.WithLabelValues(policy).Observe(bestFixedCost)
	}
	if saving := bestFixedCost - expectedCost; isFinite(saving) {
		m.saving.WithLabelValues(policy).Observe(saving)
	}
}

// Explored counts a decision for which exploration drew another pair than the policy's choice.
func (m *Metrics) Explored(policy string) {
	if m == nil {
		return
	}
	m.explored.WithLabelValues(policy).Inc()
}

// NotExplored counts a decision that did not explore because of the ledger, or because outcomes stopped coming.
func (m *Metrics) NotExplored(policy, reason string) {
	if m == nil {
		return
	}
	m.unexplored.WithLabelValues(policy, reason).Inc()
}

// Shadow counts a decision of a shadow policy. agrees is whether it chose the same pair as the policy.
func (m *Metrics) Shadow(policy, shadow string, agrees bool) {
	if m == nil {
		return
	}
	m.shadows.WithLabelValues(policy, shadow, word(agrees)).Inc()
}

// Reload counts a policy file that was read. ok is whether it is served now.
func (m *Metrics) Reload(policy string, ok bool) {
	if m == nil {
		return
	}
	m.reloads.WithLabelValues(policy, word(ok)).Inc()
}

// Prices counts a price file that was read. ok is whether its prices are in use now.
func (m *Metrics) Prices(ok bool) {
	if m == nil {
		return
	}
	m.prices.WithLabelValues(word(ok)).Inc()
}

// word is a bool as a label.
func word(yes bool) string {
	if yes {
		return "true"
	}
	return "false"
}

// isFinite reports whether a value can be summed.
func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// isAmount reports whether a value can be added to a counter.
func isAmount(v float64) bool { return isFinite(v) && v > 0 }
