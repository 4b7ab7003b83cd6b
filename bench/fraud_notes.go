package bench

import (
	"fmt"
	"strings"

	"pipe/internal/textfile"
	"pipe/models"
	"pipe/pipeline/features"
	"pipe/pipeline/report"
)

// overallNotes are the notes on the whole report.
func (r *fraudRun) overallNotes(whole *report.Report, table *features.Report) []string {
	notes := r.notes
	notes = append(notes, fmt.Sprintf("%d rows read; each split has %d training rows (%.2f%% positive) and %d validation rows.",
		table.Load.Rows, table.Train, 100*table.Positive, table.Validation))
	if table.Load.Unmatched > 0 {
		notes = append(notes, fmt.Sprintf("%d identity rows belong to no transaction.", table.Load.Unmatched))
	}
	if n := len(table.Load.Absent); n > 0 {
		notes = append(notes, fmt.Sprintf("%d columns of the configuration are in no file: %s.", n, textfile.Listed(table.Load.Absent, 12)))
	}
	for _, s := range r.c.Settings {
		notes = append(notes, r.settingNotes(whole.Of(s.Name), s)...)
	}
	return notes
}

// settingNotes summarise one setting: the constant answer, the distance to L2D and to the known optimum.
func (r *fraudRun) settingNotes(part *report.Report, s fraudSetting) []string {
	loss := map[report.RowKey]report.Row{}
	for _, row := range part.Rows {
		loss[row.Key()] = row
	}
	at := func(method string, lambda float64) (report.Row, bool) {
		row, ok := loss[report.RowKey{Setting: s.Name, Method: method, Lambda: lambda}]
		return row, ok
	}
	var gaps, distances []string
	furthest := 0.0
	for _, l := range s.Train.Lambdas {
		learned, ok := at(s.learnedMethod(), l)
		if !ok {
			continue
		}
		if l2d, ok := at(models.L2D, l); ok {
			gaps = append(gaps, fmt.Sprintf("%+.4f at lambda %g", l2d.TrueLossMean-learned.TrueLossMean, l))
		}
		if learned.ExcessMean != nil {
			distances = append(distances, fmt.Sprintf("%+.4f at lambda %g", *learned.ExcessMean, l))
			furthest = max(furthest, *learned.ExcessMean)
		}
	}
	var notes []string
	if len(gaps) > 0 {
		notes = append(notes, fmt.Sprintf("Setting %s: l2d minus %s is %s.", s.Name, s.learnedMethod(), strings.Join(gaps, ", ")))
	}
	if len(distances) > 0 {
		notes = append(notes, fmt.Sprintf("Setting %s: %s minus the known optimum (bayes) is %s: at most %.4f. The optimum plays, with these experts, the "+
			"pair that the law makes the best one of every cell; with ideal experts the law puts it at %s.",
			s.Name, s.learnedMethod(), strings.Join(distances, ", "), furthest, r.idealRisks(s)))
	}
	return notes
}

// idealRisks are the risks of the best policy by the law of the generated world.
func (r *fraudRun) idealRisks(s fraudSetting) string {
	law := r.law(r.c.actions(), s)
	var parts []string
	for _, l := range s.Train.Lambdas {
		parts = append(parts, fmt.Sprintf("%.4f", law.BayesRisk(l)))
	}
	return strings.Join(parts, ", ")
}
