package monitor

import (
	"math"

	"pipe/costs"
)

// Verdict is the result of a family of tests.
type Verdict string

// The verdicts.
const (
	OK       Verdict = "ok"
	Warning  Verdict = "warning"  // a change was found; it may be harmless
	Alarm    Verdict = "alarm"    // a change was found in a family of Options.FailOn
	Untested Verdict = "untested" // there are too few rows, or no outcomes, or the version is not watched
)

// Status has the findings of a Monitor so far. docs/monitor.md explains the fields.
type Status struct {
	Format  int     `json:"format"`
	Verdict Verdict `json:"verdict"` // the worst of the families
	// Watched is false if a server serves another version of the policy than the one of these figures. All verdicts are then
	// untested.
	Watched   bool             `json:"watched"`
	Served    string           `json:"served,omitempty"` // digest of that other version
	Policy    PolicyInfo       `json:"policy"`
	Baseline  BaselineInfo     `json:"baseline,omitzero"` // zero: it was not looked at, and the guarantee alone was tested
	New       NewInfo          `json:"new"`
	Inputs    InputsStatus     `json:"inputs"`
	Decisions DecisionsStatus  `json:"decisions"`
	Outcomes  OutcomesStatus   `json:"outcomes"`
	Guarantee *GuaranteeStatus `json:"guarantee,omitempty"` // nil: the policy has none
	Notes     []string         `json:"notes,omitempty"`
}

// PolicyInfo identifies the policy.
type PolicyInfo struct {
	File   string  `json:"file"`
	Digest string  `json:"digest"`
	Method string  `json:"method"`
	Lambda float64 `json:"lambda"`
}

// BaselineInfo describes the baseline.
type BaselineInfo struct {
	File   string `json:"file"`
	Splits string `json:"splits"`
	Rows   int    `json:"rows"`
	Sample int    `json:"sample"` // of these, the rows that features are compared with
}

// NewInfo describes the new rows.
type NewInfo struct {
	File  string `json:"file,omitempty"`
	Rows  int64  `json:"rows"`
	Order string `json:"order,omitempty"` // of the outcomes of a file: time or file
	First string `json:"first,omitempty"` // time of the first outcome
	Last  string `json:"last,omitempty"`
}

// InputsStatus compares features.
type InputsStatus struct {
	Verdict  Verdict         `json:"verdict"`
	Level    float64         `json:"level"` // of both tests together
	Changed  int             `json:"changed"`
	Features []FeatureStatus `json:"features"`
	MMD      *MMDStatus      `json:"mmd,omitempty"` // nil: the baseline has too few rows
}

// The tests of a feature, besides those of drift.Homogeneity.
const testKS = "Kolmogorov-Smirnov"

// FeatureStatus compares one feature.
type FeatureStatus struct {
	Name      string  `json:"name"`
	Test      string  `json:"test"`
	Statistic float64 `json:"statistic"`
	P         float64 `json:"p"`
	Adjusted  float64 `json:"adjusted"` // p-value with Holm's correction over the features
	Changed   bool    `json:"changed"`
}

// MMDStatus compares whole feature vectors.
type MMDStatus struct {
	MMD       float64 `json:"mmd"`
	P         float64 `json:"p"`
	Bandwidth float64 `json:"bandwidth"` // in standard deviations
	Changed   bool    `json:"changed"`
}

// DecisionsStatus compares how often each pair is chosen.
type DecisionsStatus struct {
	Verdict   Verdict      `json:"verdict"`
	Level     float64      `json:"level"`
	Test      string       `json:"test,omitempty"`
	Statistic float64      `json:"statistic"`
	P         float64      `json:"p"`
	Pairs     []PairStatus `json:"pairs"` // those that were chosen at least once
}

// PairStatus is the share of a pair, and the interval of its change.
type PairStatus struct {
	Pair     string  `json:"pair"`
	Baseline float64 `json:"baseline"`
	Now      float64 `json:"now"`
	Low      float64 `json:"low"` // of now minus baseline; all intervals hold together
	High     float64 `json:"high"`
	Changed  bool    `json:"changed"` // the interval does not contain 0
}

