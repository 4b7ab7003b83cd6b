package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the collectors of one server. All methods are safe for concurrent use, and do nothing on a nil *Metrics.
type Metrics struct {
	traffic
	decisions
	experts
	outcomes
	inference
	sessions
	cascades   cascades
	guarantees guarantees
}

// New makes the collectors and registers them.
func New(r *prometheus.Registry) *Metrics {
	return &Metrics{
		traffic:    newTraffic(r),
		decisions:  newDecisions(r),
		experts:    newExperts(r),
		outcomes:   newOutcomes(r),
		inference:  newInference(r),
		sessions:   newSessions(r),
		cascades:   newCascades(r),
		guarantees: newGuarantees(r),
	}
}

// seconds are the buckets of histograms of times, from a decision on features to the answer of a slow expert.
var seconds = []float64{
	0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120,
}

// register registers a collector and returns it.
func register[C prometheus.Collector](r *prometheus.Registry, c C) C {
	r.MustRegister(c)
	return c
}

// counter registers a counter.
func counter(r *prometheus.Registry, name, help string, labels ...string) *prometheus.CounterVec {
	return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

// gauge registers a gauge.
func gauge(r *prometheus.Registry, name, help string, labels ...string) *prometheus.GaugeVec {
	return register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

// histogram registers a histogram.
func histogram(r *prometheus.Registry, name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels))
}

// sum registers a sum and a count of values that may be negative, which a counter does not allow.
func sum(r *prometheus.Registry, name, help string, labels ...string) *prometheus.SummaryVec {
	return register(r, prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: name, Help: help}, labels))
}
