package oip

import (
	"errors"
	"sync"

	"pipe/serve/decision"
	"pipe/serve/metrics"
	"pipe/serve/policies"
)

// Options say what the API serves.
type Options struct {
	Policies *policies.Set
	// Decider logs and counts the decisions. nil: they are neither logged nor counted.
	Decider  *decision.Decider
	Metrics  *metrics.Metrics // or nil
	Settings Settings
	// Version of the server, for its metadata.
	Version string
	// Ready reports whether the server accepts requests. nil: always.
	Ready func() bool
}

// API answers requests of the protocol. It is safe for concurrent use.
type API struct {
	policies *policies.Set
	decider  *decision.Decider
	metrics  *metrics.Metrics
	settings Settings
	version  string
	ready    func() bool
	stats    stats
	memories sync.Pool // of *memory
	bodies   sync.Pool // of *[]byte
}

// New makes an API. The caller closes the set of policies.
func New(o Options) (*API, error) {
	if o.Policies == nil {
		return nil, errors.New("oip: no policies")
	}
	if err := o.Settings.Validate(); err != nil {
		return nil, err
	}
	a := &API{policies: o.Policies, decider: o.Decider, metrics: o.Metrics, settings: o.Settings, version: o.Version, ready: o.Ready}
	if a.ready == nil {
		a.ready = func() bool { return true }
	}
	a.memories.New = func() any { return new(memory) }
	a.bodies.New = func() any { return new([]byte) }
	return a, nil
}