// OutcomesStatus has the findings about the losses of executed pairs: task loss and measured fee.
type OutcomesStatus struct {
	Verdict Verdict `json:"verdict"`
	Known   int64   `json:"known"`
	Unknown int64   `json:"unknown"` // executed, and no loss was recorded
	Clipped int64   `json:"clipped"` // outside of the range, and cut to it
	// Agreed is the share of outcomes whose executed pair is the one that the policy chose; nil if it was not compared.
	Agreed   *float64      `json:"agreed,omitempty"`
	Mean     *float64      `json:"mean,omitempty"`     // of known outcomes, as recorded
	Residual *float64      `json:"residual,omitempty"` // mean of outcome minus expected outcome
	Alarm    *AlarmStatus  `json:"alarm,omitempty"`    // nil: the baseline has no outcomes
	ADWIN    *ADWINStatus  `json:"adwin,omitempty"`    // nil: no outcome had an expectation
	Course   []BlockStatus `json:"course,omitempty"`   // means over time
}

// AlarmStatus is the test with a guarantee, see drift.Alarm.
type AlarmStatus struct {
	Range     [2]float64 `json:"range"`    // that outcomes are cut to
	Baseline  float64    `json:"baseline"` // mean outcome of the policy's decisions on the baseline
	Upper     float64    `json:"upper"`    // upper bound of the true mean, at 1 - alpha/2
	Tolerance float64    `json:"tolerance"`
	Level     float64    `json:"level"` // Upper plus Tolerance: the alarm is about a mean above it
	Alpha     float64    `json:"alpha"` // of bound and alarm together
	Rows      int        `json:"rows"`  // baseline rows with a known outcome
	Sets      int        `json:"sets"`  // independent sets of these rows
	Possible  bool       `json:"possible"`
	Evidence  float64    `json:"evidence"` // now, from 1
	Peak      float64    `json:"peak"`
	RisesAt   float64    `json:"rises_at"`        // evidence at which the alarm rises: 2/alpha
	Risen     int64      `json:"risen,omitempty"` // number of the known outcome, from 1
	Time      string     `json:"time,omitempty"`  // of that outcome
}

// BlockStatus is the mean of successive outcomes.
type BlockStatus struct {
	Outcomes int64    `json:"outcomes"`
	Last     int64    `json:"last"` // number of the last one among the known outcomes, from 1
	Time     string   `json:"time,omitempty"`
	Mean     float64  `json:"mean"`
	Low      *float64 `json:"low,omitempty"` // of a 95% interval, if outcomes are independent; nil: one outcome has none
	High     *float64 `json:"high,omitempty"`
}

// GuaranteeStatus compares the losses of accepted decisions with what the policy promises.
type GuaranteeStatus struct {
	Verdict  Verdict  `json:"verdict"`
	Risk     float64  `json:"risk"`            // the promised largest expected loss
	Joint    bool     `json:"joint,omitempty"` // of all decisions, where one that is not accepted counts as 0
	Accepted int64    `json:"accepted"`        // accepted decisions that were executed and whose loss is known; with Joint also those that are not accepted
	Clipped  int64    `json:"clipped"`         // losses outside of 0 to the largest possible one, cut to it
	Mean     *float64 `json:"mean,omitempty"`
	Alpha    float64  `json:"alpha"` // bounds the probability of a false alarm, ever
	Evidence float64  `json:"evidence"`
	RisesAt  float64  `json:"rises_at"`
	Risen    int64    `json:"risen,omitempty"` // number of the accepted decision, from 1
	Time     string   `json:"time,omitempty"`
}

// ADWINStatus has the changes of the residual over time. This test has no guarantee.
type ADWINStatus struct {
	Expected string   `json:"expected"` // where expected outcomes come from
	Values   int64    `json:"values"`
	Changes  int      `json:"changes"`
	Latest   []Change `json:"latest,omitempty"` // at most ten
	Width    int      `json:"width"`            // values since the last change was found
	Residual float64  `json:"residual"`         // their mean
}

// Change is a change that ADWIN found.
type Change struct {
	Value int64  `json:"value"` // number of the residual, from 1
	Time  string `json:"time,omitempty"`
}

// statusFormat is the version of the object.
const statusFormat = 1

// worst is the worst of the verdicts; untested if all are.
func worst(verdicts ...Verdict) Verdict {
	out := Untested
	for _, rank := range []Verdict{OK, Warning, Alarm} {
		for _, v := range verdicts {
			if v == rank {
				out = v
			}
		}
	}
	return out
}

// NoTime is the time of an outcome without one.
const NoTime = math.MinInt64

func timeText(micros int64) string {
	if micros == NoTime {
		return ""
	}
	return costs.TimeText(micros)
}
