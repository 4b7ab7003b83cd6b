package auto

import "slices"

// kind says how a member counts in the rules of blends.
type kind int

const (
	constantMember kind = iota
	simpleMember        // ridge regression and neighbours
	treeMember          // no part of equal weights, which are for small tables: there trees follow the noise more than simple members
	networkMember
)

// rule is a way to choose the weights of a blend.
type rule struct {
	name    string
	weights func(kinds []kind, m *moments) []float64
}

// rules are the blends that are compared. The first is the default: another is taken if it is better by more than a
// standard error.
var rules = []rule{
	{"least squares", func(kinds []kind, m *moments) []float64 {
		return m.towards(equalWeights(kinds)).weights(slices.Repeat([]bool{true}, len(kinds)))
	}},
	{"equal weights", func(kinds []kind, _ *moments) []float64 { return equalWeights(kinds) }},
	{"least squares, networks only", func(kinds []kind, m *moments) []float64 {
		allowed := only(kinds, networkMember)
		if !slices.Contains(allowed, true) {
			return equalWeights(kinds)
		}
		return m.weights(allowed)
	}},
}

// equalWeights are those of the simple members; if there are none, of the trees, of the networks, or else of the constant.
func equalWeights(kinds []kind) []float64 {
	w := make([]float64, len(kinds))
	for _, k := range []kind{simpleMember, treeMember, networkMember, constantMember} {
		if !slices.Contains(kinds, k) {
			continue
		}
		of := only(kinds, k)
		n := 0
		for _, is := range of {
			if is {
				n++
			}
		}
		for i, is := range of {
			if is {
				w[i] = 1 / float64(n)
			}
		}
		break
	}
	return w
}

// only marks the members of a kind.
func only(kinds []kind, k kind) []bool {
	out := make([]bool, len(kinds))
	for i, own := range kinds {
		out[i] = own == k
	}
	return out
}
