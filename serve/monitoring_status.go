package serve

import (
	"slices"

	"pipe/pipeline/monitor"
)

// status is what was found so far of the version that is served. While that one is not watched, it is what was found of the version
// before, without verdicts.
func (m *monitoring) status() *monitor.Status {
	of := m.current.Load().Status()
	served, why := m.whyUnwatched(of.Policy.Digest)
	if why == "" {
		return of
	}
	s := *of
	s.Watched, s.Served = false, served
	s.Verdict, s.Inputs.Verdict, s.Decisions.Verdict, s.Outcomes.Verdict = monitor.Untested, monitor.Untested, monitor.Untested, monitor.Untested
	s.Notes = append([]string{why}, slices.Clone(of.Notes)...)
	return &s
}

// whyUnwatched says why the served version is not the watched one, with its digest; "" if it is.
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
