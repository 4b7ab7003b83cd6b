package models

import (
	"context"

	"pipe/models/network"
	"pipe/onnx/ort"
)

// Snapshot is a group of models at the end of an epoch. It is valid only
// during the Recorder's call.
type Snapshot struct {
	epoch   int
	models  []int
	losses  [][]float64 // per member, of each finished epoch
	network func(m int) network.MLP
	scores  func(ctx context.Context, features *ort.Buffer) ([]float32, error)
}

// Epoch is the number of finished epochs.
func (s *Snapshot) Epoch() int { return s.epoch }

// Models are the indices into the specs given to Train, one per member.
func (s *Snapshot) Models() []int { return s.models }

// Loss is the mean surrogate loss of member m over the last finished epoch; m
// counts from 0 within Models.
func (s *Snapshot) Loss(m int) float64 {
	l := s.losses[m]
	return l[len(l)-1]
}

// Network is a copy of member m; m counts as in Loss.
func (s *Snapshot) Network(m int) network.MLP { return s.network(m) }

// Scores runs every member on features, [N, dim] and standardised, and returns their outputs, [members, outputs, N].
// Dropout is off.
func (s *Snapshot) Scores(ctx context.Context, features *ort.Buffer) ([]float32, error) {
	return s.scores(ctx, features)
}
