package decisionlog

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Summary describes a log.
type Summary struct {
	Read     ReadCounts       `json:"read"`
	First    string           `json:"first"` // time of the earliest record, in RFC 3339; "" without records
	Last     string           `json:"last"`
	Policies []*PolicySummary `json:"policies"` // by name and digest
}

// PolicySummary describes the decisions of one version of a policy. Means count a record 1/Keep times.
type PolicySummary struct {
	Name      string  `json:"name"`
	Digest    string  `json:"digest"`
	Records   int     `json:"records"`
	Fixed     int     `json:"without_policy,omitempty"` // further records, of [SourceFixed], which nothing else here counts
	Cascades  int     `json:"cascades,omitempty"`       // of Records, those of cascades; figures of losses and costs leave them out
	Asked     int     `json:"asked,omitempty"`          // pairs that were asked for these, as far as the log knows
	Panel     int     `json:"panel,omitempty"`          // further records, of [SourcePanel], which nothing else here counts
	Canary    int     `json:"canary"`                   // records of these that a canary decided
	Keep      float64 `json:"keep"`                     // the lowest probability with which a record was kept
	Explored  int     `json:"explored"`
	Explores  bool    `json:"explores"`  // a pair other than the policy's choice had a probability above 0
	Least     float64 `json:"least"`     // the lowest probability of a pair that was available, over all records
	Guarded   int     `json:"guarded"`   // the best fixed pair decided
	PairFees  int     `json:"pair_fees"` // records with fees of pairs, besides those of experts and advice
	Errors    int     `json:"errors"`    // records with an error
	Fallbacks int     `json:"fallbacks"` // another pair answered than the chosen one
	Outcomes  int     `json:"outcomes"`  // records with an outcome
	Losses    int     `json:"losses"`    // of these, with a loss
	// MeasuredFees says that expected costs include measured fees, which outcomes do not have: measured costs and savings are
	// not known then. It is false where fees of usage are apart: costs have what the policy expects of these.
	MeasuredFees bool            `json:"measured_fees,omitempty"`
	Expected     WeightedMean    `json:"expected_cost"`                        // of the chosen pair, at the prices of the decision
	Measured     WeightedMean    `json:"measured_cost"`                        // of the records whose loss is known
	Believed     WeightedMean    `json:"believed_cost"`                        // expected cost of those records
	BestFixed    string          `json:"best_fixed"`                           // the pair with the lowest expected cost, where available; "" if the policy states none
	Saving       WeightedMean    `json:"saving"`                               // expected cost of that pair, less that of the chosen one
	Proven       WeightedMean    `json:"proven_saving"`                        // the same from measured costs, by inverse propensity weights, without fallbacks; needs exploration
	SavingLacks  int             `json:"saving_without_pair,omitempty"`        // decisions that Saving leaves out, because that pair was not available
	ProvenLacks  int             `json:"proven_saving_without_pair,omitempty"` // outcomes that Proven leaves out for that
	Money        WeightedMean    `json:"money"`                                // measured fee of a record, of all answers of a cascade, where it is known
	Pairs        []PairSummary   `json:"pairs"`                                // in the order of the actions
	Shadows      []ShadowSummary `json:"shadows"`                              // by name and digest
}

// LeastEffective is the number of effective rows from which an interval is stated. With fewer, the normal approximation is
// poor. The effective number of weighted rows is the number of rows of equal weight that would give a mean of the same
// certainty.
const LeastEffective = 100

// WeightedMean is a mean over some rows, each divided by the probability with which it was kept, with the normal interval of
// 95%. Low and High are nil below [LeastEffective] rows.
type WeightedMean struct {
	Rows int      `json:"rows"`
	Mean float64  `json:"mean"` // 0 without rows
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
}

// PairSummary describes the decisions for one pair.
type PairSummary struct {
	Pair        string       `json:"pair"`
	Chosen      int          `json:"chosen"`
	Share       float64      `json:"share"`       // of the records
	Probability float64      `json:"probability"` // mean probability that it is chosen
	Available   int          `json:"available"`   // records on which it could be chosen
	Loss        WeightedMean `json:"loss"`        // measured, where the pair answered
}

// ShadowSummary describes what a shadow policy would have done.
type ShadowSummary struct {
	Policy string `json:"policy"`
	Digest string `json:"digest"`
	Rows   int    `json:"rows"`
	Agrees int    `json:"agrees"` // rows on which it chooses what the policy alone chooses
}

// Summarize reads a log once.
func Summarize(folder string) (*Summary, error) {
	l, err := Read(folder)
	if err != nil {
		return nil, err
	}
	s := &Summary{}
	found := map[string]*sums{}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for d, err := range l.Decisions() {
		if err != nil {
			return nil, err
		}
		key := d.Policy + "\x00" + d.Digest
		if found[key] == nil {
			found[key] = newSums(d)
		}
		found[key].add(d)
		first, last = min(first, d.Time), max(last, d.Time)
	}
	if s.Read = l.Counts(); s.Read.Records > 0 {
		s.First, s.Last = stamp(first), stamp(last)
	}
	for _, x := range found {
		s.Policies = append(s.Policies, x.end())
	}
	slices.SortFunc(s.Policies, func(a, b *PolicySummary) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Digest, b.Digest)
	})
	return s, nil
}

func stamp(micros int64) string { return time.UnixMicro(micros).UTC().Format(time.RFC3339) }

// Text is the mean with its interval; empty without rows.
func (m WeightedMean) Text() string {
	switch {
	case m.Rows == 0:
		return ""
	case m.Rows == 1:
		return Digits(m.Mean) + " (1 row)"
	case m.Low == nil:
		return fmt.Sprintf("%s (%d rows)", Digits(m.Mean), m.Rows)
	}
	return fmt.Sprintf("%s (%s to %s at 95%%, %d rows)", Digits(m.Mean), Digits(*m.Low), Digits(*m.High), m.Rows)
}

// Digits writes a number with four decimals, or with an exponent where it would have many digits.
func Digits(v float64) string {
	if math.Abs(v) >= 1e9 {
		return fmt.Sprintf("%.4g", v)
	}
	return fmt.Sprintf("%.4f", v)
}
