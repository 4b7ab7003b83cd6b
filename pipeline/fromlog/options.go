package fromlog

import (
	"fmt"
	"time"

	"pipe/costs"
	"pipe/pipeline/decisionlog"
)

// Options are the options of one import. At least one of Out, Partial, DSJSON and OBP names a file.
type Options struct {
	Log     string    // folder of the log
	Policy  string    // only decisions of the policy of this name, or NAME@DIGEST with the beginning of its digest; "": all
	Out     string    // cost tensor of the instances on which every pair was recorded
	Partial string    // cost tensor of the other instances, with unknown outcomes
	Since   time.Time // only decisions from this time on; zero: from the first
	Until   time.Time // only decisions before this time; zero: to the last
	Same    string    // which decisions are of one instance: SameRequest or SameFeatures
	DSJSON  string    // decisions with outcomes as Vowpal Wabbit reads them, a JSON object per line
	OBP     string    // the same as Open Bandit Pipeline takes it: .npz or .json

	Money  string // what a loss of 1 is worth, as costs.ParseMoney reads it; "": what the policy's tensor says
	NoFees bool   // tensors have no measured fees, although the policy learned from such

	// Fallbacks keeps decisions in DSJSON and OBP that another pair answered than the chosen one. Their cost is that of choosing the
	// pair, fallback included. Without it they are left out.
	Fallbacks bool

	Validation, Test float64 // shares of the instances of tensors that are held out, by a hash
	Seed             uint64  // of the hash
}

// What Options.Same may be. Decisions of one instance always have the same features.
const (
	SameRequest  = "request"  // and the same request id
	SameFeatures = "features" // whatever the request
)

// DefaultOptions hold out what pipe import holds out.
func DefaultOptions() Options { return Options{Same: SameRequest, Validation: 0.25, Test: 0.25} }

// Result is the result of Import.
type Result struct {
	Format     int                    `json:"format"`
	Log        string                 `json:"log"`
	Read       decisionlog.ReadCounts `json:"read"`
	Policies   []string               `json:"policies"`                 // name@digest of those whose decisions were taken
	Other      int                    `json:"other_policies"`           // decisions of other policies
	Outside    int                    `json:"outside_time"`             // decisions before Since, or not before Until
	Fixed      int                    `json:"without_policy,omitempty"` // conversations that no policy decided on, see [decisionlog.SourceFixed]
	NoOutcome  int                    `json:"without_outcome"`          // decisions whose loss is not known
	Unanswered int                    `json:"unanswered"`               // decisions that failed, so that no pair answered
	Instances  int                    `json:"instances"`                // with at least one outcome
	Complete   int                    `json:"complete"`                 // of these, with the outcome of every pair
	Averaged   int                    `json:"averaged"`                 // outcomes that repeat a pair of an instance: the mean counts
	Tensor     string                 `json:"tensor,omitempty"`         // its digest
	Partial    string                 `json:"partial,omitempty"`        // digest of the partial tensor
	NotWritten []Empty                `json:"not_written,omitempty"`    // tensors that would have no rows
	Fallbacks  int                    `json:"fallbacks,omitempty"`      // decisions that another pair answered: not in DSJSON and OBP unless the options keep them
	Unmixed    int                    `json:"not_mixtures,omitempty"`   // decisions with the propensities of one policy alone, although a canary got a share of the requests
	Exported   int                    `json:"exported,omitempty"`       // decisions in DSJSON and OBP

	Measured bool         `json:"measured_fees"`         // the tensors have measured fees
	Money    *costs.Money `json:"money,omitempty"`       // what a loss of 1 is worth; nil: not known
	NoFee    int          `json:"without_fee,omitempty"` // outcomes that are unknown in the tensors, because their fees are
}

// Empty is a tensor that was asked for and not written.
type Empty struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

func noOutcomes(r *Result) error {
	if r.Fallbacks > 0 {
		return &costs.DataError{File: r.Log, Column: "executed", Msg: fmt.Sprintf("differs from the chosen pair in all %d decisions with a known loss; --fallbacks keeps them", r.Fallbacks)}
	}
	return r.noLoss()
}

// noLoss is the error where no decision of a policy has a known loss.
func (r *Result) noLoss() error {
	msg := fmt.Sprintf("is known of none of the %d decisions; send outcomes first", r.NoOutcome+r.Unanswered)
	if r.Fixed > 0 {
		msg += fmt.Sprintf(" (%d more are conversations that no policy decided on)", r.Fixed)
	}
	return &costs.DataError{File: r.Log, Column: "loss", Msg: msg}
}
