package baseline

import (
	"fmt"
)

// Rule chooses actions without training. Nearest neighbours are not a rule: they are fitted once for all lambdas, see
// [FitKNN].
type Rule struct {
	Name     string // in reports
	Random   bool   // drawn: the result depends on the seed
	Constant bool   // it chooses one pair for every row
	// Fields of [Input] that it needs besides Tensor, Rows and Lambda.
	NeedsTrain, NeedsChosen, NeedsL2D bool
	// Extra marks a variant of another rule, which is reported only by the benchmark that compares the two.
	Extra bool

	run func(in Input) ([]int, error)
}

// Run returns one action per entry of in.Rows. Draws are uniform over the pairs that the rule allows, and depend only
// on in.Seed, the name of the rule and the position in Rows. The error names the rule; it wraps [ErrNoPair] if no pair
// is available to it.
func (b Rule) Run(in Input) ([]int, error) {
	actions, err := b.run(in)
	if err != nil {
		return nil, fmt.Errorf("baseline %s: %w", b.Name, err)
	}
	return actions, nil
}

// Names of rules and fits that others refer to.
const (
	BestFixed      = "best_fixed"
	BestFixedTrain = "best_fixed_train"
	NameKNN        = "knn" // of [KNN]
)

// All returns all rules, in the order of reports.
func All() []Rule {
	return []Rule{
		{Name: BestFixed, Constant: true, run: bestFixed},
		{Name: BestFixedTrain, Constant: true, NeedsTrain: true, run: bestFixedTrain},
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
