package serve

import (
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/serve/budget"
	"pipe/serve/dashboard"
	"pipe/serve/decision"
	"pipe/serve/ledger"
)

// observers forwards to several observers.
type observers []decision.Observer

// Add implements decision.Observer.
func (all observers) Add(name, digest string, info *policy.Info, records []*decisionlog.Record) {
	for _, o := range all {
		o.Add(name, digest, info, records)
	}
}

// Shadow implements decision.Observer.
func (all observers) Shadow(of *decisionlog.Record, shadow decisionlog.Shadow, agrees bool) {
	for _, o := range all {
		o.Shadow(of, shadow, agrees)
	}
}

// Outcome implements decision.Observer.
func (all observers) Outcome(o decisionlog.Outcome) {
	for _, one := range all {
		one.Outcome(o)
	}
}

// openPage adds the dashboard, and makes it and the monitor observers of the decisions.
func (s *Server) openPage(version string) error {
	s.parts.figures = dashboard.NewCollector(s.config.Page)
	seen := observers{s.parts.figures}
	from := dashboard.Sources{Collector: s.parts.figures, Policies: s.parts.policies, Version: version, Keys: s.access.Needed()}
	if s.parts.log != nil {
		from.Log = s.logState
	}
	if s.parts.monitor != nil {
		seen = append(seen, s.parts.monitor)
		from.Monitor = s.monitorState
	}
	if s.config.Gateway.Enabled() {
		from.Breakers, from.Patience = s.breakerStates, s.patienceStates
		from.Budgets = s.budgets
	}
	if s.config.Gateway.Sessions.On {
		from.Sessions = s.sessionsState
	}
	if s.parts.trials != nil {
		seen = append(seen, s.parts.trials)
		from.Candidates = s.candidateStates
	}
	from.Exploration = s.explorationState
	s.parts.decider.Observe(seen)
	dashboard.New(from).Register(s.mux)
	return nil
}

// breakerStates returns the circuit breakers of the gateway for the dashboard. It is called only after the gateway was
// opened.
func (s *Server) breakerStates() []dashboard.Breaker {
	var all []dashboard.Breaker
	for _, b := range s.parts.gateway.Breakers() {
		all = append(all, dashboard.Breaker{Expert: b.Expert, State: b.State.String(), Since: b.Since, Failures: b.Failures})
	}
	return all
}

// patienceStates returns what the gateway has learned about the times of experts.
func (s *Server) patienceStates() (all []dashboard.PatienceState) {
	for _, p := range s.parts.gateway.Patience() {
		all = append(all, dashboard.PatienceState(p))
	}
	return all
}

// sessionsState returns what was counted of sessions for the dashboard; nil without sessions.
func (s *Server) sessionsState() *dashboard.SessionsState {
	if s.parts.gateway == nil {
		return nil
	}
	c := s.parts.gateway.Sessions()
	if c == nil {
		return nil
	}
	return &dashboard.SessionsState{
		Sessions: c.Sessions, Turns: c.Turns, Switches: c.Switches, Priced: c.Priced, Looped: c.Looped,
		Predicted: c.Predicted, Billed: c.Billed, Open: c.Open, Evicted: c.Evicted,
	}
}

// ledgers returns the states of all ledgers.
func (s *Server) ledgers() (all []ledger.State) {
	if l := s.parts.decider.Exploration().Ledger; l != nil {
		all = append(all, *l)
	}
	if g := s.parts.gateway; g != nil && g.Panel() != nil {
		all = append(all, g.Panel().Ledger)
	}
	for _, c := range s.candidates() {
		if c.Ledger != nil {
			all = append(all, *c.Ledger)
		}
	}
	return all
}

// budgets returns the states of all budgets.
func (s *Server) budgets() []budget.State {
	if s.parts.gateway == nil {
		return nil
	}
	return s.parts.gateway.Budgets()
}

// explorationState returns the state of the exploration and of the panel for the dashboard; nil if there is neither.
func (s *Server) explorationState() *dashboard.ExplorationState {
	x := s.parts.decider.Exploration()
	state := &dashboard.ExplorationState{How: x.How, Ledgers: s.ledgers(), SinceOutcome: x.SinceOutcome, Within: x.Within, Silent: x.Silent}
	if g := s.parts.gateway; g != nil && g.Panel() != nil {
		p := g.Panel()
		state.Panel = &dashboard.PanelState{Share: p.Share, Results: p.Results}
	}
	if x.How == (decision.Explore{}).String() && state.Panel == nil {
		return nil
	}
	return state
}

// logState returns the state of the decision log for the dashboard.
func (s *Server) logState() *dashboard.LogState {
	l := s.parts.log.Stats()
	return &dashboard.LogState{Records: l.Records, Bytes: l.Bytes, Lag: l.Lag.Seconds(), Errors: l.Errors, Stopped: l.Stopped}
}

// monitorState returns the state of the monitor for the dashboard.
func (s *Server) monitorState() []dashboard.MonitorState {
	m := s.parts.monitor.status()
	return []dashboard.MonitorState{{
		Policy: s.parts.monitor.name, Verdict: string(m.Verdict), Inputs: string(m.Inputs.Verdict), Decisions: string(m.Decisions.Verdict),
		Outcomes: string(m.Outcomes.Verdict), Rows: m.New.Rows, Notes: m.Notes,
	}}
}
