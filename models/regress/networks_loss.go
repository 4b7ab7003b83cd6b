package regress

import (
	"pipe/models"
	"pipe/models/policy"
	"pipe/onnx"
)

// sigmoidLoss trains a sigmoid per pair, m = 1/(1 + e^-s) for the output s, on the target y in [0, 1]. It is the sum of
//
//   - the logarithmic loss log(1 + e^s) - y s, whose minimum is the mean of y, and
//   - decisionWeight times the expected cost of choosing pair i with probability softmax(-(m + fee)/temperature)_i,
//     averaged over feeScales. It rewards estimates that are right where they decide.
//
// Where the target of a pair is not known, the row has no logarithmic loss for it, and the expected cost is that of the
// choice among the pairs that are known: estimates that order every set of pairs rightly have the smallest loss.
//
// It is the additive head of any-price policies: fees are added to estimates that do not depend on them.
type sigmoidLoss struct{}

const (
	decisionWeight = 10.0
	temperature    = 0.02 // of the range of losses
)

// feeScales are factors on all fees.
var feeScales = []float64{0, 0.5, 1, 2}

func (sigmoidLoss) Name() string                             { return "sigmoid" }
func (sigmoidLoss) Outputs(experts, advice int) (int, error) { return experts * advice, nil }
func (sigmoidLoss) Masks() bool                              { return true }
func (sigmoidLoss) Partial()                                 {}
func (sigmoidLoss) Decoder() policy.Decoder                  { return policy.DecoderComposite }

func (l sigmoidLoss) Loss(g *onnx.Graph, b models.Batch) *onnx.Value {
	t := b.Scores.DType()
	loss := g.Sub(models.Softplus(g, b.Scores), g.Mul(b.Target, b.Scores))
	if b.Allowed != nil {
		loss = g.Mul(loss, b.MaskConst(g, 1, 0))
	}
	if b.Known != nil {
		loss = g.Mul(loss, b.Known)
	}
	m := g.Sigmoid(b.Scores)
	for _, scale := range feeScales {
		fees := g.Mul(b.Fees, g.Scalar(t, scale))
		risk := g.Mul(l.choice(g, b, g.Add(m, fees)), g.Add(b.Target, fees))
		if b.Known != nil {
			risk = g.Mul(risk, b.Known)
		}
		loss = g.Add(loss, g.Mul(risk, g.Scalar(t, decisionWeight/float64(len(feeScales)))))
	}
	return g.Mul(loss, b.Coef)
}

// choice is the probability of every pair at estimated costs.
func (sigmoidLoss) choice(g *onnx.Graph, b models.Batch, cost *onnx.Value) *onnx.Value {
	t := b.Scores.DType()
	s := g.Mul(cost, g.Scalar(t, -1/temperature))
	if b.Allowed != nil {
		s = g.Add(s, b.MaskConst(g, 0, -1e9))
	}
	if b.Known != nil {
		s = g.Add(s, g.Mul(g.Sub(b.Known, g.Scalar(t, 1)), g.Scalar(t, 1e9)))
	}
	e := g.Exp(g.Sub(s, g.StopGradient(g.ReduceMax(s, true, 1))))
	return g.Div(e, g.ReduceSum(e, true, 1))
}
