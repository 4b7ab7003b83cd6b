package outcome

import (
	"context"
	"math"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/dataerror/dataerrortest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A missing score is missing in every form in which logs write it, never 0. Kept instances have an unknown outcome and fee.
func TestMissingOutcomes(t *testing.T) {
	nan := float32(math.NaN())
	for name, table := range map[string]string{
		"o.csv":   strings.Replace(longCSV, "a,y,no,1,dog,0", "a,y,no,,dog,0", 1),
		"o.jsonl": jsonLines(strings.Replace(longCSV, "a,y,no,1,dog,0", "a,y,no,null,dog,0", 1)),
		"p.csv":   strings.Replace(longCSV, "a,y,no,1,dog,0\n", "", 1),
	} {
		c := smallImport(t, "", featureCSV)
		c.Outcomes.File = strings.TrimSuffix(c.Outcomes.File, "outcomes.csv") + name
		put(t, c.Outcomes.File, table)
		_, _, err := Import(context.Background(), c)
		dataerrortest.Check(t, err, c.Outcomes.File, 0, "", `1 cells are missing, first "a" y/no`)
		c.Missing = MissingDrop
		c.Split.Names = map[string]string{}
		dropped, report, err := Import(context.Background(), c)
		if err != nil || dropped.Len() != 1 || dropped.IDs[0] != "b" || report.Dropped[0].Count != 1 {
			t.Fatalf("%s: %v %+v", name, err, report)
		}
		c.Missing = MissingKeep
		kept, report, err := Import(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		want := smallTensor()
		want.Loss[2], want.Fee[2], want.Predictions[2] = nan, nan, ""
		if d := cmp.Diff(want, kept, cmpopts.IgnoreFields(costs.Tensor{}, "Actions", "Meta"), cmpopts.EquateNaNs()); d != "" {
			t.Error(name, d)
		}
		if d := cmp.Diff(&Unknown{Cells: 1, Complete: 1, Pairs: []PairUnknown{{"y/no", 1}}}, report.Unknown); d != "" || report.Constants[0].Rows != 1 {
			t.Errorf("%s: %s %+v", name, d, report.Constants)
		}
	}
}

// An instance of which nothing is known is dropped, and so is one without features.
func TestNothingKnown(t *testing.T) {
	c := smallImport(t, longCSV+"c,x,no,,cat,0\nd,x,no,1,cat,0\n", featureCSV)
	c.Missing = MissingKeep
	kept, report, err := Import(context.Background(), c)
	if err != nil || kept.Len() != 2 || len(report.Dropped) != 2 || report.Dropped[0].Reason != "without any outcome" || report.Dropped[1].Reason != "without features" {
		t.Errorf("%v %+v", err, report.Dropped)
	}
	c.DropIncomplete = true
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "missing and drop_incomplete are both set") {
		t.Error(err)
	}
	c.DropIncomplete, c.Missing = false, "zero"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), `missing is "zero"`) {
		t.Error(err)
	}
}

// An outcome without the usage of its fee is an error, or missing.
func TestMissingUsage(t *testing.T) {
	c := usageImport(t, strings.Replace(usageCSV, "1000,400,100", "1000,400,", 1), pricesYAML)
	_, _, err := Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File, 2, "out", "is missing")
	c.Missing = MissingKeep
	kept, report, err := Import(context.Background(), c)
	if err != nil || report.MissingUsage != 1 || report.MissingCells != 1 || kept.UnknownCells() != 1 || kept.Loss[0] == kept.Loss[0] {
		t.Errorf("%v %+v", err, report)
	}
}

// A field of an object is named by its path; the object itself is no name.
func TestNestedFields(t *testing.T) {
	c := smallImport(t, "", featureCSV)
	c.Outcomes.File = strings.TrimSuffix(c.Outcomes.File, "csv") + "jsonl"
	put(t, c.Outcomes.File, `{"id":"a","model":{"name":"x"},"eval":{"score":0.25}}`+"\n"+`{"id":"b","model":{"name":"x"},"eval":{"score":1}}`+"\n")
	c.None, c.Fees = "", FeeTable{}
	c.Outcomes.Columns = Columns{ID: "id", Expert: "model.name", Score: "eval.score"}
	got, _, err := Import(context.Background(), c)
	if err != nil || got.Loss[0] != 0.75 || got.Actions.Experts[0].Name != "x" {
		t.Fatal(got, err)
	}
	c.Outcomes.Columns.Expert = "model"
	_, _, err = Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File, 1, "", "name one of its fields with a path, such as model.name")
	c.Outcomes.Columns.Expert, c.Outcomes.Columns.Score = "model.name", "eval.scor"
	_, _, err = Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File, 0, "eval.scor", "no row has such a nested value; the table has eval, eval.score, id")
}
