package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"pipe/serve/ledger"
)

// ledgerCollector reads the states of ledgers when metrics are scraped.
type ledgerCollector struct{ states func() []ledger.State }

// ledgerFigures are all metrics of a ledger.
var ledgerFigures = []struct {
	about *prometheus.Desc
	value func(s *ledger.State) float64
}{
	{ledgerDesc("pipe_ledger_allowance", "Most that a ledger lets be spent in a day of UTC."), func(s *ledger.State) float64 { return s.Allowance }},
	{ledgerDesc("pipe_ledger_spent", "What was spent of a ledger on its day."), func(s *ledger.State) float64 { return s.Spent }},
	{ledgerDesc("pipe_ledger_refused", "Amounts that a ledger had no room for on its day."), func(s *ledger.State) float64 { return float64(s.Refused) }},
	{ledgerDesc("pipe_ledger_stopped", "1 while a ledger has no room for the next amount, or cannot be written."), func(s *ledger.State) float64 {
		if s.Full || s.Failing {
			return 1
		}
		return 0
	}},
}

func ledgerDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"ledger"}, nil)
}

// WatchLedgers registers the metrics of ledgers.
func (m *Metrics) WatchLedgers(r *prometheus.Registry, states func() []ledger.State) {
	if m == nil {
		return
	}
	r.MustRegister(&ledgerCollector{states})
}

// Describe implements prometheus.Collector.
func (c *ledgerCollector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range ledgerFigures {
		to <- f.about
	}
}

// Collect implements prometheus.Collector.
func (c *ledgerCollector) Collect(to chan<- prometheus.Metric) {
	for _, s := range c.states() {
		for _, f := range ledgerFigures {
			to <- prometheus.MustNewConstMetric(f.about, prometheus.GaugeValue, f.value(&s), s.Name)
		}
	}
}
