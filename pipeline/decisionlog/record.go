package decisionlog

import (
	"math"
	"slices"

	"pipe/costs"
)

// Record is one decision. A is the number of pairs, J(K+1), in the order of costs.Actions.
//
// Lines are made by the tags, in the order of the fields; see fieldsOf. Each field has a column in decisionRow, too.
type Record struct {
	ID      string `log:"id"`          // of the decision, unique; see [NewID]
	Time    int64  `log:"time"`        // microseconds since 1970, UTC, of the decision
	Request string `log:"request"`     // id of the request: its x-request-id, or a generated one
	Source  string `log:"source,same"` // which interface decided: decide, infer or chat; or SourceFixed or SourcePanel
	Client  string `log:"client,same"` // name of the caller's key
	User    string `log:"user,same"`   // hash of the request's user
	Policy  string `log:"policy,same"` // name
	Digest  string `log:"digest,same"` // of the policy's file; [Writer.Policy] must have got its names and fees
	Canary  bool   `log:"canary,same"` // the policy is a canary
	// Share is the share of such requests that the canary gets: 0 where there is none, or it could not decide on this one; -1 if
	// it is not known, as in logs of earlier versions.
	Share float64 `log:"share,same,later"`

	Lambda     float64   `log:"lambda,same"`          // multiplier of the advice fees in the decision
	ExpertFees []float64 `log:"expert_fees,same"`     // J, in the decision
	AdviceFees []float64 `log:"advice_fees,same"`     // K+1, in the decision, before lambda
	PairFees   []float64 `log:"pair_fees,same,later"` // A, in the decision, added to both; nil where all are 0
	// UsagePrices are J of every costs.Quantity: of a million tokens, of a call, of a second, in the unit of the loss. They are part
	// of ExpectedCost. nil where all are 0.
	UsagePrices []float64 `log:"usage_prices,same,later"`
	Available   []bool    `log:"available,same"` // A; at least the chosen pair is true
	// Masked names the experts that are not available because they cannot take the request, each with a word for what it lacks. "": none.
	Masked string `log:"masked,same,later"`

	// Budgets are the names of the budgets that held for the request, separated by spaces, BudgetPrices what a unit of each cost
	// beside its own price, in money, nil where all are 0, and BudgetDecided says that another pair would have been chosen
	// without them.
	Budgets       string    `log:"budgets,same,later"`
	BudgetPrices  []float64 `log:"budget_prices,later"`
	BudgetDecided bool      `log:"budget_decided,same,later"`

	Action int `log:"action"` // the pair that was chosen
	Greedy int `log:"greedy"` // the pair that the policy alone would choose
	// OwnPropensity is A: that of the policy alone. nil: Propensity is that of the policy alone, because there is no canary, or
	// because the other policy's choice is not known.
	OwnPropensity []float64 `log:"own_propensity,same,later"`
	// Propensity is A: probability of every pair, of policy and canary together; they sum to 1 and are 0 where the pair is not
	// available.
	Propensity   []float64 `log:"propensity,same"`
	ExpectedLoss []float32 `log:"expected_loss"` // A, or nil where the policy states none
	ExpectedCost []float32 `log:"expected_cost"` // A, or nil where the policy states none
	Guarded      bool      `log:"guarded"`       // the best fixed pair decided, because the guard exported it
	Keep         float64   `log:"keep"`          // probability with which the record was kept; set by the writer, 1 without sampling. Of a panel: see SourcePanel

	// Accepted says that the guarantee of the policy is about what was executed, if AcceptedKnown: the policy has one, and the decision is
	// final. If it is false, Instead is what takes over, as the guarantee names it, and InsteadFee what that costs, in the unit of the loss, if
	// it is stated.
	Accepted        bool `log:"accepted,same,later"`
	AcceptedKnown   bool
	Instead         string  `log:"instead,same,later"`
	InsteadFee      float64 `log:"instead_fee,same,later"`
	InsteadFeeKnown bool

	Executed int       `log:"executed"` // the pair that answered after fallbacks; -1: none, or not known
	Attempts []Attempt `log:"attempts"` // calls of experts; nil where the service called none
	Stages   Stages    `log:"stages_us"`
	Usage    Usage     `log:"usage,same"`
	// TokenParts are the tokens of Usage of special kinds: of the prompt those written to a cache for its usual time, those written
	// to it for an hour, those of images and of sound, then of the answer those of reasoning and of sound. nil where all are 0.
	TokenParts []float64 `log:"token_parts,same,later"`
	Model      string    `log:"model,same"` // that was served
	Fee        float64   `log:"fee,same"`   // measured money, if FeeKnown
	FeeKnown   bool
	// PriceDate is the date of the prices that made Fee of tokens.
	PriceDate string   `log:"price_date,same"`
	Shadows   []Shadow `log:"shadows,same"` // what other policies would have chosen
	Error     string   `log:"error,same"`   // "" if the decision was served

	// Session is the keyed digest of the conversation that the decision belongs to, and Turn its number in it, from 1; "" and 0
	// without sessions. SwitchCost is the money by which the best pair of another expert would have cost more than staying, beside
	// the fees, if SwitchCostKnown; it is negative where leaving is cheaper. Kept says why the expert stayed: price (without the price of
	// a switch another expert would have been chosen), tool_loop, or "".
	Session         string  `log:"session,same,later"`
	Turn            int     `log:"turn,later"`
	SwitchCost      float64 `log:"switch_cost,later"`
	SwitchCostKnown bool
	Kept            string `log:"kept,same,later"`

	// Cascade are the answers that were read for the decision of a cascade, in order, with the one in Executed among them. Where the
	// caller executes the pairs, it is the first pair alone, of which nothing is known. nil: the decision is no cascade's, or one pair
	// alone was to answer it. The other fields about an answer are of Executed alone.
	Cascade []CascadeStage `log:"stages,later"`
	// StagePairFees and StageAvailable are PairFees and Available of all decisions of a cascade, A for each: of the ones that chose the
	// pairs in Cascade, in order, and then of the one that accepted an answer, if one did. Answers at hand are available. nil: as in
	// the first decision.
	StagePairFees  []float64 `log:"stage_pair_fees,later,zeros"`
	StageAvailable []bool    `log:"stage_available,later"`

	FeaturesDigest string    `log:"features_digest"` // of the features; the writer computes it if it keeps the digest only
	Features       []float32 `log:"features,base64"` // Dim, finite; nil if not at hand
}

