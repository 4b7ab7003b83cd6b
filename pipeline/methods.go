package pipeline

import "slices"

// method describes one line of a report for captions; the order of the list is the order of tables and legends.
type method struct {
	name  string
	role  role
	about string
}

// role says what a method is to a user who wants to deploy one. A method that is not listed is a policy: files alone
// bring names of their own.
type role string

const (
	rolePolicy    role = "policy"    // a file of pipe train, which can be deployed
	roleConstant  role = "constant"  // one answer for every row, chosen without the reported rows: it needs no file
	roleReference role = "reference" // fitted or drawn for comparison: there is no file of it
	roleOracle    role = "oracle"    // knows the outcomes of the reported rows: a bound, not a competitor
)

var methods = []method{
	{"ours", rolePolicy, "the composite policy over expert-advice pairs, trained by the paper's recipe"},
	{"auto", rolePolicy, "the composite policy with settings chosen on inner rows, guard against losing to a fixed pair included"},
	{"l2d", rolePolicy, "learning to defer: the same network choosing an expert without advice; independent of lambda"},
	{"separated", rolePolicy, "router and query scores trained by the separated surrogate, which is not consistent (two experts, one advice)"},
	{"separated_softmax", rolePolicy, "our generalisation of the separated surrogate to any number of experts and advice"},
	{"knn", roleReference, "cost regression by nearest neighbours, k chosen on inner rows"},
	{"best_fixed", roleOracle, "the best constant pair, chosen on the split it is reported on: an oracle"},
	{"best_fixed_train", roleConstant, "the best constant pair, chosen on training rows: what one could deploy"},
	{AlwaysLegitimate, roleConstant, "answers the negative label for every row without an expert: what a task loss makes of rare positives"},
	{"learned_expert_random_advice", roleReference, "the composite policy's expert with advice drawn uniformly"},
	{"l2d_random_advice", roleReference, "the L2D policy's expert with advice drawn uniformly"},
	{"random_expert_learned_advice", roleReference, "an expert drawn uniformly with the advice the policy scores best for that expert"},
	{"random_expert_kept_advice", roleReference, "an expert drawn uniformly with the advice index the policy chose"},
	{"random_expert_no_advice", roleReference, "an expert drawn uniformly, no advice"},
	{"random_pair", roleReference, "a pair drawn uniformly"},
	{"oracle_no_advice", roleOracle, "the cheapest expert of every row without advice: a floor"},
	{"oracle", roleOracle, "the cheapest pair of every row: a floor"},
	{"bayes", roleOracle, "the pair with the smallest expected cost under the known law: a floor"},
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
	return method{name: name, role: rolePolicy}
}
