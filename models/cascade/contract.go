package cascade

import "pipe/models/policy"

// Kind is the kind of a cascade file in its metadata.
const Kind = "cascade"

// Names of a cascade file's inputs and outputs, for A pairs and F facts.
const (
	FeaturesInput = "features" // float32, batch x dim, not standardised
	ObservedInput = "observed" // float32, batch x A*F: fact f of pair i at i*F+f, NaN where it is not known; pairs that were not executed are not looked at
	ExecutedInput = "executed" // bool, batch x A
	// An any-price file has the price inputs of an any-price policy too, see package policy.

	ActionOutput    = "action"         // int64, batch: a pair that was executed to accept its answer, another one to execute it; A where no decision is possible
	AcceptOutput    = "accept"         // bool, batch: whether the action is to accept
	LossOutput      = "expected_loss"  // float32, batch: of the best answer at hand if it is accepted; NaN in the empty state
	RemainingOutput = "remaining_cost" // float32, batch: expected cost that is still to come with the action: fees not yet paid, and the loss
	CostOutput      = "expected_cost"  // float32, batch x A: that of every action; 1e30 where there is no such action

	// AcceptedOutput is bool, batch: whether the action is to accept, and the guarantee of the file accepts it. Other files do not have it.
	AcceptedOutput = policy.AcceptedOutput
)