// CascadeStage is an answer that was read for a decision of a cascade. What is not known is NaN.
type CascadeStage struct {
	Action int `log:"action" parquet:"stage_action"` // the pair
	// Propensity is the probability with which the pair was asked, given the stages before; NaN where a pair of an earlier stage
	// failed, or a canary could have decided otherwise.
	Propensity float64 `log:"propensity" parquet:"stage_propensity"`
	Fee        float64 `log:"fee" parquet:"stage_fee"`              // measured money
	In         float64 `log:"in" parquet:"stage_tokens_in"`         // tokens of the prompt
	Cached     float64 `log:"cached" parquet:"stage_tokens_cached"` // of these, read from a cache
	Out        float64 `log:"out" parquet:"stage_tokens_out"`       // tokens of the answer
	Micros     int64   `log:"us" parquet:"stage_us"`                // from the call to its answer
	Facts      string  `log:"facts" parquet:"stage_facts"`          // what the policy saw of the answer, a JSON object; "" for an answer that nothing was decided on
}

// IsCascade reports whether answers were read before the decision was final. The probability of the chosen pair is then not that
// of the pair that answered.
func (r *Record) IsCascade() bool { return r.Cascade != nil }

// PathPropensity is the probability of the pairs in Cascade, in their order; NaN if it is not known. Of another
// decision it is the probability of the chosen pair.
func (r *Record) PathPropensity() float64 {
	if !r.IsCascade() {
		return r.Propensity[r.Action]
	}
	p := 1.0
	for i := range r.Cascade {
		p *= r.Cascade[i].Propensity
	}
	return p
}

// StagePrice is what the pair of a stage cost at the prices of the decision that chose it, in units of the loss.
func (r *Record) StagePrice(stage int) float64 {
	pair, levels := r.Cascade[stage].Action, len(r.AdviceFees)
	fee := r.ExpertFees[pair/levels] + r.Lambda*r.AdviceFees[pair%levels]
	own := r.PairFees
	if a := len(r.Available); r.StagePairFees != nil {
		own = r.StagePairFees[stage*a : (stage+1)*a]
	}
	if own != nil {
		fee += own[pair]
	}
	return fee
}

// Paid is the measured money of all answers of the decision; NaN where a fee is not known.
func (r *Record) Paid() float64 {
	switch {
	case r.IsCascade():
		sum := 0.0
		for i := range r.Cascade {
			sum += r.Cascade[i].Fee
		}
		return sum
	case r.FeeKnown:
		return r.Fee
	}
	return math.NaN()
}

// SourceFixed is the Source of a conversation on which no policy decided, because it has nothing that the policy could see: one
// pair answers all of them. Nothing about the policy can be learned from such a record.
const SourceFixed = "chat-fixed"

// IsFixed reports whether no policy made the decision; see [SourceFixed].
func (r *Record) IsFixed() bool { return r.Source == SourceFixed }

