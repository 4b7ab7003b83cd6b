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
	Since    time.Time // its last change; zero: it never changed
	Failures int       // in a row, since the last change
}

// Breakers returns the circuit breakers of all experts, sorted by name.
func (a *API) Breakers() []ExpertState {
	current := a.acquire()
	defer a.release(current)
	all := make([]ExpertState, 0, len(current.experts))
	for _, name := range slices.Sorted(maps.Keys(current.experts)) {
		e := current.experts[name]
		b := ExpertState{Expert: name, State: e.State(), Failures: e.FailuresInARow()}
		if since, ok := a.breakerChanges.Load(name); ok {
			b.Since = since.(time.Time)
		}
		all = append(all, b)
	}
	return all
}
