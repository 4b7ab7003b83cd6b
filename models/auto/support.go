package auto

import (
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/models/policy"
)

// support says on how many training rows a log executed every pair. It is nil for a table without propensities, of which
// every pair may be chosen.
type support []policy.Support

// supportOf counts the rows on which the outcome of a pair is known. Rows that belong together count once for whether the pair may be
// chosen: it is tried if there are at least Settings.Support sets of them, or as many complete rows, which judge every pair.
func supportOf(t *costs.Tensor, rows []int, c costs.Clusters, least int) support {
	if t.Propensity == nil {
		return nil
	}
	complete := len(t.CompleteRows(rows))
	var out support
	for i := range t.Actions.Len() {
		if !t.Actions.Available(i) {
			continue
		}
		of := policy.Support{Pair: t.Actions.Name(i)}
		sets := make(map[int]bool)
		for at, n := range rows {
			if v := t.Losses(n)[i]; v == v {
				of.Rows++
				sets[c.Of[at]] = true
			}
		}
		of.Untried = len(sets) < least && complete < least
		out = append(out, of)
	}
	return out
}

// untried marks the pairs that no policy may choose; nil if there are none.
func (s support) untried(a *costs.Actions) []bool {
	var out []bool
	for _, of := range s {
		if of.Untried {
			if out == nil {
				out = make([]bool, a.Len())
			}
			out[slices.Index(a.Names(), of.Pair)] = true
		}
	}
	return out
}

// check reports that no pair may be chosen.
func (s support) check(least int) error {
	if s == nil || slices.ContainsFunc(s, func(of policy.Support) bool { return !of.Untried }) {
		return nil
	}
	return &costs.DataError{Column: "loss", Msg: fmt.Sprintf("no pair was executed on %d training rows that do not belong together, so none may be chosen; --support sets how many are needed", least)}
}

// withoutPairs is the tensor in which some pairs do not exist.
func withoutPairs(t *costs.Tensor, pairs []bool) *costs.Tensor {
	if pairs == nil {
		return t
	}
	out, actions := *t, *t.Actions
	out.Actions, out.Loss = &actions, slices.Clone(t.Loss)
	actions.Unavailable = slices.Clone(actions.Unavailable)
	for i, none := range pairs {
		if !none {
			continue
		}
		j, k := actions.Pair(i)
		actions.Unavailable = append(actions.Unavailable, costs.Pair{Expert: j, Advice: k})
		for at := i; at < len(out.Loss); at += len(pairs) {
			out.Loss[at] = float32(math.NaN())
		}
	}
	return &out
}
