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

// Loss is member m's mean surrogate loss over the last finished epoch.
func (s *Snapshot) Loss(m int) float64 {
	l := s.losses[m]
	return l[len(l)-1]
}

// Network is a copy of member m.
func (s *Snapshot) Network(m int) network.MLP { return s.network(m) }

// Scores runs every member over features ([N, dim], standardised) and returns
// [members, outputs, N]. Dropout is off.
func (s *Snapshot) Scores(ctx context.Context, features *ort.Buffer) ([]float32, error) {
	return s.scores(ctx, features)
}
