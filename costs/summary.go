package costs

import "math"

// Summary describes a tensor in one regime: how good the constant choices are,
// and how much a policy could gain over them.
type Summary struct {
	Rows   int
	Lambda float64
	// Mean task loss and mean cost per action; +Inf where unavailable.
	TaskLoss, Cost []float64
	// Best is the action with the smallest mean cost, the smallest index on
	// ties. BestNoAdvice is the same among actions without advice; it is -1 and
	// its cost +Inf if none of them is available.
	Best, BestNoAdvice         int
	BestCost, BestNoAdviceCost float64
	// Oracle is the mean over instances of the cheapest action's cost, a lower
	// bound for every policy; OracleNoAdvice is the same without advice.
	Oracle, OracleNoAdvice float64
	// OracleAdviceRate is the share of instances on which the oracle buys
	// advice (smallest index on ties).
	OracleAdviceRate float64
}

// Headroom is what the oracle saves over the best fixed pair.
func (s *Summary) Headroom() float64 { return s.BestCost - s.Oracle }

// Summarize summarises the given instances of t in the regime lambda.
func Summarize(t *Tensor, rows []int, lambda float64) Summary {
	a := t.Actions.Len()
	s := Summary{
		Rows: len(rows), Lambda: lambda,
		TaskLoss: make([]float64, a), Cost: make([]float64, a),
		Best: -1, BestNoAdvice: -1, BestCost: math.Inf(1), BestNoAdviceCost: math.Inf(1),
	}
	fees := t.Actions.Fees(lambda)
	for _, n := range rows {
		best, cheapest, plain := -1, math.Inf(1), math.Inf(1)
		for i := range a {
			c := t.cost(n, i, fees[i])
			s.Cost[i] += c
			s.TaskLoss[i] += infIfNaN(float64(t.Loss[n*a+i]))
			if c < cheapest {
				best, cheapest = i, c
			}
			if i%len(t.Actions.Advice) == 0 {
				plain = min(plain, c)
			}
		}
		s.Oracle += cheapest
		s.OracleNoAdvice += plain
		if best >= 0 && best%len(t.Actions.Advice) != 0 {
			s.OracleAdviceRate++
		}
	}
	s.divide(float64(len(rows)))
	s.chooseFixed(len(t.Actions.Advice))
	return s
}

// divide turns sums over the instances into means.
func (s *Summary) divide(count float64) {
	for i := range s.Cost {
		s.Cost[i] /= count
		s.TaskLoss[i] /= count
	}
	s.Oracle /= count
	s.OracleNoAdvice /= count
	s.OracleAdviceRate /= count
}

func (s *Summary) chooseFixed(levels int) {
	if s.Rows == 0 {
		return
	}
	for i, c := range s.Cost {
		if c < s.BestCost {
			s.Best, s.BestCost = i, c
		}
		if i%levels == 0 && c < s.BestNoAdviceCost {
			s.BestNoAdvice, s.BestNoAdviceCost = i, c
		}
	}
}

func infIfNaN(v float64) float64 {
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}
