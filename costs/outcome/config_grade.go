package outcome

import (
	"context"
	"slices"

	"pipe/costs/grade"
	"pipe/internal/config"
)

// instanceColumns are the columns of a table with properties of an instance, ""
// where it has none.
type instanceColumns struct{ label, split, group, time, reference, question string }

// byKey returns the columns by their keys in a configuration.
func (c instanceColumns) byKey() map[string]string {
	return map[string]string{"label": c.label, "split": c.split, "group": c.group, "time": c.time, "reference": c.reference, "question": c.question}
}

func (c Columns) instance() instanceColumns {
	return instanceColumns{c.Label, c.Split, c.Group, c.Time, c.Reference, c.Question}
}

func (f FeatureTable) instance() instanceColumns {
	return instanceColumns{f.Label, f.Split, f.Group, f.Time, f.Reference, f.Question}
}

// answers reports whether the outcomes are answers that a grader judges.
func (t Table) answers() bool {
	return len(t.Wide.Pairs) > 0 && t.Wide.Value == "answer" || t.Wide.Answer != "" || t.Columns.Answer != ""
}

// emptyWrong is the value of EmptyAnswers for answers without a text.
const emptyWrong = "wrong"

// needModels are the kinds of graders whose settings are checked when their
// model is opened.
var needModels = []string{"judge", "pair"}

// checkGrade checks the grader of answers. places counts the tables that name a
// column, by its key.
func (c *Config) checkGrade(add func(bool, string, ...any), places map[string]int) {
	o := c.Outcomes
	add(o.answers() && o.Grade.Kind == "", "outcomes.grade is needed for answers: %s", "a kind of docs/grading.md, such as {kind: exact}")
	add(!o.answers() && o.Grade.Kind != "", "outcomes.grade needs answers: outcomes.columns.answer, or outcomes.wide.value answer")
	add(!slices.Contains([]string{"", "missing", emptyWrong}, o.EmptyAnswers), "outcomes.empty_answers is %q; it must be missing or wrong", o.EmptyAnswers)
	add(o.EmptyAnswers != "" && !o.answers(), "outcomes.empty_answers needs answers")
	add(o.ReferenceList && places["reference"] == 0, "outcomes.reference_list needs a column reference")
	add(o.answers() && c.predicts(), "a column prediction is set, but the answers are the predictions")
	add(!o.answers() && o.Grade.Kind == "" && places["reference"]+places["question"] > 0, "columns reference and question need outcomes.grade")
	if o.Grade.Kind == "" || slices.Contains(needModels, o.Grade.Kind) {
		return
	}
	g, err := grade.Open(context.Background(), o.Grade, nil)
	for _, problem := range config.Lines(err) {
		add(true, "outcomes.grade: %s", problem)
	}
	add(err == nil && g.NeedsReference() && places["reference"] == 0, "outcomes.grade: %s", noReference)
}

const noReference = "the grader compares answers with references; name their column with reference, in outcomes.columns or in a feature table"

// hasReference reports whether a table has references.
func (c *Config) hasReference() bool {
	return c.Outcomes.Columns.Reference != "" || slices.ContainsFunc(c.Features, func(f FeatureTable) bool { return f.Reference != "" })
}

// predicts reports whether there is a column of predictions.
func (c *Config) predicts() bool {
	if w := c.Outcomes.Wide.Pairs; len(w) > 0 {
		return w[0].Prediction != ""
	}
	return c.Outcomes.Columns.Prediction+c.Outcomes.Wide.Prediction != ""
}
