package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

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
		names, err := defaultTableSplit().draw(ids[:300], labels[:300], first(by, 300), 0)
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
		names, err = defaultTableSplit().draw(turned, labels, together, 0)
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

// TestTableSplitsThatCannotBe say what to do.
func TestTableSplitsThatCannotBe(t *testing.T) {
	var option *stage.OptionError
	var data *costs.DataError
	counts := TableSplit{Kind: costs.SplitStratified, TrainRows: 1, ValidationRows: 1, Draws: 1}
	if _, err := counts.draw([]string{"a", "b"}, []string{"0", "1"}, []string{"u", "u"}, 0); !errors.As(err, &option) || !strings.Contains(err.Error(), "cannot be divided into exact counts") {
		t.Errorf("counts of groups: %v", err)
	}
	few := defaultTableSplit()
	few.Validation = 0.001
	if _, err := few.draw([]string{"a", "b"}, []string{"0", "1"}, nil, 0); !errors.As(err, &data) || !strings.Contains(err.Error(), "split: kind hash leaves none of 2 rows to val") {
		t.Errorf("few rows: %v", err)
	}
}

// TestFeverSplits: claims of one text stay together unless they have groups; the kind is the configuration's.
func TestFeverSplits(t *testing.T) {
	c := DefaultFever()
	if s := c.costs(FeverSetting{}, 2).Split; s.Kind != "hash" || s.Settings["group"] != "text" || s.Settings["seed"] != uint64(2) {
		t.Errorf("%+v", s)
	}
	c.Split.Kind, c.Claims = "stratified", map[string]any{"file": "x", "group": "page"}
	if s := c.costs(FeverSetting{}, 0).Split; s.Kind != "stratified" || s.Settings["group"] != nil {
		t.Errorf("%+v", s)
	}
}
