package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// sessions has the metrics of conversations over the gateway.
type sessions struct {
	begun    prometheus.Counter
	turns    *prometheus.CounterVec
	switches prometheus.Counter
	prompts  *prometheus.CounterVec
	open     prometheus.Gauge
}

func newSessions(r *prometheus.Registry) sessions {
	return sessions{
		begun:    counter(r, "pipe_sessions_total", "Conversations that began.").WithLabelValues(),
		turns:    counter(r, "pipe_session_turns_total", "Answered requests of conversations, by why the expert stayed: price (of a switch), tool_loop, or free.", "kept"),
		switches: counter(r, "pipe_session_switches_total", "Requests that another expert answered than the one before of the conversation.").WithLabelValues(),
		prompts:  counter(r, "pipe_session_prompt_money_total", "Money of the prompts of conversations: predicted before the call, and billed.", "kind"),
		open:     gauge(r, "pipe_sessions_open", "Conversations that are remembered.").WithLabelValues(),
	}
}

// SessionTurn is an answered request of a conversation.
type SessionTurn struct {
	New, Switched     bool
	Kept              string  // why the expert stayed: price, tool_loop, or "" for neither
	Predicted, Billed float64 // money of the prompt; 0: not known
	Open              int     // conversations that are remembered
}

// Session counts a request of a conversation.
func (m *Metrics) Session(t SessionTurn) {
	if m == nil {
		return
	}
	if t.New {
		m.begun.Inc()
	}
	if t.Switched {
		m.switches.Inc()
	}
	if t.Kept == "" {
		t.Kept = "free"
	}
	m.turns.WithLabelValues(t.Kept).Inc()
	if isAmount(t.Predicted) && isAmount(t.Billed) {
		m.prompts.WithLabelValues("predicted").Add(t.Predicted)
		m.prompts.WithLabelValues("billed").Add(t.Billed)
	}
	m.open.Set(float64(t.Open))
}
