package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"pipe/serve/budget"
)

// budgetCollector reads the states of budgets when metrics are scraped.
type budgetCollector struct{ states func() []budget.State }

// budgetFigures are all metrics of a budget.
var budgetFigures = []struct {
	about *prometheus.Desc
	value func(s *budget.State) float64
}{
	{budgetDesc("pipe_budget_limit", "Limit of a budget for a period, in its unit: money or tokens."), func(s *budget.State) float64 { return s.Limit }},
	{budgetDesc("pipe_budget_spent", "What was used of a budget in its period by this server. Running calls count as the most that they can use."), func(s *budget.State) float64 { return s.Spent }},
	{budgetDesc("pipe_budget_held", "Part of pipe_budget_spent that is reserved for running calls."), func(s *budget.State) float64 { return s.Held }},
	{budgetDesc("pipe_budget_left", "What this server can still use of a budget in its period."), func(s *budget.State) float64 { return s.Left }},
	{budgetDesc("pipe_budget_price", "What a unit of a budget costs beside its own price, in money, so that the budget lasts."), func(s *budget.State) float64 { return s.Price }},
	{budgetDesc("pipe_budget_refused", "Calls that a budget had no room for in its period."), func(s *budget.State) float64 { return float64(s.Refused) }},
	{budgetDesc("pipe_budget_stopped", "1 while a budget has no room for the next call, or cannot be written."), func(s *budget.State) float64 {
		if s.Full || s.Failing {
			return 1
		}
		return 0
	}},
}

func budgetDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"budget", "of"}, nil)
}

// WatchBudgets registers the metrics of budgets. states may return nil.
func (m *Metrics) WatchBudgets(r *prometheus.Registry, states func() []budget.State) {
	if m == nil {
		return
	}
	r.MustRegister(&budgetCollector{states})
}

// Describe implements prometheus.Collector.
func (c *budgetCollector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range budgetFigures {
		to <- f.about
	}
}

// Collect implements prometheus.Collector.
func (c *budgetCollector) Collect(to chan<- prometheus.Metric) {
	for _, s := range c.states() {
		for _, f := range budgetFigures {
			to <- prometheus.MustNewConstMetric(f.about, prometheus.GaugeValue, f.value(&s), s.Name, s.Member)
		}
	}
}
