package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// inference has metrics with the names of Triton's, so that dashboards and autoscalers for Triton work. Times are sums of
// whole microseconds.
type inference struct {
	success, failure       *prometheus.CounterVec
	rows, runs             *prometheus.CounterVec
	requestUS, queueUS     *prometheus.CounterVec
	computeUS, inUS, outUS *prometheus.CounterVec
}

func newInference(r *prometheus.Registry) inference {
	of := func(name, help string) *prometheus.CounterVec { return counter(r, name, help, "model", "version") }
	return inference{
		success:   of("nv_inference_request_success", "Inference requests that succeeded."),
		failure:   of("nv_inference_request_failure", "Inference requests that failed."),
		rows:      of("nv_inference_count", "Rows of inference requests that succeeded."),
		runs:      of("nv_inference_exec_count", "Runs of a model for inference requests."),
		requestUS: of("nv_inference_request_duration_us", "Time of inference requests from their arrival to their answer, in microseconds."),
		queueUS:   of("nv_inference_queue_duration_us", "Time that inference requests waited, in microseconds."),
		computeUS: of("nv_inference_compute_infer_duration_us", "Time of runs of models, in microseconds."),
		inUS:      of("nv_inference_compute_input_duration_us", "Time in which inputs were copied, in microseconds; they are part of the run here."),
		outUS:     of("nv_inference_compute_output_duration_us", "Time in which outputs were copied, in microseconds; they are part of the run here."),
	}
}

// Infer counts an inference request for a loaded model. As in Triton, rows, runs and times count only if it succeeded.
func (m *Metrics) Infer(model, version string, ok bool, rows int, queue, compute time.Duration) {
	if m == nil {
		return
	}
	if !ok {
		m.failure.WithLabelValues(model, version).Inc()
		return
	}
	m.success.WithLabelValues(model, version).Inc()
	m.rows.WithLabelValues(model, version).Add(float64(max(rows, 0)))
	m.runs.WithLabelValues(model, version).Inc()
	m.requestUS.WithLabelValues(model, version).Add(micros(queue + compute))
	m.queueUS.WithLabelValues(model, version).Add(micros(queue))
	m.computeUS.WithLabelValues(model, version).Add(micros(compute))
	m.inUS.WithLabelValues(model, version).Add(0)
	m.outUS.WithLabelValues(model, version).Add(0)
}

// micros returns a duration in whole microseconds, 0 for a negative one.
func micros(d time.Duration) float64 { return float64(max(d.Microseconds(), 0)) }
