package bench

import (
	"pipe/models"
	"pipe/models/policy"
	"pipe/onnx"
)

// logLoss is the logarithmic loss of a sigmoid per pair, log(1 + e^s) - y s for the output s and the target y in [0, 1].
type logLoss struct{}

func (logLoss) Name() string                             { return "logarithmic" }
func (logLoss) Outputs(experts, advice int) (int, error) { return experts * advice, nil }
func (logLoss) Masks() bool                              { return false }
func (logLoss) Decoder() policy.Decoder                  { return policy.DecoderComposite }

func (logLoss) Loss(g *onnx.Graph, b models.Batch) *onnx.Value {
	return g.Mul(g.Sub(models.Softplus(g, b.Scores), g.Mul(b.Target, b.Scores)), b.Coef)
}

// additiveLoss is the composite surrogate at tau = 1 of the scores log(M - m_i - fee_i), where m_i is the sigmoid of an
// output and M is 1 plus the largest fee, with the weights M - y_i - fee_i: sum_i w_i (log sum_k e^s_k - s_i), averaged
// over some prices. Its minimum has m_i = E[y_i].
type additiveLoss struct {
	fees [][]float64 // by price, of every pair, in units of the range of losses
}

func (additiveLoss) Name() string                             { return "additive" }
func (additiveLoss) Outputs(experts, advice int) (int, error) { return experts * advice, nil }
func (additiveLoss) Masks() bool                              { return false }
func (additiveLoss) Decoder() policy.Decoder                  { return policy.DecoderComposite }

func (l additiveLoss) Loss(g *onnx.Graph, b models.Batch) *onnx.Value {
	t := b.Scores.DType()
	right := g.Sigmoid(g.Neg(b.Scores)) // 1 - m
	var sum *onnx.Value
	for _, fees := range l.fees {
		saved := make([]float32, len(fees)) // largest fee minus fee
		for i, f := range fees {
			for _, other := range fees {
				saved[i] = max(saved[i], float32(other-f))
			}
		}
		less := g.Cast(g.Const(onnx.Float32s([]int64{1, int64(len(fees)), 1}, saved)), t)
		e := g.Add(g.Add(right, less), g.Scalar(t, 1e-6)) // e^s
		w := g.Add(g.Sub(g.Scalar(t, 1), b.Target), less)
		loss := g.Mul(w, g.Sub(g.Log(g.ReduceSum(e, true, 1)), g.Log(e)))
		if sum != nil {
			loss = g.Add(sum, loss)
		}
		sum = loss
	}
	return g.Mul(sum, g.Mul(b.Coef, g.Scalar(t, 1/float64(len(l.fees)))))
}
