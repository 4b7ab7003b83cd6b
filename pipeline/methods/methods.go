package methods

import (
	"errors"
	"fmt"
	"slices"

	"pipe/models"
	"pipe/models/auto"
	"pipe/models/baseline"
)

// Names of methods that only single benchmarks report.
const (
	AlwaysLegitimate = "always_legitimate" // the negative label for every row, without asking an expert
	Bayes            = "bayes"             // the best policy under a known distribution
	// Of tables: cost regressions with fixed settings, and a control.
	KNN20        = "knn_20"
	KNN100       = "knn_100"
	KNN200       = "knn_200"
	Ridge1000    = "ridge_1000"
	Ridge10000   = "ridge_10000"
	MeanOfFour   = "mean_of_four"
	BoostedTrees = "boosted_trees"
	Shuffled     = "auto_shuffled"
	AutoDefault  = "auto_default"
	AutoApart    = "auto_apart"
)

// AnyPrice is the name of any-price policies in reports. Their files record another method, but they are not further seeds of
// its policies for one price.
const AnyPrice = "any_price"

// anyPrice is the method of that name.
func anyPrice() models.Method {
	m := auto.Method()
	m.Name, m.About = AnyPrice, "one policy for all prices, at the prices of the table"
	return m
}

// compared are the methods without files of policies that decide once.
var compared = []models.Method{
	{Name: "cascade_2", Role: models.RolePolicy, About: "executes a pair, looks at its answer, and accepts it or executes a second one"},
	{Name: "cascade_3", Role: models.RolePolicy, About: "the same with at most three pairs"},
	{Name: AnyPrice + "_cascade_2", Role: models.RolePolicy, About: "one cascade for all prices, of at most two pairs, at the prices of the table"},
	{Name: AnyPrice + "_cascade_3", Role: models.RolePolicy, About: "the same with at most three pairs"},
	{Name: baseline.NameKNN, Role: models.RoleReference, About: "cost regression by nearest neighbours, k chosen on inner rows"},
	{Name: KNN20, Role: models.RoleReference, About: "cost regression by the 20 nearest neighbours"},
	{Name: KNN100, Role: models.RoleReference, About: "cost regression by the 100 nearest neighbours"},
	{Name: KNN200, Role: models.RoleReference, About: "cost regression by the 200 nearest neighbours"},
	{Name: Ridge1000, Role: models.RoleReference, About: "ridge regression of the costs with penalty 1,000"},
	{Name: Ridge10000, Role: models.RoleReference, About: "ridge regression of the costs with penalty 10,000"},
	{Name: MeanOfFour, Role: models.RoleReference, About: "the plain mean of four cost regressions: 50 and 100 nearest neighbours, ridge with penalties 1,000 and 10,000"},
	{Name: BoostedTrees, Role: models.RoleReference, About: "cost regression by boosted trees with default settings"},
	{Name: AutoDefault, Role: models.RoleReference, About: "auto by default: losses tell whether rows with equal features are copies"},
	{Name: AutoApart, Role: models.RoleReference, About: "auto with apart: true: rows with equal features are different instances"},
	{Name: Shuffled, Role: models.RoleReference, About: "the decisions of auto, moved to other rows at random: its shares without what it knows of a row"},
	{Name: baseline.BestFixed, Role: models.RoleOracle, About: "the best constant pair, chosen on the split it is reported on: an oracle"},
	{Name: baseline.BestFixedTrain, Role: models.RoleConstant, About: "the best constant pair, chosen on training rows: what one could deploy"},
	{Name: AlwaysLegitimate, Role: models.RoleConstant, About: "answers the negative label for every row without an expert: what a task loss makes of rare positives"},
	{Name: "learned_expert_random_advice", Role: models.RoleReference, About: "the composite policy's expert with advice drawn uniformly"},
	{Name: "l2d_random_advice", Role: models.RoleReference, About: "the L2D policy's expert with advice drawn uniformly"},
	{Name: "random_expert_learned_advice", Role: models.RoleReference, About: "an expert drawn uniformly with the advice the policy scores best for that expert"},
	{Name: "random_expert_kept_advice", Role: models.RoleReference, About: "an expert drawn uniformly with the advice index the policy chose"},
	{Name: "random_expert_no_advice", Role: models.RoleReference, About: "an expert drawn uniformly, no advice"},
	{Name: "random_pair", Role: models.RoleReference, About: "a pair drawn uniformly"},
	{Name: "oracle_no_advice", Role: models.RoleOracle, About: "the cheapest expert of every row without advice: a floor"},
	{Name: "oracle", Role: models.RoleOracle, About: "the cheapest pair of every row: a floor"},
	{Name: Bayes, Role: models.RoleOracle, About: "the pair with the smallest expected cost under the known distribution: a floor"},
}

// All lists the methods in the order of tables and legends: trained methods first, composite policies before others,
// then those for comparison. own are methods besides those of package models.
func All(own ...models.Method) []models.Method {
	trained := slices.Insert(models.Methods(own...), 1, auto.Method(), anyPrice())
	slices.SortStableFunc(trained, func(a, b models.Method) int { return rankOf(a) - rankOf(b) })
	return append(trained, compared...)
}

// rankOf puts composite policies before others.
func rankOf(m models.Method) int {
	if m.Composite() {
		return 0
	}
	return 1
}

// Composite lists the names of composite methods. Baselines that take a half of their decisions from a composite policy
// use the first one in a report.
func Composite(own ...models.Method) []string {
	var names []string
	for _, m := range All(own...) {
		if m.Composite() {
			names = append(names, m.Name)
		}
	}
	return names
}

// Rank is the position of a method in tables. Unknown names are policies, and come after the known ones.
func Rank(name string) int {
	all := All()
	trained := len(all) - len(compared)
	switch i := slices.IndexFunc(all, func(m models.Method) bool { return m.Name == name }); {
	case i < 0:
		return trained
	case i < trained:
		return i
	default:
		return i + 1
	}
}

// Named returns the method of that name. An unknown name is a policy, because files can have other names.
func Named(name string, own ...models.Method) models.Method {
	for _, m := range All(own...) {
		if m.Name == name {
			return m
		}
	}
	return models.Method{Name: name, Role: models.RolePolicy}
}

// CheckOwn reports own methods whose names cannot be used (see models.CheckName) or are already used in reports.
func CheckOwn(own []models.Method) error {
	var errs []error
	seen := map[string]bool{}
	for _, m := range All() {
		seen[m.Name] = true
	}
	for _, m := range own {
		if err := m.CheckNames(); err != nil {
			errs = append(errs, fmt.Errorf("own methods: %q: %w", m.Name, err))
		}
		if seen[m.Name] {
			errs = append(errs, fmt.Errorf("own methods: the name %q is already used", m.Name))
		}
		seen[m.Name] = true
	}
	return errors.Join(errs...)
}
