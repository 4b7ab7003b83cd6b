package gateway

import (
	"maps"
	"slices"
	"time"

	"pipe/serve/gateway/expert"
)

// ExpertState is the state of the circuit breaker of an expert.
type ExpertState struct {
	Expert   string
	State    expert.State
	Since    time.Time // when it changed; zero: it never did
	Failures int       // in a row, since it changed
}

// Breakers are those of all experts, by name.
func (a *API) Breakers() []ExpertState {
	use := a.use()
	defer a.release(use)
	all := make([]ExpertState, 0, len(use.experts))
	for _, name := range slices.Sorted(maps.Keys(use.experts)) {
		e := use.experts[name]
		b := ExpertState{Expert: name, State: e.State(), Failures: e.FailuresInARow()}
		if since, ok := a.changed.Load(name); ok {
			b.Since = since.(time.Time)
		}
		all = append(all, b)
	}
	return all
}
