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
	// those of the file's inputs, and it estimates all that an action costs but its own fee.
	Policy *policy.Policy
	// Later is for a state of an any-price cascade after which pairs are executed by decisions that depend on prices, A x A: on which share
	// of the rows a pair, the column, is executed later at the fees of Policy, if the state executes another one, the row. nil: later
	// decisions do not depend on prices. If they stay those at these fees, what an action costs is linear in prices: its cost at these fees,
	// and for every pair that is executed later the difference of its fee. As later states decide better by the prices, the true cost is
	// at most that.
	Later []float64
}

// ends reports whether nothing more may be executed: an answer is accepted.
func (s State) ends() bool {
	for i, may := range s.Policy.Actions.Mask() {
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
		if err := p.checkPolicy(fmt.Sprintf("state %v", s.Executed), s.Policy, s.Encoding.Width()); err != nil {
			return err
		}
		if err := p.checkLater(s.Later); err != nil {
			return fmt.Errorf("state %v: %w", s.Executed, err)
		}
	}
	return nil
}

// checkLater reports later executions that do not fit the pairs.
func (p *Policy) checkLater(later []float64) error {
	pairs := p.Actions.Len()
	if later != nil && (p.Prices == nil || len(later) != pairs*pairs || slices.ContainsFunc(later, func(share float64) bool { return !(share >= 0 && share <= 1) })) {
		return fmt.Errorf("later executions are %v, of %d pairs", later, pairs)
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
