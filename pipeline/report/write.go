package report

import (
	"context"
	"io"
	"slices"

	"pipe/internal/atomicfile"
	"pipe/internal/lists"
	"pipe/internal/storage"
	"pipe/pipeline/report/figure"
)

// Write writes the report into dir in every form: report.json, report.md, report.csv, report.html and every figure as
// SVG; also the frontier, the constants, the calibration, the disclosure and the experts, if there are any, as CSV. It draws missing
// figures for which there is data.
func Write(ctx context.Context, dir storage.Location, r *Report) error {
	full := r.illustrated()
	forms := []form{
		{"report.json", full.WriteJSON}, {"report.md", full.WriteMarkdown}, {"report.csv", full.WriteCSV}, {"report.html", full.WriteHTML},
	}
	if len(full.Frontier) > 0 {
		forms = append(forms, form{"frontier.csv", full.WriteFrontierCSV})
	}
	if len(full.Constants) > 0 {
		forms = append(forms, form{"constants.csv", full.WriteConstantsCSV})
	}
	if len(full.Calibration) > 0 {
		forms = append(forms, form{"calibration.csv", full.WriteCalibrationCSV})
	}
	if len(full.Disclosure) > 0 {
		forms = append(forms, form{"disclosure.csv", full.WriteDisclosureCSV})
	}
	if len(full.Experts) > 0 {
		forms = append(forms, form{"experts.csv", full.WriteExpertCSV})
	}
	for _, f := range forms {
		if err := atomicfile.WriteAt(ctx, dir.Join(f.name), f.write); err != nil {
			return err
		}
	}
	return figure.Write(ctx, dir, FigurePatterns, full.Figures)
}

// form is one file of a report.
type form struct {
	name  string
	write func(io.Writer) error
}

// illustrated returns the report with the figures of its rows and distributions, one set for each setting. Figures that it has
// already are kept.
func (r *Report) illustrated() *Report {
	full := *r
	full.Figures = slices.Clone(r.Figures)
	for _, setting := range r.SettingNames() {
		part := r.Of(setting)
		part.Settings = r.Settings
		for _, f := range part.illustrate() {
			if setting != "" {
				f.Name, f.Title = f.Name+"_"+setting, setting+": "+f.Title
			}
			if !slices.ContainsFunc(full.Figures, func(o figure.Figure) bool { return o.Name == f.Name }) {
				full.Figures = append(full.Figures, f)
			}
		}
	}
	full.Figures = lists.Keep(full.Figures, func(f figure.Figure) bool { return f.Shows() })
	return &full
}

// HasFigures reports whether the report has data for any figure.
func (r *Report) HasFigures() bool { return len(r.illustrated().Figures) > 0 }

// WriteFigures writes the figures of the report into a folder, each as NAME.svg.
func WriteFigures(ctx context.Context, folder storage.Location, r *Report) error {
	return figure.Write(ctx, folder, FigurePatterns, r.illustrated().Figures)
}

// FigurePatterns match the figures of reports.
var FigurePatterns = figurePatterns()

func figurePatterns() (patterns []string) {
	for _, name := range []string{excessName, lossName, frontierName, calibrationName, learningName, decisionsName} {
		patterns = append(patterns, name+".svg", name+"_*.svg")
	}
	for _, start := range []string{segmentsName, pairsName, flowName, mapName} {
		patterns = append(patterns, start+"_*.svg")
	}
	return patterns
}

// Patterns match the files that Write writes.
var Patterns = append([]string{"report.json", "report.md", "report.csv", "report.html", "frontier.csv", "constants.csv", "calibration.csv", "disclosure.csv", "experts.csv"}, FigurePatterns...)
