package outcome

import (
	"context"
	"math"
	"strings"
	"testing"

	"pipe/internal/dataerror/dataerrortest"
	"pipe/internal/storage"
)

const decisionCSV = `id,who,hint,wrong,p
a,x,yes,0,0.25
b,y,no,1,1
c,x,no,0.5,1e-3
`

// decisionImport is an import of a table with a decision per row.
func decisionImport(t *testing.T, table string) Config {
	c := smallImport(t, table, featureCSV)
	c.Outcomes.Columns.Prediction, c.Outcomes.Columns.Fee, c.Outcomes.Columns.Propensity = "", "", "p"
	c.Missing = MissingKeep
	return c
}

// The executed pair of a row has the propensity of the table; of the others none is known.
func TestImportPropensities(t *testing.T) {
	c := decisionImport(t, decisionCSV)
	tensor, _, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []struct {
		pair string
		p    float64
	}{{"x/yes", 0.25}, {"y/no", 1}, {"x/no", 1e-3}} {
		i := tensor.Observed(n)
		for k, p := range tensor.Propensities(n) {
			if k == i && (p != want.p || tensor.Actions.Name(i) != want.pair) || k != i && !math.IsNaN(p) {
				t.Errorf("row %d: %v, pair %s", n, tensor.Propensities(n), tensor.Actions.Name(i))
			}
		}
	}
	c.Outcomes.File = storage.File(inFiles(t, decisionCSV, 2, func(i, line int) bool { return line%2 == i }))
	samePartials(t, c, 2)
	c.Outcomes.Columns.Propensity, c.Outcomes.Propensity = "", "unknown"
	tensor, _, err = Import(context.Background(), c)
	if err != nil || tensor.Propensity == nil || !math.IsNaN(tensor.Propensity[0]) {
		t.Error(tensor, err)
	}
}

// What is no probability is an error that names the row.
func TestBadImportedPropensities(t *testing.T) {
	for value, want := range map[string]string{
		"25": "is 25, which looks like per cent", "1.01": "is 1.01, which looks like per cent", "0": "is 0, but the pair was executed",
		"-0.1": "is -0.1; a propensity is a probability above 0", "250": "is 250; a propensity", "": "is missing; where no propensity is known", "much": "is not a number",
		"NaN": "", "inf": "",
	} {
		c := decisionImport(t, strings.Replace(decisionCSV, "1e-3", value, 1))
		_, _, err := Import(context.Background(), c)
		dataerrortest.Check(t, err, c.Outcomes.File.String(), 4, "p", want)
	}
	for name, row := range map[string]string{"the same row": "b,y,no,1,1\n", "another pair": "b,x,no,1,0.5\n", "another value": "b,y,no,1,0.5\n"} {
		c := decisionImport(t, decisionCSV+row)
		_, _, err := Import(context.Background(), c)
		dataerrortest.Check(t, err, c.Outcomes.File.String(), 5, "p", `instance "b" has several rows`)
		c.Outcomes.File = storage.File(inFiles(t, decisionCSV+row, 2, func(i, line int) bool { return line/3 == i }))
		if _, _, err := fromPartials(t, c, 2); err == nil || !strings.Contains(err.Error(), `instance "b" has several rows`) {
			t.Errorf("%s in two pieces: %v", name, err)
		}
	}
}

// A column and "unknown" exclude each other, and a wide table has neither.
func TestPropensitySettings(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		`outcomes.propensity is "some"; it may only be unknown`: func(c *Config) { c.Outcomes.Propensity = "some" },
		"set one of them": func(c *Config) { c.Outcomes.Propensity = "unknown" },
		"a table in wide form has only": func(c *Config) {
			c.Outcomes.Columns = Columns{ID: "id", Propensity: "p"}
			c.Outcomes.Wide = WideForm{Value: "loss", Pairs: []WideColumn{{Expert: "x", Column: "wrong"}}}
		},
	} {
		c := decisionImport(t, decisionCSV)
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
}
