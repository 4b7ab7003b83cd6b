package costs

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// The ways to draw splits. Under SplitHash the split of a row depends on the
// row's id or group, the seed and the shares alone: other rows, their number
// and their order do not matter. The other two hold the shares exactly:
// SplitStratified within every label, SplitRandom over all rows. They depend on
// all rows and their order, so one added row can move any other. SplitTime holds
// out the latest rows: the past trains, and the time after it judges.
const (
	SplitHash       = "hash"
	SplitStratified = "stratified"
	SplitRandom     = "random"
	SplitTime       = "time"
)

var splitKinds = []string{SplitHash, SplitStratified, SplitRandom, SplitTime}

// SplitDraw says how splits are drawn: the share Validation of the rows goes to
// validation, the share Test to test, the rest to training. Rows of one group
// stay together. Copies without a common group may not: whether rows with equal
// features are copies is judged from the losses of a whole table
// ([Tensor.Clusters]), so one more row could change the judgement and move old
// rows, and some splits are drawn before there are losses. [RepeatsIn] counts
// the copies on both sides.
type SplitDraw struct {
	Kind       string // SplitHash, SplitStratified, SplitRandom or SplitTime
	Validation float64
	Test       float64
	Seed       uint64  // SplitTime has no use for it
	Times      []int64 // one per row, for SplitTime alone
	Partial    bool    // the rows are some of a table: a split may have none of them
}

// Validate rejects unknown kinds and shares that leave no training rows.
func (d SplitDraw) Validate() error {
	if !slices.Contains(splitKinds, d.Kind) {
		return fmt.Errorf("unknown kind %q; known are %s", d.Kind, strings.Join(splitKinds, ", "))
	}
	if !(d.Validation >= 0 && d.Test >= 0 && d.Validation+d.Test < 1) {
		return fmt.Errorf("validation is %v and test is %v; shares must not be negative and must leave rows to train on", d.Validation, d.Test)
	}
	return nil
}

// Draw returns the split of every row of a valid d. ids are one per row and
// unique. labels are one per row, or nil if there are none. groups are one per
// row, or nil: rows of one group get one split. If a split with a positive
// share gets no row, the error is a *DataError without a file.
func (d SplitDraw) Draw(ids, labels, groups []string) ([]Split, error) {
	if d.Kind == SplitRandom {
		labels = nil
	}
	if d.Kind == SplitTime && len(d.Times) != len(ids) {
		return nil, &DataError{Msg: fmt.Sprintf("kind %s needs the time of every row; there are %d times for %d rows", d.Kind, len(d.Times), len(ids))}
	}
	var splits []Split
	switch {
	case d.Kind == SplitTime:
		splits = d.timed(groups)
	case d.Kind == SplitHash:
		splits = d.hashed(ids, groups)
	case groups != nil:
		splits = drawGroups(len(ids), labels, groups, d.Validation, d.Test, d.Seed)
	default:
		splits = DrawSplits(len(ids), labels, d.Validation, d.Test, d.Seed)
	}
	return splits, d.checkFilled(splits, groups)
}

// checkFilled is an error if a split should have rows and has none.
func (d SplitDraw) checkFilled(splits []Split, groups []string) error {
	for i, share := range [...]float64{Train: 1 - d.Validation - d.Test, Val: d.Validation, Test: d.Test} {
		s := Split(i)
		if d.Partial || share <= 0 || slices.Contains(splits, s) {
			continue
		}
		rows, more := fmt.Sprintf("%d rows", len(splits)), "rows"
		if groups != nil {
			distinct := slices.Compact(slices.Sorted(slices.Values(groups)))
			rows, more = rows+fmt.Sprintf(" in %d groups", len(distinct)), "groups"
		}
		way := fmt.Sprintf("more %s are needed, or another share", more)
		switch d.Kind {
		case SplitTime:
			way = "more different times are needed"
		case SplitHash:
			way = fmt.Sprintf("more %s are needed, another share, another seed, or kind %s, which holds the shares exactly", more, SplitStratified)
		}
		return &DataError{Msg: fmt.Sprintf("kind %s leaves none of %s to %s, whose share is %.4g; %s", d.Kind, rows, s, share, way)}
	}
	return nil
}

// DrawSplits draws the splits of n instances: the share val goes to validation,
// the share test to test, the rest to training. With labels (n of them, or nil)
// the shares hold within every label as closely as whole instances allow, and
// over all instances exactly, up to rounding. The draw depends on the arguments
// only.
func DrawSplits(n int, labels []string, val, test float64, seed uint64) []Split {
	groups := map[string][]int{}
	for i := range n {
		label := ""
		if labels != nil {
			label = labels[i]
		}
		groups[label] = append(groups[label], i)
	}
	splits := make([]Split, n)
	r := rand.New(rand.NewPCG(seed, 0x73706c6974)) // a separate random stream
	// Rounding remainders are carried from label to label.
	seen, vals, tests := 0, 0, 0
	for _, label := range slices.Sorted(maps.Keys(groups)) {
		rows := groups[label]
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		seen += len(rows)
		wantVal := min(len(rows), int(math.Round(val*float64(seen)))-vals)
		wantTest := min(len(rows)-wantVal, int(math.Round(test*float64(seen)))-tests)
		vals, tests = vals+wantVal, tests+wantTest
		for i, row := range rows {
			switch {
			case i < wantVal:
				splits[row] = Val
			case i < wantVal+wantTest:
				splits[row] = Test
			}
		}
	}
	return splits
}
