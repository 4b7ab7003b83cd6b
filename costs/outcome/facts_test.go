package outcome

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/costs"
	"pipe/internal/dataerror/dataerrortest"
	"pipe/internal/storage"
)

// Every sort of value: numbers, classes that look like numbers, flags, codes of which one is a text, and what is missing.
const factCSV = `id,who,hint,wrong,said,sure,ok,code,dull
a,x,no,0,1,0.5,true,7,
a,x,yes,1,2,,False,7,
a,y,no,1,1,1e-3,,x9,
a,y,yes,0.5,10,nan,true,,
b,x,no,0,2, 0.25 ,true,8,
b,x,yes,0,,0.125,false,8,
b,y,no,1,1,0,1,8,
b,y,yes,1,1,1,0,8,
`

func factImport(t testing.TB, table string) Config {
	c := smallImport(t, table, featureCSV)
	c.Outcomes.Columns.Prediction, c.Outcomes.Columns.Fee = "", ""
	c.Outcomes.Columns.Observed = Observed{"label": "said", "confidence": "sure", "json": "ok", "code": "code", "dull": "dull"}
	return c
}

// factsText writes the facts of a tensor, a line each.
func factsText(t *costs.Tensor) string {
	var b strings.Builder
	if t == nil {
		return ""
	}
	for _, f := range t.Facts {
		fmt.Fprintf(&b, "%s %s:", f.Name, f.Kind())
		for i, v := range f.Data {
			switch {
			case v != v:
				b.WriteString(" -")
			case f.Category():
				b.WriteString(" " + f.Text(i))
			default:
				fmt.Fprintf(&b, " %v", v)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

const wantFacts = `code texts: 7 7 x9 - 8 8 8 8
confidence numbers: 0.5 - 0.001 - 0.25 0.125 0 1
dull numbers: - - - - - - - -
json numbers: 1 0 - 1 1 0 1 0
label texts: 1 2 1 10 2 - 1 1
`

func TestImportFacts(t *testing.T) {
	c := factImport(t, factCSV)
	got, report, err := Import(context.Background(), c)
	if err != nil || factsText(got) != wantFacts {
		t.Fatal(err, cmp.Diff(wantFacts, factsText(got)))
	}
	if want := []ObservedFact{{"code", "texts", 7}, {"confidence", "numbers", 6}, {"dull", "numbers", 0}, {"json", "numbers", 7}, {"label", "texts", 7}}; !cmp.Equal(want, report.Observed) {
		t.Error(report.Observed)
	}
	for parts := 1; parts < 4; parts++ {
		c.Outcomes.File = storage.File(inFiles(t, factCSV, 3, func(i, line int) bool { return line%3 == i }))
		samePartials(t, c, parts)
	}
	c = factImport(t, jsonLines(factCSV))
	lines := strings.TrimSuffix(c.Outcomes.File.Path(), ".csv") + ".jsonl"
	if err := os.Rename(c.Outcomes.File.Path(), lines); err != nil {
		t.Fatal(err)
	}
	c.Outcomes.File = storage.File(lines)
	if got, _, err := Import(context.Background(), c); err != nil || factsText(got) != wantFacts {
		t.Error(err, cmp.Diff(wantFacts, factsText(got)))
	}

	c = factImport(t, factCSV)
	c.Outcomes.ObservedKinds = map[string]string{"dull": "texts", "code": "texts"}
	c.Base = &Base{Actions: got.Actions, FeatureNames: report.FeatureNames, Facts: []costs.Fact{{Name: "more"}}}
	c.Outcomes.Columns.Observed["more"] = "said"
	got, _, err = Import(context.Background(), c)
	if err != nil || got.Fact("dull").Kind() != "texts" || got.Fact("more").Kind() != "numbers" {
		t.Error(err, got)
	}
	c.Base.Facts[0].Values = []string{}
	if got, _, err = Import(context.Background(), c); err != nil || got.Fact("more").Kind() != "texts" {
		t.Error(err, got)
	}
}

// In wide form a pair may have facts that another one lacks; a pattern needs a column for every pair.
func TestImportWideFacts(t *testing.T) {
	const wide = "id,x.wrong,x.sure,y.wrong,y.sure\na,0,0.5,1,\nb,1,0.25,0,1\n"
	c := smallImport(t, wide, featureCSV)
	c.Outcomes.Columns, c.None, c.Fees = Columns{ID: "id"}, "", FeeTable{}
	c.Outcomes.Wide = WideForm{Value: "loss", Pairs: []WideColumn{
		{Expert: "x", Column: "x.wrong", Observed: Observed{"confidence": "x.sure", "code": "x.sure"}},
		{Expert: "y", Column: "y.wrong", Observed: Observed{"confidence": "y.sure"}},
	}}
	got, _, err := Import(context.Background(), c)
	if want := "code numbers: 0.5 - 0.25 -\nconfidence numbers: 0.5 - 0.25 1\n"; err != nil || factsText(got) != want {
		t.Error(err, cmp.Diff(want, factsText(got)))
	}
	c.Outcomes.Wide = WideForm{WidePattern: WidePattern{Loss: "{expert}.wrong", Observed: Observed{"confidence": "{expert}.sure"}}}
	got, _, err = Import(context.Background(), c)
	if want := "confidence numbers: 0.5 - 0.25 1\n"; err != nil || factsText(got) != want {
		t.Error(err, cmp.Diff(want, factsText(got)))
	}
	put(t, c.Outcomes.File.String(), strings.ReplaceAll(wide, "y.sure", "y.certain"))
	_, _, err = Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 0, "y.sure", `is missing, although the table has other columns of the expert "y"`)
}

func TestBadImportedFacts(t *testing.T) {
	c := factImport(t, strings.Replace(factCSV, "1e-3", "high", 1))
	_, _, err := Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 4, "sure", `"high" is no number that is finite in float32, but the fact confidence has numbers`)
	c = factImport(t, strings.Replace(factCSV, "1e-3", "1e99", 1))
	_, _, err = Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 4, "sure", `"1e99" is no number`)
	c = factImport(t, factCSV)
	c.Outcomes.Columns.Observed["code"] = "codes"
	if _, _, err = Import(context.Background(), c); err == nil || !strings.Contains(err.Error(), "codes") {
		t.Error(err)
	}
	c = factImport(t, factCSV)
	c.Outcomes.Columns.Observed["Bad"], c.Outcomes.Columns.Observed["none"] = "said", ""
	c.Outcomes.ObservedKinds = map[string]string{"code": "both", "label": "numbers", "other": "texts"}
	err = c.Validate()
	for _, want := range []string{
		`outcomes.columns.observed: "Bad" is no name of a fact`, "outcomes.columns.observed.none is empty", `outcomes.observed_kinds.code is "both"; it must be numbers or texts`,
		"outcomes.observed_kinds.label is numbers, but label is a standard fact of texts", "outcomes.observed_kinds names other, but no column",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}
