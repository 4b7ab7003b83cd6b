package costs

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The held-out rows are the latest: no training row is later than the latest row of a held-out group, groups and equal
// times stay whole, and without them the shares are exact up to rounding.
func TestTimeSplitHoldsOutTheLatest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 200).Draw(t, "rows")
		d := SplitDraw{Kind: SplitTime, Validation: rapid.Float64Range(0, 0.45).Draw(t, "val"), Test: rapid.SampledFrom([]float64{0, 0.1, 0.3}).Draw(t, "test")}
		many := rapid.IntRange(3, 1000).Draw(t, "times")
		ids, groups := make([]string, n), make([]string, n)
		for i := range ids {
			ids[i], groups[i] = fmt.Sprint(i), fmt.Sprint(rapid.IntRange(0, 2*n).Draw(t, "group"))
			d.Times = append(d.Times, int64(rapid.IntRange(0, many).Draw(t, "time")))
		}
		if rapid.Bool().Draw(t, "no groups") {
			groups = nil
		}
		last := latestOfGroup(d.Times, groups)
		distinct := len(slices.Compact(slices.Sorted(slices.Values(last))))
		splits, err := d.Draw(ids, nil, groups)
		if distinct < 3 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		counts := [3]int{}
		for i, s := range splits {
			counts[s]++
			for k, other := range splits {
				switch {
				case s < other && last[i] >= last[k]:
					t.Fatalf("row at %d is in %v, row at %d in %v", last[i], s, last[k], other)
				case groups != nil && groups[i] == groups[k] && s != other:
					t.Fatalf("group %s is divided", groups[i])
				}
			}
		}
		if distinct == n && d.Validation*float64(n) >= 1 && d.Test*float64(n) >= 1 {
			if math.Abs(float64(counts[Test])-d.Test*float64(n)) > 0.5 || math.Abs(float64(counts[Val]+counts[Test])-(d.Validation+d.Test)*float64(n)) > 0.5 {
				t.Fatalf("%d rows: %v for %v and %v", n, counts, d.Validation, d.Test)
			}
		}
	})
}

func TestTimeSplitNeedsTimes(t *testing.T) {
	ids := []string{"a", "b", "c", "d"}
	for want, d := range map[string]SplitDraw{
		"there are 0 times for 4 rows":     {Validation: 0.25},
		"more different times are needed":  {Validation: 0.25, Times: []int64{5, 5, 5, 5}},
		"leaves none of 4 rows to train":   {Validation: 0.2, Test: 0.2, Times: []int64{5, 5, 6, 6}},
		"leaves none of 4 rows in 1 group": {Validation: 0.25, Times: []int64{1, 2, 3, 4}},
	} {
		d.Kind = SplitTime
		var groups []string
		if strings.Contains(want, "group") {
			groups = []string{"g", "g", "g", "g"}
		}
		var data *DataError
		if _, err := d.Draw(ids, nil, groups); !errors.As(err, &data) || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, expected %q", err, want)
		}
	}
}

func TestTimeOrder(t *testing.T) {
	tensor := testTensor(1, 6, 2, testActions(1, 1))
	if tensor.TimeOrder() != nil {
		t.Error("an order without times")
	}
	tensor.Splits = []Split{Train, Train, Val, Val, Test, Test}
	tensor.Times = []int64{10e6, 20e6, 30e6, 20e6, 5e6, 40e6}
	want := TimeOrder{Train: "1970-01-01T00:00:20Z", Val: "1970-01-01T00:00:30Z", Test: "1970-01-01T00:00:40Z", Early: 2}
	if got := tensor.TimeOrder(); *got != want {
		t.Errorf("got %+v", got)
	}
}
