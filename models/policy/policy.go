package policy

import (
	"math"

	"pipe/costs"
	"pipe/models/network"
)

// Decoder names how the outputs of a member become scores of actions.
type Decoder string

// The decoders; columns are those of a member's last layer, in this order.
const (
	// DecoderComposite: one score per action, J(K+1) columns, expert-major.
	DecoderComposite Decoder = "composite"
	// DecoderL2D: actions without advice only, J columns (or J(K+1), of which
	// those with advice are ignored).
	DecoderL2D Decoder = "l2d"
	// DecoderSeparated: J = 2 and K = 1; router score r, then one query score
	// per expert. expert = 1{r >= 0}, advice = 1{q_expert >= 0}.
	DecoderSeparated Decoder = "separated"
	// DecoderSeparatedSoftmax: J router scores, then J rows of K+1 query
	// scores; the best expert, then the best advice in its row.
	DecoderSeparatedSoftmax Decoder = "separated_softmax"
	// DecoderFixed: no members; the same action everywhere.
	DecoderFixed Decoder = "fixed"
)

// Policy maps features to actions. It is what training ends with and what a
// policy file is written from.
type Policy struct {
	Actions *costs.Actions
	Method  string  // such as "ours" or "l2d"
	Recipe  string  // such as "paper" or "auto"
	Lambda  float64 // the regime it was trained for
	Tau     float64 // of the surrogate
	Decoder Decoder

	Dim      int // width of the features; 0 means that of the first member
	Standard network.Standardizer
	// Members are averaged: log-probabilities for composite and l2d, router and
	// query scores, which are log-odds up to a constant, for the separated ones.
	Members []network.MLP

	// Fixed is the action of DecoderFixed. FixedScores, J(K+1) values or nil,
	// orders the others for when Fixed is masked out: higher is better (minus
	// the mean training cost, say), and Fixed must have the best.
	Fixed       int
	FixedScores []float64

	// Info is further metadata by key without the "pipe." prefix: settings,
	// guard, training_digest, validation and the like, JSON where structured.
	Info map[string]string
}

// FeatureDim is the width of the features that the policy takes.
func (p *Policy) FeatureDim() int {
	if p.Dim == 0 && len(p.Members) > 0 {
		return p.Members[0].In()
	}
	return p.Dim
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
