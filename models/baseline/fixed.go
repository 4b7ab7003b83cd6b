package baseline

import (
	"errors"
	"slices"

	"pipe/costs"
)

// bestFixed is the pair with the smallest mean cost on the decided rows: an oracle over constant policies.
func bestFixed(in Input) ([]int, error) {
	return bestConstant(in, in.Rows)
}

// bestFixedTrain chooses the pair on the training rows: the constant that can be deployed.
func bestFixedTrain(in Input) ([]int, error) {
	return bestConstant(in, in.Train)
}

func bestConstant(in Input, from []int) ([]int, error) {
	if len(from) == 0 {
		return nil, errors.New("has no rows to choose the pair on")
	}
	return constant(costs.Summarize(in.Tensor, from, in.Lambda).Best, len(in.Rows)), nil
}

// oracle takes the cheapest pair of every row: a lower bound for every policy.
func oracle(in Input) ([]int, error) {
	return cheapest(in, func(int) bool { return true })
}

// oracleNoAdvice is the same without advice: a lower bound for l2d.
func oracleNoAdvice(in Input) ([]int, error) {
	return cheapest(in, func(k int) bool { return k == 0 })
}

func cheapest(in Input, keep func(k int) bool) ([]int, error) {
	pairs := in.pairs(func(int, int) int { return 0 }, 1, func(_, k int) bool { return keep(k) })[0]
	if len(pairs) == 0 {
		return nil, ErrNoPair
	}
	actions := make([]int, len(in.Rows))
	var row []float64
	for m, n := range in.Rows {
		row = in.Tensor.Costs(row, n, in.Lambda)
		actions[m] = pairs[0]
		for _, i := range pairs {
			if row[i] < row[actions[m]] {
				actions[m] = i
			}
		}
	}
	return actions, nil
}

func constant(action, n int) []int { return slices.Repeat([]int{action}, n) }
