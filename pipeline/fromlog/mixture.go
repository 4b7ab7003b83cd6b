package fromlog

import "pipe/pipeline/decisionlog"

// Mixing says whether a record has the propensities of policy and canary together.
type Mixing int

// The mixings.
const (
	Together Mixing = iota // it has, or there is no canary
	Unmixed                // it has those of one policy alone, although a canary gets a share of the requests
	Unsaid                 // it is of an earlier version: it has those of one policy alone, which is right where there was no canary
)

// MixingOf is that of a record.
func MixingOf(r *decisionlog.Record) Mixing {
	switch {
	case r.Share > 0 && r.OwnPropensity == nil:
		return Unmixed
	case r.Share == decisionlog.ShareUnknown:
		return Unsaid
	}
	return Together
}

// mixtures counts decisions by what they mix.
type mixtures struct {
	unmixed, unsaid int
	canaries        int // of unsaid
}

func (m *mixtures) add(r *decisionlog.Record) {
	switch MixingOf(r) {
	case Unmixed:
		m.unmixed++
	case Unsaid:
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
