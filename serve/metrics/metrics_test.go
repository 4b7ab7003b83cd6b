package metrics

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// every calls each method once.
func every(m *Metrics) {
	m.Request("POST /v1/decide", 200, 3*time.Millisecond)
	m.Stage("p", "decide", time.Millisecond)
	m.Queue("encode", 3)
	m.Batch("decide", 4)
	m.Refused("rate")
	m.Panic()
	m.Charged("web", 10, 0.5)
	m.Decision("p", "large", "none", 0.25, 0.5)
	m.Explored("p")
	m.Shadow("p", "q", true)
	m.Reload("p", false)
	m.Fallback("large", "timeout")
	m.ExpertPrices(true)
	m.Breaker("large", 2)
	m.Fee("large", 0.125)
	m.Outcome("p", -1)
	m.Infer("p", "1", true, 7, time.Millisecond, 2*time.Millisecond)
	m.Infer("p", "1", false, 7, time.Millisecond, 2*time.Millisecond)
}

// TestEvents checks what every method counts, as Prometheus reads it.
func TestEvents(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	every(New(r))
	want := `
		# HELP pipe_requests_total Requests that were answered, by route and status code.
		# TYPE pipe_requests_total counter
		pipe_requests_total{code="200",route="POST /v1/decide"} 1
		# HELP pipe_expected_saving Expected cost of the best fixed pair minus that of the chosen pair, where the fixed one is available.
		# TYPE pipe_expected_saving summary
		pipe_expected_saving_sum{policy="p"} 0.25
		pipe_expected_saving_count{policy="p"} 1
		# HELP pipe_outcome_loss Loss of executed pairs, as outcomes reported it.
		# TYPE pipe_outcome_loss summary
		pipe_outcome_loss_sum{policy="p"} -1
		pipe_outcome_loss_count{policy="p"} 1
		# HELP pipe_breaker_state Circuit breaker of an expert: 0 closed, 1 half open, 2 open.
		# TYPE pipe_breaker_state gauge
		pipe_breaker_state{expert="large"} 2
		# HELP nv_inference_count Rows of inference requests that succeeded.
		# TYPE nv_inference_count counter
		nv_inference_count{model="p",version="1"} 7
		# HELP nv_inference_request_duration_us Time of inference requests from their arrival to their answer, in microseconds.
		# TYPE nv_inference_request_duration_us counter
		nv_inference_request_duration_us{model="p",version="1"} 3000
		# HELP nv_inference_request_failure Inference requests that failed.
		# TYPE nv_inference_request_failure counter
		nv_inference_request_failure{model="p",version="1"} 1
	`
	names := []string{
		"pipe_requests_total", "pipe_expected_saving", "pipe_outcome_loss", "pipe_breaker_state", "nv_inference_count",
		"nv_inference_request_duration_us", "nv_inference_request_failure",
	}
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if len(f.GetMetric()) != 1 {
			t.Errorf("%s has %d series after one event", f.GetName(), len(f.GetMetric()))
		}
	}
}

// TestNil checks that a server without metrics may call every method.
func TestNil(*testing.T) { every(nil) }

// TestNotNumbers checks that values which cannot be summed change nothing, and that no counter panics.
func TestNotNumbers(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	m := New(r)
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
		m.Fee("large", v)
		m.Charged("web", -5, v)
	}
	m.Decision("p", "large", "none", math.NaN(), 1)
	m.Outcome("p", math.Inf(1))
	m.Infer("p", "1", true, -1, -time.Second, -time.Second)
	for _, name := range []string{"pipe_fees_total", "pipe_caller_money_total", "pipe_caller_tokens_total", "pipe_expected_saving", "pipe_expected_cost", "pipe_outcome_loss"} {
		n, err := testutil.GatherAndCount(r, name)
		if err != nil || n != 0 {
			t.Errorf("%s: %d series, %v", name, n, err)
		}
	}
}

func BenchmarkDecision(b *testing.B) {
	m := New(prometheus.NewRegistry())
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Decision("p", "large", "none", 0.25, 0.5)
			m.Stage("p", "decide", time.Millisecond)
		}
	})
}
