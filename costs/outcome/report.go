package outcome

import (
	"fmt"
	"strings"

	"pipe/costs"
)

// Report counts what an import read, kept and skipped.
type Report struct {
	OutcomeRows   int                 `json:"outcome_rows"`             // rows of the outcome table
	IgnoredRows   int                 `json:"ignored_rows,omitempty"`   // of these, rows with an expert or advice that is not listed
	Instances     int                 `json:"instances"`                // distinct ids among the outcomes
	Kept          int                 `json:"kept"`                     // instances in the tensor
	MissingCells  int                 `json:"missing_cells"`            // pairs without an outcome, over all instances
	MissingUsage  int                 `json:"missing_usage,omitempty"`  // of these, pairs with an outcome but without the usage that a fee needs
	Unknown       *Unknown            `json:"unknown,omitempty"`        // outcomes that the tensor does not have
	Dropped       []Dropped           `json:"dropped,omitempty"`        // why instances were skipped
	UnusedRows    int                 `json:"unused_rows,omitempty"`    // feature rows of ids without outcomes
	Spelling      string              `json:"spelling,omitempty"`       // that such an id is one with outcomes in another spelling of the number
	Splits        map[string]int      `json:"splits"`                   // instances per split
	Groups        int                 `json:"groups,omitempty"`         // distinct groups, where there are any
	Divided       int                 `json:"divided,omitempty"`        // of these, groups that a split column divides
	Uneven        []costs.UnevenSplit `json:"uneven_splits,omitempty"`  // drawn splits whose rows differ from their share
	Time          *costs.TimeOrder    `json:"time,omitempty"`           // how the splits follow each other, where there are times
	NewCategories []NewCategory       `json:"new_categories,omitempty"` // values without a feature, where rows are added to a tensor
	FeatureNames  []string            `json:"feature_names,omitempty"`  // one per feature
	Unserved      string              `json:"unserved,omitempty"`       // which features are not computed from raw rows, and what to do
	Graded        *Graded             `json:"graded,omitempty"`         // of recorded answers
	MeasuredFees  *MeasuredFees       `json:"measured_fees,omitempty"`  // where there are any
	Observed      []ObservedFact      `json:"observed,omitempty"`       // facts of answers
	Constants     []Constants         `json:"constants"`                // per split, what a constant choice costs at lambda 1
}

// ObservedFact is a fact of answers that a tensor has.
type ObservedFact struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Known int    `json:"known"` // of how many outcomes
}

func observedFacts(t *costs.Tensor) (all []ObservedFact) {
	for _, f := range t.Facts {
		o := ObservedFact{Name: f.Name, Kind: f.Kind()}
		for _, v := range f.Data {
			if v == v {
				o.Known++
			}
		}
		all = append(all, o)
	}
	return all
}

// NewCategory is a value of a categorical column for which the tensor that rows
// are added to has no feature.
type NewCategory struct {
	Column string `json:"column"`
	Value  string `json:"value"`
	Rows   int    `json:"rows"`
}

// Dropped is a reason for skipping instances. An instance with several reasons
// counts under the first.
type Dropped struct {
	Reason string   `json:"reason"`
	Count  int      `json:"count"`
	First  []string `json:"first"` // some of the ids
}

// Unknown counts the outcomes that a tensor does not have.
type Unknown struct {
	Cells    int           `json:"cells"`
	Complete int           `json:"complete_rows"` // rows with the outcomes of all pairs
	Pairs    []PairUnknown `json:"pairs"`         // those that are unknown in some rows
}

// PairUnknown counts the rows in which the outcome of a pair is unknown.
type PairUnknown struct {
	Pair string `json:"pair"`
	Rows int    `json:"rows"`
}

// countUnknown counts the unknown outcomes of a tensor, nil if there are none.
func countUnknown(t *costs.Tensor, all []int) *Unknown {
	cells := t.UnknownCells()
	if cells == 0 {
		return nil
	}
	u := &Unknown{Cells: cells, Complete: len(t.CompleteRows(all))}
	mask := t.Actions.Mask()
	for i, known := range t.KnownRows(all) {
		if mask[i] && known < t.Len() {
			u.Pairs = append(u.Pairs, PairUnknown{t.Actions.Name(i), t.Len() - known})
		}
	}
	return u
}

// Constants compares the best fixed pair of a split with its oracle, at lambda
// 1, on the rows whose outcomes are all known.
type Constants struct {
	Split    string  `json:"split"`
	Rows     int     `json:"rows"`
	Best     string  `json:"best_fixed"`
	BestCost float64 `json:"best_fixed_cost"`
	Oracle   float64 `json:"oracle"`
}

// summarise fills in the part of the report about the finished tensor.
func (r *Report) summarise(t *costs.Tensor) {
	r.Splits = make(map[string]int)
	r.Groups, r.Divided = costs.CountGroups(t.Groups, t.Splits)
	r.Time = t.TimeOrder()
	all := make([]int, t.Len())
	for n := range all {
		all[n] = n
		r.Splits[t.Splits[n].String()]++
	}
	r.Unknown, r.Observed = countUnknown(t, all), observedFacts(t)
	add := func(name string, rows []int) {
		if rows = t.CompleteRows(rows); len(rows) == 0 {
			return
		}
		s := costs.Summarize(t, rows, 1)
		r.Constants = append(r.Constants, Constants{
			Split: name, Rows: len(rows), Best: t.Actions.Name(s.Best), BestCost: s.BestCost, Oracle: s.Oracle,
		})
	}
	add("all", all)
	for s := costs.Train; s <= costs.Test; s++ {
		add(s.String(), t.Rows(s))
	}
}

// UnevenLine states the splits whose share of the rows is not the one that was
// asked for, "" if there are none.
func (r *Report) UnevenLine() string {
	var parts []string
	for _, u := range r.Uneven {
		share := float64(u.Rows) / float64(r.Kept)
		parts = append(parts, fmt.Sprintf("%s has %d of %d rows, which is a share of %.2f; %.4g was asked for", u.Split, u.Rows, r.Kept, share, u.Share))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "; kind hash holds shares only on average, and groups stay whole; kind stratified comes nearest"
}
