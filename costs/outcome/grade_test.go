package outcome

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/costs/grade"
	"pipe/internal/dataerror/dataerrortest"
)

const answerCSV = `id,who,said,gold
a,x,"16 - 3 = 13, so 18.",18
a,y,17,18
b,x,no idea,"1,000"
b,y,$1000.00,"1,000"
`

func answerImport(t testing.TB, outcomes string) Config {
	c := smallImport(t, outcomes, featureCSV)
	c.None, c.Fees = "", FeeTable{}
	c.Outcomes.Columns = Columns{ID: "id", Expert: "who", Answer: "said", Reference: "gold"}
	c.Outcomes.Grade = grade.Config{Kind: "number"}
	return c
}

// Answers become losses, and are the predictions. The long form, the wide form and references in another table agree.
func TestGradedAnswers(t *testing.T) {
	check := func(c Config) {
		t.Helper()
		got, report, err := Import(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]float32{0, 1, 1, 0}, got.Loss); d != "" || got.Predictions[2] != "no idea" || got.Meta[gradeKey] != `{"kind":"number"}` {
			t.Errorf("%v %v %v", got.Loss, got.Predictions, got.Meta)
		}
		if *report.Graded != (Graded{Kind: "number", Answers: 4, Without: 1}) {
			t.Errorf("%+v", report.Graded)
		}
	}
	c := answerImport(t, answerCSV)
	check(c)
	put(t, c.Outcomes.File.String(), "id,x,y,gold\na,\"16 - 3 = 13, so 18.\",17,18\nb,no idea,$1000.00,\"1,000\"\n")
	c.Outcomes.Columns = Columns{ID: "id", Reference: "gold"}
	c.Outcomes.Wide = WideForm{Value: "answer", Pairs: []WideColumn{{Expert: "x", Column: "x"}, {Expert: "y", Column: "y"}}}
	check(c)
	c.Outcomes.Wide = WideForm{WidePattern: WidePattern{Answer: "{expert}"}}
	c.Experts = []string{"x", "y"}
	check(c)
	c.Outcomes.Columns.Reference = ""
	put(t, c.Features[0].File.String(), "id,f0,text,kind,truth,part,refs\na,1,t,red,cat,train,\"[\"\"18\"\", \"\"19\"\"]\"\nb,2,t,red,dog,val,\"[\"\"1000\"\"]\"\n")
	c.Features[0].Reference, c.Outcomes.ReferenceList = "refs", true
	check(c)
}

// What cannot be graded is an error with its place; an answer that is missing is no wrong answer.
func TestBadAnswers(t *testing.T) {
	for _, c := range []struct{ from, to, column, msg string }{
		{`17,18`, `17,many`, "gold", "is \"many\", but earlier in the same instance \"18\""},
		{"1,000\"\nb,y", "1,000 or 2\"\nb,y", "gold", `"1,000 or 2" has more than one number`},
		{`17,18`, `17,`, "gold", "is missing"},
	} {
		i := answerImport(t, strings.Replace(answerCSV, c.from, c.to, 1))
		_, _, err := Import(context.Background(), i)
		row := map[string]int{"is": 3, "\"1": 4}[c.msg[:2]]
		dataerrortest.Check(t, err, i.Outcomes.File.String(), row, c.column, c.msg)
	}
	i := answerImport(t, strings.Replace(answerCSV, "no idea", "", 1))
	_, report, err := Import(context.Background(), i)
	dataerrortest.Check(t, err, i.Outcomes.File.String(), 0, "", "1 cells are missing")
	if report.MissingCells != 1 {
		t.Errorf("%+v", report)
	}
	i.Outcomes.EmptyAnswers = "wrong"
	got, report, err := Import(context.Background(), i)
	if err != nil || got.Loss[2] != 1 || got.Predictions[2] != "" || report.Graded.Without != 1 {
		t.Errorf("%+v, %v", report.Graded, err)
	}
}

// Settings of answers that contradict each other are named, and so are those of the grader.
func TestGradeSettings(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"outcomes.grade is needed for answers":          func(c *Config) { c.Outcomes.Grade.Kind = "" },
		"outcomes.grade: unknown kind \"bleu\"":         func(c *Config) { c.Outcomes.Grade.Kind = "bleu" },
		"outcomes.grade: take is \"best\"":              func(c *Config) { c.Outcomes.Grade.Settings = map[string]any{"take": "best"} },
		"name their column with reference":              func(c *Config) { c.Outcomes.Columns.Reference = "" },
		"outcomes.reference_list needs a column":        func(c *Config) { c.Outcomes.Columns.Reference, c.Outcomes.ReferenceList = "", true },
		"a column prediction is set":                    func(c *Config) { c.Outcomes.Columns.Prediction = "p" },
		"exactly one of outcomes.columns.loss, correct": func(c *Config) { c.Outcomes.Columns.Loss = "l" },
		"outcomes.grade needs answers":                  func(c *Config) { c.Outcomes.Columns.Answer, c.Outcomes.Columns.Loss = "", "l" },
		"outcomes.empty_answers is":                     func(c *Config) { c.Outcomes.EmptyAnswers = "right" },
		"reference is taken from 2 places":              func(c *Config) { c.Features[0].Reference = "r" },
	} {
		c := answerImport(t, answerCSV)
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}
