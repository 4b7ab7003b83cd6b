package baseline

import (
	"fmt"
	"math/rand/v2"
)

// learnedExpertRandomAdvice keeps the learned policy's expert and draws its
// advice uniformly over that expert's available levels.
func learnedExpertRandomAdvice(in Input) ([]int, error) {
	return redrawAdvice(in, "the learned policy", in.Chosen, "learned_expert_random_advice")
}

// l2dRandomAdvice does the same with the expert of the l2d policy, as in the synthetic table of the paper.
func l2dRandomAdvice(in Input) ([]int, error) {
	return redrawAdvice(in, "the l2d policy", in.L2D, "l2d_random_advice")
}

func redrawAdvice(in Input, what string, chosen []int, method string) ([]int, error) {
	if err := in.needActions(what, chosen); err != nil {
		return nil, err
	}
	rows := in.expertRows(func(int) bool { return true })
	rng := in.draws(method)
	actions := make([]int, len(chosen))
	for m, i := range chosen {
		j, _ := in.Tensor.Actions.Pair(i)
		if len(rows[j]) == 0 {
			return nil, fmt.Errorf("row %d: %s chose an expert without available pairs: %w", m, what, ErrNoPair)
		}
		actions[m] = rows[j][rng.IntN(len(rows[j]))]
	}
	return actions, nil
}

// randomExpertLearnedAdvice draws the expert uniformly and takes the advice
// that the learned policy's scores rank best for that expert.
func randomExpertLearnedAdvice(in Input) ([]int, error) {
	a := in.Tensor.Actions.Len()
	if len(in.Scores) != len(in.Rows)*a {
		return nil, fmt.Errorf("needs the scores of the learned policy: got %d for %d rows of %d", len(in.Scores), len(in.Rows), a)
	}
	rows := nonEmpty(in.expertRows(func(int) bool { return true }))
	rng := in.draws("random_expert_learned_advice")
	actions := make([]int, len(in.Rows))
	for m := range actions {
		row := rows[rng.IntN(len(rows))]
		actions[m] = row[0]
		for _, i := range row {
			if in.Scores[m*a+i] > in.Scores[m*a+actions[m]] {
				actions[m] = i
			}
		}
	}
	return actions, nil
}

// randomExpertKeptAdvice is the other interpretation: the advice that the learned policy chose, shown to an expert
// drawn uniformly among those that can take it.
func randomExpertKeptAdvice(in Input) ([]int, error) {
	if err := in.needActions("the learned policy", in.Chosen); err != nil {
		return nil, err
	}
	levels := in.pairs(func(_, k int) int { return k }, len(in.Tensor.Actions.Advice), func(int, int) bool { return true })
	rng := in.draws("random_expert_kept_advice")
	actions := make([]int, len(in.Chosen))
	for m, i := range in.Chosen {
		_, k := in.Tensor.Actions.Pair(i)
		if len(levels[k]) == 0 {
			return nil, fmt.Errorf("row %d: the learned policy chose advice that no expert takes: %w", m, ErrNoPair)
		}
		actions[m] = levels[k][rng.IntN(len(levels[k]))]
	}
	return actions, nil
}

// randomExpertNoAdvice draws uniformly among the pairs without advice.
func randomExpertNoAdvice(in Input) ([]int, error) {
	return drawPairs(in, "random_expert_no_advice", func(k int) bool { return k == 0 })
}

// randomPair draws uniformly among all available pairs.
func randomPair(in Input) ([]int, error) {
	return drawPairs(in, "random_pair", func(int) bool { return true })
}

func drawPairs(in Input, method string, keep func(k int) bool) ([]int, error) {
	pairs := in.pairs(func(int, int) int { return 0 }, 1, func(_, k int) bool { return keep(k) })[0]
	if len(pairs) == 0 {
		return nil, ErrNoPair
	}
	return drawEach(in.draws(method), pairs, len(in.Rows)), nil
}

func drawEach(rng *rand.Rand, from []int, n int) []int {
	actions := make([]int, n)
	for m := range actions {
		actions[m] = from[rng.IntN(len(from))]
	}
	return actions
}

// expertRows returns each expert's available actions at the advice levels for which keep is true.
func (in Input) expertRows(keep func(k int) bool) [][]int {
	return in.pairs(func(j, _ int) int { return j }, len(in.Tensor.Actions.Experts), func(_, k int) bool { return keep(k) })
}

func nonEmpty(groups [][]int) [][]int {
	var out [][]int
	for _, g := range groups {
		if len(g) > 0 {
			out = append(out, g)
		}
	}
	return out
}
