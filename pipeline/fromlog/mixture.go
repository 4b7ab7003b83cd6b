package fromlog

import "pipe/pipeline/decisionlog"

// mixing says whether a record has the propensities of policy and canary together.
type mixing int

const (
	together mixing = iota
	unmixed         // it has those of one policy alone, although a canary gets a share of the requests
	unsaid          // it is of an earlier version: it has those of one policy alone, which is right where there was no canary
)

func mixingOf(r *decisionlog.Record) mixing {
	switch {
	case r.Share > 0 && r.OwnPropensity == nil:
		return unmixed
	case r.Share == decisionlog.ShareUnknown:
		return unsaid
	}
	return together
}

// mixtures counts decisions by what they mix.
type mixtures struct {
	unmixed, unsaid int
	canaries        int // of unsaid
}

func (m *mixtures) add(r *decisionlog.Record) {
	switch mixingOf(r) {
	case unmixed:
		m.unmixed++
	case unsaid:
		m.unsaid++
		if r.Canary {
			m.canaries++
		}
	}
}

// wrong counts decisions with the propensities of one policy alone, although a canary gets a share of the requests.
func (m *mixtures) wrong() int {
	if m.canaries == 0 {
		return m.unmixed
	}
	return m.unmixed + m.unsaid
}