// SourcePanel is the Source of an answer of a panel: a random share of the requests is answered by several pairs in the
// background, after the caller's answer, with a record for each pair. Its Keep is the probability with which this pair
// answered this request. No user saw the answer. It is no decision of the policy that the record names.
const SourcePanel = "panel"

// IsPanel reports whether the record is of a panel; see [SourcePanel].
func (r *Record) IsPanel() bool { return r.Source == SourcePanel }

// ShareUnknown is the Share of a record of an earlier version.
const ShareUnknown = -1

// Own returns the propensities of the policy alone: the probability of each pair among the records that it decided.
func (r *Record) Own() []float64 {
	if r.OwnPropensity != nil {
		return r.OwnPropensity
	}
	return r.Propensity
}

// hasPairFees reports whether some pair has a fee of its own.
func (r *Record) hasPairFees() bool {
	return slices.ContainsFunc(r.PairFees, func(fee float64) bool { return fee != 0 })
}

// FlatPrices are prices of usage by quantity and expert as [Record.UsagePrices]; nil where all are 0.
func FlatPrices(prices [costs.Quantities][]float64, experts int) []float64 {
	var flat []float64
	for q, of := range prices {
		for j, price := range of {
			if price == 0 {
				continue
			}
			if flat == nil {
				flat = make([]float64, len(prices)*experts)
			}
			flat[q*experts+j] = price
		}
	}
	return flat
}

// Attempt is one call of an expert.
type Attempt struct {
	Action int    `log:"action" parquet:"attempt_action"` // the pair
	Status int    `log:"status" parquet:"attempt_status"` // HTTP status, 0 without an answer
	Micros int64  `log:"us" parquet:"attempt_us"`         // duration in microseconds
	Error  string `log:"error" parquet:"attempt_error"`
}

// HedgePrefix begins the Error of an attempt that did not fail: it was cancelled, because another pair that was asked at the
// same time answered first.
const HedgePrefix = "hedge: "

// Stages are durations in microseconds, 0 for a stage that did not run.
type Stages struct {
	Decode    int64 `log:"decode" parquet:"decode_us,plain"`
	Encode    int64 `log:"encode" parquet:"encode_us,plain"`
	Decide    int64 `log:"decide" parquet:"decide_us,plain"`
	Advise    int64 `log:"advise" parquet:"advise_us,plain"`
	Expert    int64 `log:"expert" parquet:"expert_us,plain"`
	FirstByte int64 `log:"first_byte" parquet:"first_byte_us,plain"`
}

// Usage are the tokens that a service returned, if Known.
type Usage struct {
	In     int64 `log:"in" parquet:"tokens_in"`
	Cached int64 `log:"cached" parquet:"tokens_cached"`
	Out    int64 `log:"out" parquet:"tokens_out"`
	Known  bool

	CachedKnown bool // the service states how many of the prompt's tokens were cached
}

// Shadow is the choice of a policy that runs along for comparison and does not decide.
type Shadow struct {
	Policy       string  `log:"policy" parquet:"shadow_policy"`
	Digest       string  `log:"digest" parquet:"shadow_digest"`
	Action       int     `log:"action" parquet:"shadow_action"`
	ExpectedCost float64 `log:"expected_cost" parquet:"shadow_cost"` // NaN where the policy states none
}

// Outcome is what became known of a decision later. At least one of Loss, Score, Correct, Label and Comment is set.
type Outcome struct {
	ID      string   `json:"id" parquet:"id,plain"`                                // of the decision
	Time    int64    `json:"time" parquet:"time,timestamp(microsecond:utc),plain"` // microseconds since 1970, UTC, when it arrived
	Loss    *float64 `json:"loss" parquet:"loss,optional,plain"`                   // in the unit of the task loss
	Score   *float64 `json:"score" parquet:"score,optional,plain"`                 // higher is better; its loss is 1 - Score
	Correct *bool    `json:"correct" parquet:"correct,optional"`
	Label   string   `json:"label" parquet:"label,dict"`
	Comment string   `json:"comment" parquet:"comment,plain"`
	Client  string   `json:"client" parquet:"client,dict"` // name of the caller's key
	// Replace says that the outcome takes the place of an earlier one of the decision.
	Replace bool `json:"replace,omitempty" parquet:"replace" log:"replace,later"`
}

// LossOf is the task loss that the outcome states: Loss, or 0 and 1 for correct and wrong, or 1 - Score. ok is false if
// it states none of these.
func (o *Outcome) LossOf() (loss float64, ok bool) {
	switch {
	case o == nil:
		return 0, false
	case o.Loss != nil:
		return *o.Loss, true
	case o.Correct != nil && *o.Correct:
		return 0, true
	case o.Correct != nil:
		return 1, true
	case o.Score != nil:
		return 1 - *o.Score, true
	}
	return 0, false
}
