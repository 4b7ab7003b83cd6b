package offpolicy

import "fmt"

// Weighting is how much a row counts in a fit of the costs.
type Weighting string

// The weightings. p is the probability of the executed pair in the log, t that of the target.
const (
	WeightNone    Weighting = ""        // 1
	WeightInverse Weighting = "inverse" // min(1/p, clip): as if all pairs had been executed alike
	WeightMRDR    Weighting = "mrdr"    // t (1 - p) / p^2: for the least variance of a doubly robust estimate
)

// weights are those of the rows in a fit, times their own, with a mean of 1 over those of the given rows that are above 0.
func (l *Log) weights(w Weighting, clip float64, by []int) ([]float64, error) {
	if w == WeightInverse && !(clip >= 1) {
		return nil, fmt.Errorf("clip %v is not at least 1", clip)
	}
	out := make([]float64, l.Len())
	sum, some := 0.0, 0.0
	for i := range out {
		p := l.propensity(i)
		switch w {
		case WeightNone:
			out[i] = 1
		case WeightInverse:
			out[i] = min(1/p, clip)
		case WeightMRDR:
			out[i] = l.Target[i*l.Pairs+l.Executed[i]] * (1 - p) / (p * p)
		default:
			return nil, fmt.Errorf("weighting %q, known are %q, %q, %q", w, WeightNone, WeightInverse, WeightMRDR)
		}
		out[i] *= l.weight(i)
		if err := l.tooLarge(i, out[i]*float64(len(out))); err != nil {
			return nil, err
		}
	}
	for _, i := range by {
		sum += out[i]
		if out[i] > 0 {
			some++
		}
	}
	for i := range out {
		if some > 0 {
			out[i] *= some / sum
		}
	}
	return out, nil
}
