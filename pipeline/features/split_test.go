package features

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/costs"
	"pipe/pipeline/stage"
)

// TestTableRowsKeepTheirSplit when rows are appended and reordered, and groups are whole.
func TestTableRowsKeepTheirSplit(t *testing.T) {
	var ids, labels, groups []string
	for n := range 500 {
		ids, labels, groups = append(ids, fmt.Sprint("r", n)), append(labels, fmt.Sprint(n%2)), append(groups, fmt.Sprint("card ", n%120))
	}
	for _, by := range [][]string{nil, groups} {
		before := map[string]string{}
		names, err := DefaultSplit().draw(ids[:300], labels[:300], first(by, 300), 0)
		if err != nil {
			t.Fatal(err)
		}
		for n, name := range names {
			before[ids[n]] = name
		}
		order := slices.Backward(ids)
		var turned, together []string
		for n, id := range order {
			turned = append(turned, id)
			if by != nil {
				together = append(together, by[n])
			}
		}
		names, err = DefaultSplit().draw(turned, labels, together, 0)
		if err != nil {
			t.Fatal(err)
		}
		side := map[string]string{}
		for n, name := range names {
			if was, ok := before[turned[n]]; ok && was != name {
				t.Fatalf("row %s was in %s and is in %s", turned[n], was, name)
			}
			if by == nil {
				continue
			}
			if other, ok := side[together[n]]; ok && other != name {
				t.Fatalf("%s is divided", together[n])
			}
			side[together[n]] = name
		}
	}
}

func first(list []string, n int) []string {
	if list == nil {
		return nil
	}
	return list[:n]
}

// TestTableSplitsThatCannotBe: errors about impossible splits have a remedy.
func TestTableSplitsThatCannotBe(t *testing.T) {
	var option *stage.OptionError
	var data *costs.DataError
	counts := Split{Kind: costs.SplitStratified, TrainRows: 1, ValidationRows: 1, Draws: 1}
	if _, err := counts.draw([]string{"a", "b"}, []string{"0", "1"}, []string{"u", "u"}, 0); !errors.As(err, &option) || !strings.Contains(err.Error(), "cannot be divided into exact counts") {
		t.Errorf("counts of groups: %v", err)
	}
	few := DefaultSplit()
	few.Validation = 0.001
	if _, err := few.draw([]string{"a", "b"}, []string{"0", "1"}, nil, 0); !errors.As(err, &data) || !strings.Contains(err.Error(), "split: kind hash leaves none of 2 rows to val") {
		t.Errorf("few rows: %v", err)
	}
}

func TestTableSplitDraw(t *testing.T) {
	labels := make([]string, 1000)
	for n := range labels {
		labels[n] = map[bool]string{true: "1", false: "0"}[n%25 == 0]
	}
	split := Split{Kind: "stratified", TrainRows: 600, ValidationRows: 200, Seed: 4, Draws: 2}
	names, err := split.draw(labels, labels, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for n, name := range names {
		count[name]++
		count[name+labels[n]]++
	}
	want := map[string]int{"train": 600, "val": 200, "": 200, "train1": 24, "train0": 576, "val1": 8, "val0": 192, "1": 8, "0": 192}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Error(diff)
	}
	if second, _ := split.draw(labels, labels, nil, 1); cmp.Equal(names, second) {
		t.Error("two draws are the same")
	}
	if again, _ := split.draw(labels, labels, nil, 0); !cmp.Equal(names, again) {
		t.Error("a draw is not repeated")
	}
	if _, err := (Split{Kind: "stratified", TrainRows: 900, ValidationRows: 200, Draws: 1}).draw(labels, labels, nil, 0); err == nil {
		t.Error("more rows than there are were drawn")
	}
}
