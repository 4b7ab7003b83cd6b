package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// traffic has the metrics of requests, their stages and queues.
type traffic struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	stages    *prometheus.HistogramVec
	queues    *prometheus.GaugeVec
	batches   *prometheus.HistogramVec
	refused   *prometheus.CounterVec
	panics    prometheus.Counter
	used      *prometheus.CounterVec
	spent     *prometheus.CounterVec
}

func newTraffic(r *prometheus.Registry) traffic {
	return traffic{
		requests:  counter(r, "pipe_requests_total", "Requests that were answered, by route and status code.", "route", "code"),
		durations: histogram(r, "pipe_request_seconds", "Time from the head of a request to the end of its answer.", seconds, "route"),
		stages:    histogram(r, "pipe_stage_seconds", "Time of a stage of a decision: decode, encode, decide, advise, expert.", seconds, "policy", "stage"),
		queues:    gauge(r, "pipe_queue_length", "What waits at a stage now.", "stage"),
		batches:   histogram(r, "pipe_batch_rows", "Rows that one run of a model computed together.", prometheus.ExponentialBuckets(1, 2, 11), "stage"),
		refused:   counter(r, "pipe_refused_total", "Requests that were refused before they were read: key, rate, tokens, money, queue, host, origin; or before a decision: budget.", "reason"),
		panics: register(r, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pipe_panics_total", Help: "Handlers that ended in a panic. Each is a defect; the log has its place.",
		})),
		used:  counter(r, "pipe_caller_tokens_total", "Tokens that requests of a key used.", "caller"),
		spent: counter(r, "pipe_caller_money_total", "Money that requests of a key cost, in the currency of the prices.", "caller"),
	}
}

// Request counts a request that was answered. The route is the pattern that matched, such as "POST /v1/decide", not the
// path; for gRPC it is the method's full name.
func (m *Metrics) Request(route string, code int, d time.Duration) {
	if m == nil {
		return
	}
	m.requests.WithLabelValues(route, strconv.Itoa(code)).Inc()
	m.durations.WithLabelValues(route).Observe(d.Seconds())
}

// Stage adds the time of a stage of a decision: decode, encode, decide, advise or expert.
func (m *Metrics) Stage(policy, stage string, d time.Duration) {
	if m == nil {
		return
	}
	m.stages.WithLabelValues(policy, stage).Observe(d.Seconds())
}

// Queue sets how many requests or rows wait at a stage now.
func (m *Metrics) Queue(stage string, length int) {
	if m == nil {
		return
	}
	m.queues.WithLabelValues(stage).Set(float64(length))
}

// Batch counts one run of a model on the rows of one or more requests.
func (m *Metrics) Batch(stage string, rows int) {
	if m == nil {
		return
	}
	m.batches.WithLabelValues(stage).Observe(float64(rows))
}

// Refused counts a request that was refused before it was read. The reason is one of key, rate, tokens, money, queue, host
// and origin.
func (m *Metrics) Refused(reason string) {
	if m == nil {
		return
	}
	m.refused.WithLabelValues(reason).Inc()
}

// Panic counts a handler that ended in a panic.
func (m *Metrics) Panic() {
	if m == nil {
		return
	}
	m.panics.Inc()
}

// Charged counts the usage of a request of a key. Values that are not positive are ignored.
func (m *Metrics) Charged(caller string, tokens int64, money float64) {
	if m == nil {
		return
	}
	if tokens > 0 {
		m.used.WithLabelValues(caller).Add(float64(tokens))
	}
	if isAmount(money) {
		m.spent.WithLabelValues(caller).Add(money)
	}
}
