package policy

// Names of a policy file's input and outputs.
const (
	FeaturesInput = "features" // float32, batch x dim, not standardised
	ActionOutput  = "action"   // int64, batch
	ExpertOutput  = "expert"   // int64, batch: action / (K+1)
	AdviceOutput  = "advice"   // int64, batch: action mod (K+1)
	ScoresOutput  = "scores"   // float32, batch x J(K+1), higher is better

	// Outputs of a policy by estimates.
	LossOutput = "expected_loss" // float32, batch x J(K+1): estimated task loss with measured fees, calibrated
	CostOutput = "expected_cost" // float32, batch x J(K+1): the same plus the fees

	// AcceptedOutput is of a policy with a guarantee, bool, batch: whether the decision counts among those that it is about.
	AcceptedOutput = "accepted"

	// Inputs of an any-price policy besides the features. Each has one row for the whole batch, or as many as the batch.
	ExpertFeesInput = "expert_fees" // float32, batch or 1 x J
	AdviceFeesInput = "advice_fees" // float32, batch or 1 x K+1, already multiplied by lambda; the first is 0
	PairFeesInput   = "pair_fees"   // float32, batch or 1 x J(K+1), added to the two above
	AvailableInput  = "available"   // bool, batch or 1 x J(K+1): pairs that may be chosen
)
