package models

import (
	"pipe/models/policy"
	"pipe/onnx"
)

// squared lets the outputs estimate the costs of all pairs.
type squared struct{}

func (squared) Name() string                             { return "squared" }
func (squared) Outputs(experts, advice int) (int, error) { return experts * advice, nil }
func (squared) Masks() bool                              { return false }
func (squared) Decoder() policy.Decoder                  { return policy.DecoderCheapest }

func (squared) Loss(g *onnx.Graph, b Batch) *onnx.Value {
	wrong := g.Sub(b.Scores, b.Costs(g))
	return g.Mul(g.Mul(wrong, wrong), b.Coef)
}
