package serve

import (
	"context"
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"pipe/pipeline/gate"
	"pipe/serve/access"
	"pipe/serve/dashboard"
	"pipe/serve/trials"
)

// openCandidates begins the trials of candidates, or goes on with them.
func (s *Server) openCandidates(ctx context.Context) (err error) {
	s.mux.HandleFunc("GET /v1/candidates", s.serveCandidates)
	s.mux.HandleFunc("POST /v1/candidates/back", s.serveBack)
	switch {
	case len(s.config.Decision.Candidate) == 0:
		return nil
	case s.checking:
		return trials.Check(s.parts.decider)
	}
	if s.parts.trials, err = trials.Open(ctx, s.parts.decider, string(s.config.Log.Folder), s.log); err != nil {
		return err
	}
	s.closers = append(s.closers, s.parts.trials.Close)
	s.registry.MustRegister(candidateFigures{s.parts.trials})
	return nil
}

// candidates returns what is known of every candidate.
func (s *Server) candidates() []trials.Status {
	if s.parts.trials == nil {
		return []trials.Status{}
	}
	return s.parts.trials.Status()
}

// serveCandidates answers GET /v1/candidates.
func (s *Server) serveCandidates(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"candidates": s.candidates()})
}

// serveBack answers POST /v1/candidates/back, for administrators.
func (s *Server) serveBack(w http.ResponseWriter, r *http.Request) {
	if err := access.Admin(r.Context()); err != nil {
		access.WriteRefusal(w, r, err)
		return
	}
	err := error(&trials.NoWayBackError{Of: r.URL.Query().Get("policy")})
	if s.parts.trials != nil {
		err = s.parts.trials.Back(context.WithoutCancel(r.Context()), r.URL.Query().Get("policy"))
	}
	switch {
	case errors.As(err, new(*trials.NoWayBackError)):
		access.WriteError(w, r, http.StatusConflict, "invalid_request_error", "no_way_back", err.Error())
	case err != nil:
		access.WriteError(w, r, http.StatusInternalServerError, "server_error", "not_restored", err.Error())
	default:
		s.serveCandidates(w, r)
	}
}

// candidateStates are the candidates for the dashboard.
func (s *Server) candidateStates() []dashboard.CandidateState {
	var all []dashboard.CandidateState
	for _, c := range s.candidates() {
		out := dashboard.CandidateState{Candidate: c.Candidate, Of: c.Of, Share: c.Share, Next: c.Next, Phase: string(c.Phase), Ledger: c.Ledger}
		if g := c.Gate; g != nil {
			out.Users, out.Outcomes, out.Effective = g.Users, g.Outcomes, g.Effective
			out.MissingLive, out.MissingCandidate = g.Live.Missing, g.Candidate.Missing
			if g.Gain != nil {
				out.Gain = &dashboard.Mean{N: int64(g.Outcomes), Mean: g.Gain.Mean, Low: &g.Gain.Low, High: &g.Gain.High}
			}
		}
		all = append(all, out)
	}
	return all
}

// candidateFigures collects the metrics of candidates when they are scraped.
type candidateFigures struct{ of *trials.Trials }

func describeCandidate(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("pipe_candidate_"+name, help, append([]string{"policy", "candidate"}, labels...), nil)
}

// The metrics of candidates. Figures that are not known are absent.
var (
	candidateShare    = describeCandidate("share", "Share of the users that a candidate gets now.")
	candidateVerdict  = describeCandidate("verdict", "What the gate says of a candidate: 1 promote, 0 go on, -1 stop; the last one that it said if nothing is tried now.")
	candidateGain     = describeCandidate("gain", "Cost of the live policy minus that of the candidate, per decision on which they differ: the estimate, and the ends of its interval.", "of")
	candidateUsers    = describeCandidate("users", "Users with a decision on which the two policies differ, by the policy that they have.", "arm")
	candidateOutcomes = describeCandidate("outcomes", "Outcomes of these decisions.", "arm")
	candidateRows     = describeCandidate("effective_users", "Users with equal weights who would say as much.")
)

// Describe implements prometheus.Collector.
func (f candidateFigures) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{candidateShare, candidateVerdict, candidateGain, candidateUsers, candidateOutcomes, candidateRows} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (f candidateFigures) Collect(to chan<- prometheus.Metric) {
	for _, c := range f.of.Status() {
		set := func(d *prometheus.Desc, value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{c.Of, c.Candidate}, labels...)...)
		}
		set(candidateShare, c.Share)
		set(candidateVerdict, verdictOf(c))
		g := c.Gate
		if g == nil {
			continue
		}
		for name, arm := range map[string]gate.Arm{"live": g.Live, "candidate": g.Candidate} {
			set(candidateUsers, float64(arm.Users), name)
			set(candidateOutcomes, float64(arm.Outcomes), name)
		}
		set(candidateRows, g.Effective)
		if g.Gain != nil {
			set(candidateGain, g.Gain.Mean, "mean")
			set(candidateGain, g.Gain.Low, "low")
			set(candidateGain, g.Gain.High, "high")
		}
	}
}

// verdictOf is the verdict as a metric.
func verdictOf(c trials.Status) float64 {
	switch {
	case c.Gate != nil && c.Gate.Verdict == gate.GoOn:
		return 0
	case c.Gate != nil && c.Gate.Verdict == gate.Stop || c.Phase == trials.Stopped:
		return -1
	case c.Gate != nil && c.Gate.Verdict == gate.Promote || c.Decided != nil:
		return 1
	}
	return 0
}
