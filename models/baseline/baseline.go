package baseline

import (
	"fmt"
	"strings"
)

// Rule is a method that is not trained: a rule for choosing actions and
// what it looks at. knn is not among them: it is fitted once for all lambdas,
// see FitKNN.
type Rule struct {
	Name   string
	Random bool // drawn: the result depends on the seed
	// What of a BaselineInput it needs besides Tensor, Rows and Lambda.
	NeedsTrain, NeedsChosen, NeedsL2D bool
	// Extra marks a second reading of another baseline, for the benchmark that
	// compares readings.
	Extra bool

	run func(in Input) ([]int, error)
}

// Run returns one action per entry of in.Rows. Draws are uniform over the
// available pairs that the baseline allows itself and depend only on in.Seed,
// the method and the position in Rows.
func (b Rule) Run(in Input) ([]int, error) {
	actions, err := b.run(in)
	if err != nil {
		return nil, fmt.Errorf("baseline %s: %w", b.Name, err)
	}
	return actions, nil
}

// Constant says whether the baseline plays one pair everywhere.
func (b Rule) Constant() bool { return strings.HasPrefix(b.Name, "best_fixed") }

// All returns all of them, in the order of reports.
func All() []Rule {
	return []Rule{
		{Name: "best_fixed", run: bestFixed},
		{Name: "best_fixed_train", NeedsTrain: true, run: bestFixedTrain},
		{Name: "learned_expert_random_advice", Random: true, NeedsChosen: true, run: learnedExpertRandomAdvice},
		{Name: "l2d_random_advice", Random: true, NeedsL2D: true, run: l2dRandomAdvice},
		{Name: "random_expert_learned_advice", Random: true, NeedsChosen: true, run: randomExpertLearnedAdvice},
		{Name: "random_expert_kept_advice", Random: true, NeedsChosen: true, Extra: true, run: randomExpertKeptAdvice},
		{Name: "random_expert_no_advice", Random: true, run: randomExpertNoAdvice},
		{Name: "random_pair", Random: true, run: randomPair},
		{Name: "oracle", run: oracle},
		{Name: "oracle_no_advice", run: oracleNoAdvice},
	}
}

// Run runs the named baseline.
func Run(name string, in Input) ([]int, error) {
	var known []string
	for _, b := range All() {
		if b.Name == name {
			return b.Run(in)
		}
		known = append(known, b.Name)
	}
	return nil, fmt.Errorf("unknown baseline %q; known are %s", name, strings.Join(known, ", "))
}
