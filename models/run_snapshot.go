package models

import (
	"context"
	"fmt"

	"pipe/models/network"
	"pipe/onnx/ort"
)

// snapshot passes the state of the run to a recorder.
func (r *run) snapshot() *Snapshot {
	return &Snapshot{
		epoch: r.step / r.g.perEpoch, models: r.g.members, losses: r.losses,
		network: func(m int) network.MLP { return r.g.plan.net.mlp(r.params(m)) }, scores: r.scores,
	}
}

// scores is [Snapshot.Scores].
func (r *run) scores(ctx context.Context, features *ort.Buffer) ([]float32, error) {
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
