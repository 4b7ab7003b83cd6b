package policy

import (
	"pipe/costs"
	"pipe/models/network"
)

// Decoder names how the outputs of a member become scores of the J(K+1) actions
// of J experts and K+1 levels of advice.
type Decoder string

// The decoders. Columns are the outputs of a member's last layer.
const (
	// DecoderComposite has a column per action, J(K+1), expert by expert.
	DecoderComposite Decoder = "composite"
	// DecoderL2D chooses among actions without advice. It has J columns, or J(K+1)
	// of which those with advice are ignored.
	DecoderL2D Decoder = "l2d"
	// DecoderSeparated is for J = 2 and K = 1. Its columns are the router score r and a query score per expert: expert
	// = 1{r >= 0}, advice = 1{q_expert >= 0}.
	DecoderSeparated Decoder = "separated"
	// DecoderSeparatedSoftmax has J router scores and J x (K+1) query scores. It takes the best expert, then the best
	// advice of that expert.
	DecoderSeparatedSoftmax Decoder = "separated_softmax"
	// DecoderFixed has no members: it always takes the same action.
	DecoderFixed Decoder = "fixed"
	// DecoderEstimate has no members: it takes the cheapest pair by an [Estimate].
	DecoderEstimate Decoder = "estimate"
)

// Policy maps features to scores of actions. Training returns policies, and
// [Policy.Export] writes one as a file.
type Policy struct {
	Actions *costs.Actions // names, fees and unavailable pairs
	Method  string         // such as "ours" or "l2d"
	Recipe  string         // such as "paper" or "auto"
	Lambda  float64        // multiplier of the advice fees that it was trained for
	Tau     float64        // of the surrogate
	Decoder Decoder        // how the outputs of Members become scores

	Dim      int                  // width of the features; 0 means that of the first member
	Standard network.Standardizer // of the features, before Members see them
	// Members are the networks, which are averaged. The decoders composite and l2d average log-probabilities, the
	// others outputs.
	Members []network.MLP

	// Fixed is the action of DecoderFixed. FixedScores, J(K+1) values or nil, orders the other actions for use when
	// Fixed is masked out. Higher is better, such as minus the mean training cost, and Fixed must have the highest.
	Fixed       int
	FixedScores []float64

	// Estimate is what DecoderEstimate reads; nil for other decoders.
	Estimate *Estimate

	// Info is further metadata, by key without the prefix "pipe.". It has the keys below ([NamesKey] and others) and
	// any keys of the caller. Structured values are JSON.
	Info map[string]string
}

// FeatureDim is the width of the features that the policy takes.
func (p *Policy) FeatureDim() int {
	if p.Dim == 0 && len(p.Members) > 0 {
		return p.Members[0].In()
	}
	return p.Dim
}
