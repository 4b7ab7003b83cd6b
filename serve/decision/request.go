package decision

import (
	"errors"
	"fmt"
	"time"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/serve/policies"
)

// The interfaces by which requests arrive, as records name them.
const (
	SourceDecide = "decide"
	SourceInfer  = "infer"
	SourceChat   = "chat"
)

// Request asks for decisions on the rows of one request.
type Request struct {
	Policy string             // a name, or name@digest; empty: the default one
	Inputs policies.Inputs    // the slices must not change until [Result.Done] has returned, nor after it
	Prices policy.PriceChange // changes to the prices of the file, and pairs that must not be chosen
	Source string             // SourceDecide, SourceInfer or SourceChat; records have decisionlog.SourceFixed if FixedPair was used
	ID     string             // of the request, such as its x-request-id; empty: one is generated
	Client string             // name of the caller's key
	User   string             // as in the request; records have a hash of it
	Decode time.Duration      // how long the request took to read
	// NoExplore turns exploration off for the request.
	NoExplore bool
	// Conversation replaces Inputs if it is not nil: the input is its text or its image, depending on the encoder of the
	// policy.
	Conversation Messages
	// FixedPair is the pair that is taken without the policy where Conversation has nothing that it could see: [BestFixed], or a
	// name, expert/advice. Empty: such a conversation is a *[PromptError].
	FixedPair string
	// Surcharge returns what the pairs of a policy cost for this request beside their fees, such as the price of a switch; see
	// [policy.PriceChange]. It is asked for each policy that could decide, by which it can tell the pairs. nil, and a result
	// of nil: nothing.
	Surcharge func(*policies.Policy) ([]float64, error)
	// Without returns what a policy must not choose for this request beside Prices.Without, such as people where nobody waits for
	// them. It is asked for each policy that could decide. nil: nothing.
	Without func(*policies.Policy) []policy.Part

	// Tags say what a person must know to answer the request. Experts that are no people do not look at them.
	Tags []string

	people       func(*costs.Actions) ([]float64, []policy.Part) // nil: no expert is people
	pricing      *policies.Pricing                               // the state of the price file, for the whole request
	executed     []bool                                          // pairs whose answers are at hand; nil: none
	tensorPrices bool                                            // prices were tensors, which Prices does not have
}

// BestFixed selects the pair that is best for all rows together: that of the training or, after a hundred rows with expected
// losses, that of the traffic.
const BestFixed = "best_fixed"

// NoPairError means that a conversation has no input for the policy, and that [Request.FixedPair] cannot replace it.
type NoPairError struct {
	Policy string
	Pair   string // named by the request, but not a pair of the policy; "": the best fixed pair is not known
	Known  string // a pair of the policy, as an example
	Prompt *PromptError
}

func (e *NoPairError) Error() string {
	if e.Pair == "" {
		return fmt.Sprintf("%v, and policy %q names no best fixed pair", e.Prompt, e.Policy)
	}
	return fmt.Sprintf("%v, and policy %q has no pair %q", e.Prompt, e.Policy, e.Pair)
}

// InputError means that the inputs of a request are not what the policy takes.
type InputError struct {
	Param  string // of the request, such as "features"; empty: not known
	Reason string
}

func (e *InputError) Error() string { return e.Reason }

// PriceError means that the prices of a request, or the pairs that it leaves out, do not fit the policy.
type PriceError struct {
	Policy string
	Err    error
}

func (e *PriceError) Error() string {
	if errors.Is(e.Err, policy.ErrFixedPrices) {
		return fmt.Sprintf("policy %q has fixed prices: lambda and fees cannot be changed, only pairs left out", e.Policy)
	}
	return fmt.Sprintf("policy %q: %v", e.Policy, e.Err)
}

// Unwrap returns the underlying error.
func (e *PriceError) Unwrap() error { return e.Err }

// Hint says how to get a policy that takes prices.
func (e *PriceError) Hint() string {
	if errors.Is(e.Err, policy.ErrFixedPrices) {
		return "train it with prices as inputs (any-price), or ask without lambda and fees"
	}
	return ""
}
