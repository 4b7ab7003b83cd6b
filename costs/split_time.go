package costs

import (
	"math"
	"slices"
)

// timed returns the splits under SplitTime. The latest rows are test rows, those
// before them validation rows, and all others train. A group goes whole to the
// split of its latest row, and rows of equal time go to one split. The shares
// therefore hold only as closely as groups and equal times allow, but a split
// with a positive share is empty only if there are too few different times.
func (d SplitDraw) timed(groups []string) []Split {
	last := latestOfGroup(d.Times, groups)
	sorted := slices.Sorted(slices.Values(last))
	ends := []int{0} // ends[c] is the number of rows of the first c times
	for n := range sorted {
		if n+1 == len(sorted) || sorted[n+1] != sorted[n] {
			ends = append(ends, n+1)
		}
	}
	some := func(share float64) int { return int(math.Min(1, math.Ceil(share))) }
	all := len(ends) - 1
	test := nearestCut(ends, 1-d.Test, 1+some(d.Validation), all-some(d.Test))
	val := nearestCut(ends, 1-d.Test-d.Validation, 1, test-some(d.Validation))
	if d.Test == 0 {
		test = all
	}
	if d.Validation == 0 {
		val = test
	}
	splits := make([]Split, len(last))
	for n, t := range last {
		switch before, _ := slices.BinarySearch(sorted, t); {
		case before >= ends[test]:
			splits[n] = Test
		case before >= ends[val]:
			splits[n] = Val
		}
	}
	return splits
}

// nearestCut returns the number of times, from low to high, whose rows come
// nearest to a share of all rows; of two that are as near, the larger.
func nearestCut(ends []int, share float64, low, high int) int {
	wanted := share * float64(ends[len(ends)-1])
	best := max(0, high)
	for c := best - 1; c >= low; c-- {
		if math.Abs(float64(ends[c])-wanted) < math.Abs(float64(ends[best])-wanted) {
			best = c
		}
	}
	return best
}

// latestOfGroup returns for every row the latest time of its group.
func latestOfGroup(times []int64, groups []string) []int64 {
	if groups == nil {
		return times
	}
	latest := make(map[string]int64, len(groups))
	for n, g := range groups {
		if t, ok := latest[g]; !ok || times[n] > t {
			latest[g] = times[n]
		}
	}
	out := make([]int64, len(groups))
	for n, g := range groups {
		out[n] = latest[g]
	}
	return out
}

// TimeOrder says how the splits of a tensor follow each other in time.
type TimeOrder struct {
	Train string `json:"train"`          // time of the latest training row
	Val   string `json:"val,omitempty"`  // time of the earliest validation row that is later
	Test  string `json:"test,omitempty"` // time of the earliest test row that is later
	// Early counts held-out rows that are not later than the latest training row. After a split by time they are rows
	// whose group reaches into the time that is held out.
	Early int `json:"early"`
}

// TimeOrder compares the times of the splits. It is nil without times, and
// without training rows.
func (t *Tensor) TimeOrder() *TimeOrder {
	train := t.Rows(Train)
	if t.Times == nil || len(train) == 0 {
		return nil
	}
	end := int64(math.MinInt64)
	for _, n := range train {
		end = max(end, t.Times[n])
	}
	o := &TimeOrder{Train: TimeText(end)}
	for split, into := range map[Split]*string{Val: &o.Val, Test: &o.Test} {
		first := int64(math.MaxInt64)
		for _, n := range t.Rows(split) {
			if t.Times[n] > end {
				first = min(first, t.Times[n])
			} else {
				o.Early++
			}
		}
		if first < math.MaxInt64 {
			*into = TimeText(first)
		}
	}
	return o
}
