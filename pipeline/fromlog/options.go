package fromlog

import (
	"strings"
	"time"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// Options are the options of one import. At least one of Out, Partial, DSJSON and OBP names a file.
type Options struct {
	Log     storage.Location // folder of the log
	Policy  string           // only decisions of the policy of this name, or NAME@DIGEST with the beginning of its digest; "": all
	Out     storage.Location // cost tensor of the instances on which every pair was recorded
	Partial storage.Location // cost tensor of the other instances, with unknown outcomes
	Since   time.Time        // only decisions from this time on; zero: from the first
	Until   time.Time        // only decisions before this time; zero: to the last
	Same    string           // which decisions are of one instance: SameRequest or SameFeatures
	DSJSON  storage.Location // decisions with outcomes as Vowpal Wabbit reads them, a JSON object per line
	OBP     storage.Location // the same as Open Bandit Pipeline takes it: .npz or .json

	Money  string // what a loss of 1 is worth, as costs.ParseMoney reads it; "": what the policy's tensor says
	NoFees bool   // no measured fees, although the policy learned from such

	// Fallbacks keeps decisions in DSJSON and OBP that another pair answered than the chosen one. Their cost is that of choosing the
	// pair, fallback included. Without it they are left out.
	Fallbacks bool

	// Pairs takes only decisions of policies with the same pairs, of which are the prices too; nil: any. Of [Visit] alone.
	Pairs *costs.Actions

	// Anew makes the features anew from texts; nil: those of the log count.
	Anew *Anew

	missing func(d decisionlog.Decision) // takes decisions without an outcome; nil: none does

	Validation, Test float64 // shares of the instances of tensors that are held out, by a hash
	Seed             uint64  // of the hash
}

// What Options.Same may be. Decisions of one instance always have the same features.
const (
	SameRequest  = "request"  // and the same request id
	SameFeatures = "features" // the requests may differ
	sameDecision = "decision" // none: every decision is an instance
)

// DefaultOptions hold out what pipe import holds out.
func DefaultOptions() Options { return Options{Same: SameRequest, Validation: 0.25, Test: 0.25} }

// wants reports whether a decision is of the policy of the options.
func (o Options) wants(d decisionlog.Decision) bool {
	name, digest, versioned := strings.Cut(o.Policy, "@")
	switch {
	case o.Policy == "":
		return true
	case d.Policy != name:
		return false
	}
	return !versioned || strings.HasPrefix(d.Digest, digest) || strings.HasPrefix(strings.TrimPrefix(d.Digest, "sha256:"), digest)
}

// during reports whether a decision is of the time of the options.
func (o Options) during(d decisionlog.Decision) bool {
	at := time.UnixMicro(d.Time)
	return !at.Before(o.Since) && (o.Until.IsZero() || at.Before(o.Until))
}

// Result is the result of Import.
type Result struct {
	Format       int                    `json:"format"`
	Log          string                 `json:"log"`
	Read         decisionlog.ReadCounts `json:"read"`
	Policies     []string               `json:"policies"`                 // name@digest of those whose decisions were taken
	Other        int                    `json:"other_policies"`           // decisions of other policies
	Outside      int                    `json:"outside_time"`             // decisions before Since, or not before Until
	Fixed        int                    `json:"without_policy,omitempty"` // conversations that no policy decided on, see [decisionlog.SourceFixed]
	Cascades     int                    `json:"cascades,omitempty"`       // decisions that looked at answers, see [decisionlog.Record.IsCascade]
	Panel        int                    `json:"panel,omitempty"`          // answers of panels with a known loss: in tensors, and not in DSJSON and OBP, see [decisionlog.SourcePanel]
	NoOutcome    int                    `json:"without_outcome"`          // decisions whose loss is not known
	Unanswered   int                    `json:"unanswered"`               // decisions that failed, so that no pair answered
	WithoutText  int                    `json:"without_text,omitempty"`   // decisions whose text was not kept, where features are made anew
	DamagedTexts int                    `json:"damaged_texts,omitempty"`  // lines of the log of texts that could not be read
	Instances    int                    `json:"instances"`                // with at least one outcome
	Complete     int                    `json:"complete"`                 // of these, with the outcome of every pair
	Averaged     int                    `json:"averaged"`                 // outcomes that repeat a pair of an instance: the mean counts
	Tensor       string                 `json:"tensor,omitempty"`         // its digest
	Partial      string                 `json:"partial,omitempty"`        // digest of the partial tensor
	Propensity   *Propensities          `json:"propensity,omitempty"`     // of the partial tensor
	NotWritten   []Empty                `json:"not_written,omitempty"`    // tensors that would have no rows
	Fallbacks    int                    `json:"fallbacks,omitempty"`      // decisions that another pair answered: not in DSJSON and OBP unless the options keep them
	Unmixed      int                    `json:"not_mixtures,omitempty"`   // decisions with the propensities of one policy alone, although a canary got a share of the requests
	Exported     int                    `json:"exported,omitempty"`       // decisions in DSJSON and OBP

	// Of DSJSON and OBP. Decisions are left out whose cost at the prices is not known.
	Prices      *PriceList `json:"prices,omitempty"`             // of all costs
	Repriced    int        `json:"repriced,omitempty"`           // decisions that were made at other prices; their costs are at these
	OtherPairs  int        `json:"other_pairs,omitempty"`        // left out: decisions of policies with other pairs
	ExportNoFee int        `json:"export_without_fee,omitempty"` // left out: decisions whose measured fee is not known
	LogMoney    int        `json:"money_of_the_log,omitempty"`   // measured fees that are the money in the log, not that of tokens at the prices

	Measured bool         `json:"measured_fees"`         // the tensors have measured fees
	Money    *costs.Money `json:"money,omitempty"`       // what a loss of 1 is worth; nil: not known
	NoFee    int          `json:"without_fee,omitempty"` // outcomes that are unknown in the tensors, because their fees are
}

// Empty is a tensor that was asked for and not written.
type Empty struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// PriceList says at which prices all costs of an export are.
type PriceList struct {
	Policy   string  `json:"policy"`        // name@digest of the policy whose prices they are
	Lambda   float64 `json:"lambda"`        // multiplier of its advice fees
	Measured bool    `json:"measured_fees"` // costs include measured fees
	// Without says that costs lack measured fees that the policy's expected costs have, as the options ask.
	Without bool `json:"without_fees,omitempty"`
}

// Propensities counts the instances of the partial tensor by what is known of the probabilities with which pairs were executed.
type Propensities struct {
	Known     int `json:"known"`                  // those of the instance's only decision
	Joined    int `json:"joined,omitempty"`       // none: several decisions
	Fallbacks int `json:"fallbacks,omitempty"`    // none: another pair answered than the drawn one
	Unmixed   int `json:"not_mixtures,omitempty"` // none: the record has those of one policy alone, although a canary got a share of the requests
}
