package outcome

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pipe/costs"
	"pipe/costs/grade"
	"pipe/internal/dataerror/dataerrortest"
	"pipe/internal/storage"
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
		c.Outcomes.File = storage.File(strings.TrimSuffix(c.Outcomes.File.String(), "outcomes.csv") + name)
		put(t, c.Outcomes.File.String(), table)
		_, _, err := Import(context.Background(), c)
		dataerrortest.Check(t, err, c.Outcomes.File.String(), 0, "", `1 cells are missing, first "a" y/no`)
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

// An instance that lacks a property is dropped, with the property as the reason, unless another of its rows has the value.
func TestMissingProperties(t *testing.T) {
	const head = "id,who,answer,label,split,group,time,gold,asked\n"
	full := func(id string) string { return id + ",x,1,l,train,g" + id + ",2026-01-01,2,q\n" }
	for at, what := range map[int]string{3: "label", 4: "split", 5: "group", 6: "time", 7: "reference", 8: "question"} {
		fields := strings.Split(strings.TrimSuffix(full("b"), "\n"), ",")
		fields[at] = ""
		lacking := strings.Join(fields, ",") + "\n"
		val := strings.Replace(full("v"), "train", "val", 1)
		c := smallImport(t, head+full("a")+lacking+val, "id,f\na,1\nb,2\nv,3\n")
		c.None, c.Fees, c.Outcomes.Grade = "", FeeTable{}, grade.Config{Kind: "number"}
		c.Outcomes.Columns = Columns{ID: "id", Expert: "who", Answer: "answer", Label: "label", Split: "split", Group: "group", Time: "time", Reference: "gold", Question: "asked"}
		c.Features = []FeatureTable{{File: c.Features[0].File, ID: "id", Columns: []string{"f"}}}
		_, _, err := Import(context.Background(), c)
		dataerrortest.Check(t, err, c.Outcomes.File.String(), 3, strings.Split(head[:len(head)-1], ",")[at], "")
		for _, missing := range []string{MissingDrop, MissingKeep} {
			c.Missing = missing
			got, report, err := Import(context.Background(), c)
			if err != nil || got.Len() != 2 || len(report.Dropped) != 1 || report.Dropped[0].Reason != "without a "+what || report.Dropped[0].First[0] != "b" {
				t.Errorf("%s, %s: %v, %+v", what, missing, err, report)
			}
		}
		put(t, c.Outcomes.File.String(), head+full("a")+lacking+strings.Replace(full("b"), ",x,", ",y,", 1)+val)
		c.Missing = MissingKeep
		if got, report, err := Import(context.Background(), c); err != nil || got.Len() != 3 || len(report.Dropped) != 0 {
			t.Errorf("%s, known from another row: %v, %+v", what, err, report)
		}
	}
}

// Two spellings of a number in the table of outcomes are two ids, and the error says so.
func TestTwoSpellingsOfAnID(t *testing.T) {
	c := smallImport(t, "id,who,right\n100,x,1\n100.0,y,1\n7,x,1\n7,y,0\n", "id,f\n100,1\n100.0,1\n7,2\n")
	c.None, c.Fees = "", FeeTable{}
	c.Outcomes.Columns = Columns{ID: "id", Expert: "who", Correct: "right"}
	c.Features = []FeatureTable{{File: c.Features[0].File, ID: "id", Columns: []string{"f"}}}
	_, _, err := Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 0, "", `which is another id: write both alike`)
}

// An outcome without the usage of its fee is an error, or missing.
func TestMissingUsage(t *testing.T) {
	c := usageImport(t, strings.Replace(usageCSV, "1000,400,100", "1000,400,", 1), pricesYAML)
	_, _, err := Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 2, "out", "is missing")
	c.Missing = MissingKeep
	kept, report, err := Import(context.Background(), c)
	if err != nil || report.MissingUsage != 1 || report.MissingCells != 1 || kept.UnknownCells() != 1 || kept.Loss[0] == kept.Loss[0] {
		t.Errorf("%v %+v", err, report)
	}
}

// A field of an object is named by its path; the object itself is no name.
func TestNestedFields(t *testing.T) {
	c := smallImport(t, "", featureCSV)
	c.Outcomes.File = storage.File(strings.TrimSuffix(c.Outcomes.File.String(), "csv") + "jsonl")
	put(t, c.Outcomes.File.String(), `{"id":"a","model":{"name":"x"},"eval":{"score":0.25}}`+"\n"+`{"id":"b","model":{"name":"x"},"eval":{"score":1}}`+"\n")
	c.None, c.Fees = "", FeeTable{}
	c.Outcomes.Columns = Columns{ID: "id", Expert: "model.name", Score: "eval.score"}
	got, _, err := Import(context.Background(), c)
	if err != nil || got.Loss[0] != 0.75 || got.Actions.Experts[0].Name != "x" {
		t.Fatal(got, err)
	}
	c.Outcomes.Columns.Expert = "model"
	_, _, err = Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 1, "", "name one of its fields with a path, such as model.name")
	c.Outcomes.Columns.Expert, c.Outcomes.Columns.Score = "model.name", "eval.scor"
	_, _, err = Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 0, "eval.scor", "no row has such a nested value; the table has eval, eval.score, id")
}
