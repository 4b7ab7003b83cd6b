package cascade

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/models/policy"
)

// Policy decides in stages. Training makes policies, and [Policy.Export] writes one as a file.
type Policy struct {
	Actions *costs.Actions // names, fees and unavailable pairs
	Dim     int            // width of the features
	Facts   []costs.Fact   // what is seen of an answer
	Stages  int            // pairs that are executed on a row, at most
	Lambda  float64        // multiplier of the fees of advice
	// Prices makes an any-price cascade: fees are inputs of its file. nil: they are those of Actions at Lambda.
	Prices *policy.PriceRange
	// Range is what the execution of a pair that is not available counts as in later states of an any-price cascade, where another answer
	// is accepted instead: the range of the losses.
	Range  float64
	States []State // the first is the empty one; no two have the same pairs
	// Rest decides which answer is accepted in a state that has no policy: it estimates the loss of every pair from the
	// features alone.
	Rest *policy.Policy
	// Info is further metadata, by key without the prefix "pipe.".
	Info map[string]string
}

// State is what the policy does after some pairs were executed.
type State struct {
	Executed []int // ascending
	Encoding Encoding
	// Policy takes the encoded state, and has as many actions as the cascade has pairs, in their order: that of an executed
	// pair is free, and those that must not be executed next are unavailable. [PairActions] makes them. In an any-price cascade its fees are
	// those of the file's inputs.
	Policy *policy.Policy
	// At is for a state of an any-price cascade after which pairs are executed by decisions that depend on prices; Policy is nil then.
	At []Reference
}

// Reference is what a state does if later states decide as they do at reference prices. What an action costs is linear in prices then:
// its cost at the reference, and for every pair that is executed later the difference of its fee. As later states decide better at any other
// price, the true cost is at most that, so the smallest of several references is taken.
type Reference struct {
	Policy *policy.Policy // by estimates of all that an action costs at the reference but its own fee
	Fees   []float64      // A, of pairs at the reference
	// Later is A x A: on which share of the rows a pair, the column, is executed later at the reference if the state executes another one,
	// the row.
	Later []float64
}

// references are those of the state; a policy of its own is one after which nothing depends on prices.
func (s State) references() []Reference {
	if s.Policy != nil {
		return []Reference{{Policy: s.Policy}}
	}
	return s.At
}

// ends reports whether nothing more may be executed: an answer is accepted.
func (s State) ends() bool {
	for i, may := range s.references()[0].Policy.Actions.Mask() {
		if may && !slices.Contains(s.Executed, i) {
			return false
		}
	}
	return true
}

// PairActions are the pairs of a as experts without advice, at the fees that executing one next has: 0 for those that
// were executed already. Pairs that are not allowed are unavailable; nil: all that exist are allowed. dim is the width of
// what the state's policy sees.
func PairActions(a *costs.Actions, lambda float64, executed []int, allowed []bool, dim int) *costs.Actions {
	out := &costs.Actions{Advice: []costs.Advice{{Name: "none"}}, Features: costs.FeatureSource{Name: a.Features.Name, Dim: dim}}
	fees, mask := a.Fees(lambda), a.Mask()
	for i, fee := range fees {
		if slices.Contains(executed, i) {
			fee = 0
		}
		out.Experts = append(out.Experts, costs.Expert{Name: a.Name(i), Fee: fee})
		if !mask[i] || allowed != nil && !allowed[i] {
			out.Unavailable = append(out.Unavailable, costs.Pair{Expert: i})
		}
	}
	return out
}

// Validate reports why the policy cannot be exported.
func (p *Policy) Validate() error {
	switch {
	case p == nil || p.Actions == nil:
		return errors.New("there is no policy, or it has no actions")
	case p.Stages < 1:
		return fmt.Errorf("%d stages", p.Stages)
	case math.IsNaN(p.Lambda) || math.IsInf(p.Lambda, 0) || p.Lambda < 0:
		return fmt.Errorf("lambda is %g", p.Lambda)
	case math.IsNaN(p.Range) || math.IsInf(p.Range, 0) || p.Range < 0:
		return fmt.Errorf("the range of losses is %g", p.Range)
	case len(p.States) == 0 || len(p.States[0].Executed) > 0:
		return errors.New("the first state is not the empty one")
	}
	if err := p.Actions.Validate(); err != nil {
		return err
	}
	if err := checkFacts(p.Facts); err != nil {
		return err
	}
	for key := range p.Info {
		if reserved[key] || key == "" {
			return fmt.Errorf("info key %q is reserved", key)
		}
	}
	if err := p.checkPolicy("a state without a policy", p.Rest, p.Dim); err != nil {
		return err
	}
	if err := checkStates(p.executed(), p.Stages, p.Actions); err != nil {
		return err
	}
	for _, s := range p.States {
		if s.Encoding.Dim != p.Dim {
			return fmt.Errorf("state %v has %d features, the policy %d", s.Executed, s.Encoding.Dim, p.Dim)
		}
		if err := s.Encoding.check(s.Executed, p.Facts); err != nil {
			return fmt.Errorf("state %v: %w", s.Executed, err)
		}
		if err := p.checkReferences(s); err != nil {
			return err
		}
	}
	return nil
}

func (p *Policy) checkReferences(s State) error {
	all, pairs := s.references(), p.Actions.Len()
	if len(all) == 0 || s.At != nil && (s.Policy != nil || p.Prices == nil) {
		return fmt.Errorf("state %v has no policy, or one and references, or references without price inputs", s.Executed)
	}
	for _, r := range all {
		if err := p.checkPolicy(fmt.Sprintf("state %v", s.Executed), r.Policy, s.Encoding.Width()); err != nil {
			return err
		}
		if s.At == nil {
			continue
		}
		if err := r.check(pairs); err != nil {
			return fmt.Errorf("state %v: %w", s.Executed, err)
		}
	}
	return nil
}

// check reports fees and later executions that do not fit the pairs.
func (r Reference) check(pairs int) error {
	switch {
	case len(r.Fees) != pairs || slices.ContainsFunc(r.Fees, func(fee float64) bool { return fee-fee != 0 }):
		return fmt.Errorf("the fees of a reference are %v", r.Fees)
	case len(r.Later) != pairs*pairs || slices.ContainsFunc(r.Later, func(share float64) bool { return !(share >= 0 && share <= 1) }):
		return fmt.Errorf("later executions at a reference are %v", r.Later)
	}
	return nil
}

func (p *Policy) checkPolicy(of string, own *policy.Policy, dim int) error {
	if err := own.Validate(); err != nil {
		return fmt.Errorf("%s: %w", of, err)
	}
	if own.Actions.Len() != p.Actions.Len() || own.FeatureDim() != dim {
		return fmt.Errorf("%s: its policy has %d pairs and %d inputs, not %d and %d", of, own.Actions.Len(), own.FeatureDim(), p.Actions.Len(), dim)
	}
	return nil
}

// executed are the executed pairs of every state.
func (p *Policy) executed() [][]int {
	out := make([][]int, len(p.States))
	for i, s := range p.States {
		if out[i] = s.Executed; s.Executed == nil {
			out[i] = []int{}
		}
	}
	return out
}

// State is the position among States of the one with these pairs, ascending; -1 if there is none.
func (p *Policy) State(executed []int) int {
	return slices.IndexFunc(p.States, func(s State) bool { return slices.Equal(s.Executed, executed) })
}
