package cascade

import (
	"context"
	"errors"

	"pipe/onnx/ort"
)

// Rows are rows in any states, which may differ, for A pairs and F facts.
type Rows struct {
	N        int
	Features []float32 // N x Dim, not standardised
	Observed []float32 // N x A*F: fact f of pair i at i*F+f, NaN where it is not known
	Executed []bool    // N x A
}

// Decisions are the next steps on N rows.
type Decisions struct {
	Action []int64 // N: a pair that was executed, whose answer is accepted, or the one to execute next
	Accept []bool  // N
	// Loss is what the best answer at hand is expected to lose if it is accepted; NaN in the empty state.
	Loss []float32
	// Remaining is the expected cost that is still to come: fees that are not yet paid, and the loss.
	Remaining []float32
	Cost      []float32 // N x A: Remaining for every action; above 1e29 where there is no such action
}

// Decider runs a cascade file. It is safe for concurrent use. Close waits for running calls.
type Decider struct {
	info    *Info
	session *ort.Session
}

// Open opens the cascade file at path on rt. The decider must be closed before rt.
func Open(rt *ort.Runtime, path string) (*Decider, error) { return nil, errors.New("not yet") }

// Info is the metadata of the file; do not change it.
func (d *Decider) Info() *Info { return d.info }

// Next decides the next step on rows.
func (d *Decider) Next(ctx context.Context, rows Rows) (*Decisions, error) {
	return nil, errors.New("not yet")
}

// Close frees the session. It is idempotent.
func (d *Decider) Close() error { return nil }
