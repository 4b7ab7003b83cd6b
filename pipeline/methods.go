package pipeline

import "slices"

// method describes one line of a report for captions; the order of the list is the order of tables and legends.
type method struct {
	name  string
	floor bool // knows the outcome of every row: a bound, not a competitor
	about string
}

var methods = []method{
	{"ours", false, "the composite policy over expert-advice pairs, trained by the paper's recipe"},
	{"auto", false, "the composite policy with settings chosen on inner rows, guard against losing to a fixed pair included"},
	{"l2d", false, "learning to defer: the same network choosing an expert without advice; independent of lambda"},
	{"separated", false, "router and query scores trained by the separated surrogate, which is not consistent (two experts, one advice)"},
	{"separated_softmax", false, "our generalisation of the separated surrogate to any number of experts and advice"},
	{"knn", false, "cost regression by nearest neighbours, k chosen on inner rows"},
	{"best_fixed", true, "the best constant pair, chosen on the split it is reported on: an oracle"},
	{"best_fixed_train", false, "the best constant pair, chosen on training rows: what one could deploy"},
	{AlwaysLegitimate, false, "answers the negative label for every row and asks nobody: what a task loss makes of rare positives"},
	{"learned_expert_random_advice", false, "the composite policy's expert with advice drawn uniformly"},
	{"l2d_random_advice", false, "the L2D policy's expert with advice drawn uniformly"},
	{"random_expert_learned_advice", false, "an expert drawn uniformly with the advice the policy scores best for that expert"},
	{"random_expert_kept_advice", false, "an expert drawn uniformly with the advice index the policy chose"},
	{"random_expert_no_advice", false, "an expert drawn uniformly, no advice"},
	{"random_pair", false, "a pair drawn uniformly"},
	{"oracle_no_advice", true, "the cheapest expert of every row without advice: a floor"},
	{"oracle", true, "the cheapest pair of every row: a floor"},
	{"bayes", true, "the pair with the smallest expected cost under the known law: a floor"},
}

// methodRank is a method's place in tables; unknown names come last.
func methodRank(name string) int {
	if i := slices.IndexFunc(methods, func(m method) bool { return m.name == name }); i >= 0 {
		return i
	}
	return len(methods)
}

// describeMethod returns the known method of that name, or one without a description.
func describeMethod(name string) method {
	if i := methodRank(name); i < len(methods) {
		return methods[i]
	}
	return method{name: name}
}
