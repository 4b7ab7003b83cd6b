package models

import "math"

const (
	adamBeta1 = 0.9
	adamBeta2 = 0.999
	adamEps   = 1e-8
)

// rate is the learning rate's multiplier at step t (from 0) of total: 1 without
// a schedule; with cosine a linear rise over the warm-up share, then
// (1 + cos(pi u))/2 down to zero.
func (s Settings) rate(t, total int) float64 {
	if s.Schedule != "cosine" {
		return 1
	}
	warm := 0
	if s.Warmup > 0 {
		warm = max(1, int(math.Round(s.Warmup*float64(total))))
	}
	if t < warm {
		return float64(t+1) / float64(warm)
	}
	return 0.5 * (1 + math.Cos(math.Pi*float64(t-warm)/float64(max(1, total-warm))))
}

// tau is a model's tau at step t (from 0) of total: it rises linearly from 1 to the model's own during the tau
// warm-up's share of the steps.
func (s Settings) tau(own float64, t, total int) float64 {
	if end := s.TauWarmup * float64(total); float64(t) < end {
		return 1 + (own-1)*float64(t)/end
	}
	return own
}

// adamScalars are the two numbers of AdamW's step t (from 0) when the moments
// are kept without their (1-beta) factors, as raw sums M and V:
//
//	update = lr * m^/(sqrt(v^) + eps) = alpha * M / (sqrt(V) + eps')
//
// with r = sqrt((1-beta2)/(1-beta2^(t+1))), alpha = lr (1-beta1)/((1-beta1^(t+1)) r)
// and eps' = eps/r (Loshchilov and Hutter, Decoupled Weight Decay Regularization).
func adamScalars(lr float64, t int) (alpha, eps float64) {
	r := math.Sqrt((1 - adamBeta2) / (1 - math.Pow(adamBeta2, float64(t+1))))
	return lr * (1 - adamBeta1) / ((1 - math.Pow(adamBeta1, float64(t+1))) * r), adamEps / r
}
