package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"pipe/pipeline/decisionlog"
)

// logCollector reads the statistics of the decision log when metrics are scraped.
type logCollector struct{ stats func() decisionlog.Stats }

// logFigure is one metric of the decision log.
type logFigure struct {
	about *prometheus.Desc
	kind  prometheus.ValueType
	value func(s *decisionlog.Stats) float64
}

// logFigures are all metrics of the decision log.
var logFigures = []logFigure{
	logCounter("pipe_log_records_total", "Decisions that were written to the log.", func(s *decisionlog.Stats) float64 { return float64(s.Records) }),
	logCounter("pipe_log_outcomes_total", "Outcomes that were written to the log.", func(s *decisionlog.Stats) float64 { return float64(s.Outcomes) }),
	logCounter("pipe_log_bytes_total", "Bytes that were written to open segments of the log.", func(s *decisionlog.Stats) float64 { return float64(s.Bytes) }),
	logCounter("pipe_log_dropped_total", "Decisions that were lost: nothing could be written, or the log refused them.", func(s *decisionlog.Stats) float64 { return float64(s.Dropped) }),
	logCounter("pipe_log_errors_total", "Writes to the log that failed.", func(s *decisionlog.Stats) float64 { return float64(s.Errors) }),
	logGauge("pipe_log_lag_seconds", "Age of the oldest decision that is not yet on the disk.", func(s *decisionlog.Stats) float64 { return s.Lag.Seconds() }),
	logGauge("pipe_log_queued", "Decisions that wait for the disk.", func(s *decisionlog.Stats) float64 { return float64(s.Queued) }),
	logGauge("pipe_log_segments", "Segments of the log.", func(s *decisionlog.Stats) float64 { return float64(s.Segments) }),
	logGauge("pipe_log_stopped", "1 while nothing can be written to the log.", func(s *decisionlog.Stats) float64 {
		if s.Stopped {
			return 1
		}
		return 0
	}),
}

func logCounter(name, help string, value func(*decisionlog.Stats) float64) logFigure {
	return logFigure{prometheus.NewDesc(name, help, nil, nil), prometheus.CounterValue, value}
}

func logGauge(name, help string, value func(*decisionlog.Stats) float64) logFigure {
	return logFigure{prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, value}
}

// WatchLog registers the metrics of a decision log.
func (m *Metrics) WatchLog(r *prometheus.Registry, stats func() decisionlog.Stats) {
	if m == nil {
		return
	}
	r.MustRegister(&logCollector{stats})
}

// Describe implements prometheus.Collector.
func (c *logCollector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range logFigures {
		to <- f.about
	}
}

// Collect implements prometheus.Collector.
func (c *logCollector) Collect(to chan<- prometheus.Metric) {
	s := c.stats()
	for _, f := range logFigures {
		to <- prometheus.MustNewConstMetric(f.about, f.kind, f.value(&s))
	}
}
