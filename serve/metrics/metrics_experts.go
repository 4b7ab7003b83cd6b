package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// experts has the metrics of the gateway's calls of experts.
type experts struct {
	fallbacks    *prometheus.CounterVec
	breakers     *prometheus.GaugeVec
	fees         *prometheus.CounterVec
	others       *prometheus.CounterVec
	masked       *prometheus.CounterVec
	panels       *prometheus.CounterVec
	calls        *prometheus.CounterVec
	panelFees    *prometheus.CounterVec
	expertPrices *prometheus.CounterVec
	allowance    *prometheus.GaugeVec
	cuts         *prometheus.CounterVec
	hedges       *prometheus.CounterVec
	grades       *prometheus.CounterVec
	failed       *prometheus.CounterVec
}

func newExperts(r *prometheus.Registry) experts {
	return experts{
		fallbacks:    counter(r, "pipe_fallbacks_total", "Calls of an expert after which the next best pair was tried.", "expert", "reason"),
		breakers:     gauge(r, "pipe_breaker_state", "Circuit breaker of an expert: 0 closed, 1 half open, 2 open.", "expert"),
		fees:         counter(r, "pipe_fees_total", "Money of answers by the usage that the service returned and the configured prices.", "expert"),
		others:       counter(r, "pipe_other_model_total", "Answers of another model than the configured one.", "expert"),
		expertPrices: counter(r, "pipe_expert_price_file_loads_total", "Times that a price file of experts was read while the server runs, by whether its prices are in use now.", "ok"),
		masked:       counter(r, "pipe_masked_total", "Requests for which an expert was left out before the decision, because it cannot take them.", "expert", "reason"),
		panels:       counter(r, "pipe_panel_requests_total", "Requests that were drawn for a panel: answered, partly, dropped (queue), budget (no room), abandoned (stop).", "policy", "result"),
		calls:        counter(r, "pipe_panel_calls_total", "Calls of experts for a panel, by whether they answered.", "expert", "ok"),
		panelFees:    counter(r, "pipe_panel_fees_total", "Money of answers for a panel, by the usage that the service returned and the configured prices.", "expert"),
		allowance:    gauge(r, "pipe_patience_seconds", "Silence after which a call is cut while another pair could answer, by the most tokens of its prompt (inf: longer ones).", "expert", "stream", "tokens"),
		cuts:         counter(r, "pipe_cuts_total", "Calls that were cut without an answer: slow (its own silence), silent (that of all newer calls of the expert).", "expert", "reason"),
		grades:       counter(r, "pipe_panel_grades_total", "Answers for a panel that its grader looked at, by whether their grade is known.", "policy", "known"),
		failed:       counter(r, "pipe_chat_errors_total", "Requests that the gateway itself answered with an error, by the protocol of the caller, the code of the error and the field that it names.", "protocol", "code", "field"),
		hedges:       counter(r, "pipe_hedges_total", "Calls after which a second pair was asked too: won (the second one answered), lost, failed (neither), share (none was asked, since the share is used up).", "expert", "result"),
	}
}

// ExpertPrices counts a price file of experts that was read. ok is whether its prices are in use now.
func (m *Metrics) ExpertPrices(ok bool) {
	if m == nil {
		return
	}
	m.expertPrices.WithLabelValues(word(ok)).Inc()
}

// Failed counts a request that was answered with an error of the gateway. Code and field are of short lists; field "" names none.
func (m *Metrics) Failed(protocol, code, field string) {
	if m == nil {
		return
	}
	m.failed.WithLabelValues(protocol, code, field).Inc()
}

// Masked counts a request for which an expert was left out, because it cannot take it. The reason is one of a short list.
func (m *Metrics) Masked(expert, reason string) {
	if m == nil {
		return
	}
	m.masked.WithLabelValues(expert, reason).Inc()
}

// Fallback counts a call of an expert after which the next best pair was tried. The reason is one of a short list, such as
// timeout or status 500, never a text of the service.
func (m *Metrics) Fallback(expert, reason string) {
	if m == nil {
		return
	}
	m.fallbacks.WithLabelValues(expert, reason).Inc()
}

// Breaker sets the state of an expert's circuit breaker: 0 closed, 1 half open, 2 open.
func (m *Metrics) Breaker(expert string, state int) {
	if m == nil {
		return
	}
	m.breakers.WithLabelValues(expert).Set(float64(state))
}

// NoBreaker deletes the state of the circuit breaker of an expert that was removed.
func (m *Metrics) NoBreaker(expert string) {
	if m == nil {
		return
	}
	m.breakers.DeleteLabelValues(expert)
}

// Fee counts the money of an answer. Values that are not positive are not counted.
func (m *Metrics) Fee(expert string, money float64) {
	if m == nil || !isAmount(money) {
		return
	}
	m.fees.WithLabelValues(expert).Add(money)
}

// Panel counts a request that was drawn for a panel, by what became of it.
func (m *Metrics) Panel(policy, result string) {
	if m == nil {
		return
	}
	m.panels.WithLabelValues(policy, result).Inc()
}

// PanelCall counts a call for a panel, with its money if that is positive.
func (m *Metrics) PanelCall(expert string, ok bool, money float64) {
	if m == nil {
		return
	}
	m.calls.WithLabelValues(expert, word(ok)).Inc()
	if isAmount(money) {
		m.panelFees.WithLabelValues(expert).Add(money)
	}
}

// PanelGrade counts an answer for a panel that the grader looked at.
func (m *Metrics) PanelGrade(policy string, known bool) {
	if m == nil {
		return
	}
	m.grades.WithLabelValues(policy, word(known)).Inc()
}

// OtherModel counts an answer of another model than the configured one.
func (m *Metrics) OtherModel(expert string) {
	if m == nil {
		return
	}
	m.others.WithLabelValues(expert).Inc()
}

// Allowance sets how long a call of an expert may be silent. The prompts have at most this many tokens; 0: any number.
func (m *Metrics) Allowance(expert string, stream bool, tokens int, d time.Duration) {
	if m == nil {
		return
	}
	most := "inf"
	if tokens > 0 {
		most = strconv.Itoa(tokens)
	}
	m.allowance.WithLabelValues(expert, word(stream), most).Set(d.Seconds())
}

// Cut counts a call that was cut for its silence.
func (m *Metrics) Cut(expert, reason string) {
	if m == nil {
		return
	}
	m.cuts.WithLabelValues(expert, reason).Inc()
}

// Hedge counts a call after which a second pair was asked, or would have been.
func (m *Metrics) Hedge(expert, result string) {
	if m == nil {
		return
	}
	m.hedges.WithLabelValues(expert, result).Inc()
}
