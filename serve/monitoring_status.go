package serve

import (
	"slices"

	"pipe/pipeline/monitor"
)

// status returns the findings about the served version. If that is not monitored yet, it returns those about the previous
// version, without verdicts.
func (m *monitoring) status() *monitor.Status {
	of := m.current.Load().Status()
	served, why := m.whyUnwatched(of.Policy.Digest)
	if why == "" {
		return of
	}
	s := *of
	s.Watched, s.Served = false, served
	s.Verdict, s.Inputs.Verdict, s.Decisions.Verdict, s.Outcomes.Verdict = monitor.Untested, monitor.Untested, monitor.Untested, monitor.Untested
	if s.Guarantee != nil {
		g := *s.Guarantee
		g.Verdict, s.Guarantee = monitor.Untested, &g
	}
	s.Notes = append([]string{why}, slices.Clone(of.Notes)...)
	return &s
}

// whyUnwatched returns why the served version is not the monitored one, and its digest; "" if it is.
func (m *monitoring) whyUnwatched(watched string) (served, why string) {
	p, err := m.policies.Acquire(m.name)
	if err != nil {
		return "", "the policy is not served; the figures are of the version " + watched
	}
	served = p.Digest
	p.Release()
	switch failed := m.failed.Load(); {
	case served == watched:
		return "", ""
	case failed != nil && *failed == served:
		why = "cannot be watched, the server's log says why"
	default:
		why = "is not watched yet"
	}
	return served, "the served version " + served + " " + why + "; the figures are of the version " + watched
}
