package report

import (
	"context"
	"fmt"
	"io"
	"slices"

	"pipe/internal/atomicfile"
	"pipe/internal/storage"
)

// Write writes the report into dir in every form: report.json, report.md, report.csv, report.html and every figure as
// PNG and SVG; also the frontier, the constants, the calibration, the disclosure and the experts, if there are any, as CSV. It draws missing
// figures for which there is data.
func Write(ctx context.Context, dir storage.Location, r *Report) error {
	full, err := r.illustrated()
	if err != nil {
		return err
	}
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
	for _, f := range full.Figures {
		forms = append(forms, form{f.Name + ".png", bytesTo(f.PNG)}, form{f.Name + ".svg", bytesTo(f.SVG)})
	}
	for _, f := range forms {
		if err := atomicfile.WriteAt(ctx, dir.Join(f.name), f.write); err != nil {
			return err
		}
	}
	return nil
}

// form is one file of a report.
type form struct {
	name  string
	write func(io.Writer) error
}

func bytesTo(b []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(b); return err }
}

// illustrated returns the report with the figures of its rows and distributions, one set per setting.
func (r *Report) illustrated() (*Report, error) {
	full := *r
	full.Figures = slices.Clone(r.Figures)
	for _, setting := range r.SettingNames() {
		if err := full.illustrate(r.Of(setting), setting); err != nil {
			return nil, err
		}
	}
	return &full, nil
}

// illustrate adds the missing figures of one setting.
func (r *Report) illustrate(part *Report, setting string) error {
	add := func(name string, wanted bool, draw func() (Figure, error)) error {
		if setting != "" {
			name += "_" + setting
		}
		if !wanted || slices.ContainsFunc(r.Figures, func(f Figure) bool { return f.Name == name }) {
			return nil
		}
		f, err := draw()
		if setting != "" {
			f.Name, f.Caption = name, fmt.Sprintf("Setting %s. %s", setting, f.Caption)
		}
		r.Figures = append(r.Figures, f)
		return err
	}
	err := add(excessName, len(excessSeries(part.Rows)) > 0 && len(part.sizes()) > 1, func() (Figure, error) { return ExcessFigure(part.Rows) })
	if err != nil {
		return err
	}
	if err := add(lossName, len(part.Lambdas()) > 1, func() (Figure, error) { return lossFigure(part.headline()) }); err != nil {
		return err
	}
	err = add(frontierName, len(part.Frontier) > 0, func() (Figure, error) { return frontierFigure(part.Frontier, part.Constants) })
	if err != nil {
		return err
	}
	err = add(calibrationName, hasReliability(part.Calibration), func() (Figure, error) { return calibrationFigure(part.Calibration) })
	if err != nil {
		return err
	}
	err = add(learningName, len(part.Learning) > 0, func() (Figure, error) { return learningFigure(part.Learning) })
	if err != nil {
		return err
	}
	for _, s := range part.Segments {
		name := segmentsName + "_lambda" + fixed(s.Lambda, -1)
		if err := add(name, len(s.Segments) > 0, func() (Figure, error) { return segmentsFigure(name, s) }); err != nil {
			return err
		}
	}
	for _, m := range part.advised() {
		if err := add(adviceName(m), true, func() (Figure, error) { return adviceFigure(part.Distribution, m) }); err != nil {
			return err
		}
	}
	return nil
}

// advised returns the methods whose advice can be drawn, which are those that had advice to choose from.
func (r *Report) advised() []string {
	var names []string
	for _, d := range r.Distribution {
		if len(d.Advice) > 1 && !slices.Contains(names, d.Method) {
			names = append(names, d.Method)
		}
	}
	return names
}

// Patterns match the files that WriteReport writes.
var Patterns = []string{"report.json", "report.md", "report.csv", "report.html", "frontier.csv", "constants.csv", "calibration.csv", "disclosure.csv", "experts.csv", "*.png", "*.svg"}
