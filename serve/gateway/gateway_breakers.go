package gateway

import (
	"maps"
	"slices"
	"time"

	"pipe/serve/gateway/expert"
)

// Breaker is the state of the circuit breaker of an expert.
type Breaker struct {
	Expert   string
	State    expert.State
	Since    time.Time // when it changed; zero: it never did
	Failures int       // in a row, since it changed
}

// Breakers are those of all experts, by name.
func (a *API) Breakers() []Breaker {
	all := make([]Breaker, 0, len(a.experts))
	for _, name := range slices.Sorted(maps.Keys(a.experts)) {
		e := a.experts[name]
		b := Breaker{Expert: name, State: e.State(), Failures: e.FailuresInARow()}
		if since, ok := a.changed.Load(name); ok {
			b.Since = since.(time.Time)
		}
		all = append(all, b)
	}
	return all
}
