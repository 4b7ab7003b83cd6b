package models

import (
	"context"
	"fmt"

	"pipe/onnx/ort"
)

// Snapshot is a group of models at the end of an epoch. It is valid only
// during the Recorder's call.
type Snapshot struct{ run *run }

// Epoch is the number of finished epochs.
func (s *Snapshot) Epoch() int { return s.run.step / s.run.g.perEpoch }

// Models are the indices into the specs given to Train, one per member.
func (s *Snapshot) Models() []int { return s.run.g.members }

// Loss is member m's mean surrogate loss over the last finished epoch.
func (s *Snapshot) Loss(m int) float64 {
	l := s.run.losses[m]
	return l[len(l)-1]
}

// Network is a copy of member m.
func (s *Snapshot) Network(m int) MLP { return s.run.g.plan.net.mlp(s.run.params(m)) }

// Scores runs every member over features ([N, dim], standardised) and returns
// [members, outputs, N]. Dropout is off.
func (s *Snapshot) Scores(ctx context.Context, features *ort.Buffer) ([]float32, error) {
	r := s.run
	if r.scorer == nil {
		m, err := r.g.plan.scoreGraph()
		if err != nil {
			return nil, fmt.Errorf("build score graph: %w", err)
		}
		graph, err := m.Marshal()
		if err != nil {
			return nil, fmt.Errorf("build score graph: %w", err)
		}
		if r.scorer, err = open(r.rt, graph); err != nil {
			return nil, fmt.Errorf("open score graph: %w", err)
		}
	}
	in := []*ort.Buffer{features}
	for i := range r.g.plan.net.params() {
		in = append(in, r.state[r.front][3*i])
	}
	out := []*ort.Buffer{nil}
	if err := r.scorer.RunBuffers(ctx, in, out); err != nil {
		return nil, err
	}
	defer out[0].Close()
	return append([]float32(nil), out[0].Float32s()...), nil
}
