package pipeline

import (
	"io"
	"path/filepath"
	"slices"
)

// WriteReport leaves the report in dir in every form: report.json, report.md, report.csv, report.html and every figure
// as PNG and SVG. Figures that the content allows and the report does not have yet are drawn.
func WriteReport(dir string, r *Report) error {
	full, err := r.illustrated()
	if err != nil {
		return err
	}
	forms := []form{
		{"report.json", full.WriteJSON}, {"report.md", full.WriteMarkdown}, {"report.csv", full.WriteCSV}, {"report.html", full.WriteHTML},
	}
	for _, f := range full.Figures {
		forms = append(forms, form{f.Name + ".png", bytesTo(f.PNG)}, form{f.Name + ".svg", bytesTo(f.SVG)})
	}
	for _, f := range forms {
		if err := WriteFile(filepath.Join(dir, f.name), f.write); err != nil {
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

// illustrated returns the report with the figures that follow from its rows and distributions.
func (r *Report) illustrated() (*Report, error) {
	full := *r
	full.Figures = slices.Clone(r.Figures)
	add := func(name string, wanted bool, draw func() (Figure, error)) error {
		if !wanted || slices.ContainsFunc(full.Figures, func(f Figure) bool { return f.Name == name }) {
			return nil
		}
		f, err := draw()
		full.Figures = append(full.Figures, f)
		return err
	}
	err := add(excessName, len(excessSeries(r.Rows)) > 0, func() (Figure, error) { return ExcessFigure(r.Rows) })
	if err != nil {
		return nil, err
	}
	if err := add(lossName, len(r.Lambdas()) > 1, func() (Figure, error) { return LossFigure(r.headline()) }); err != nil {
		return nil, err
	}
	for _, m := range r.advised() {
		if err := add(adviceName(m), true, func() (Figure, error) { return AdviceFigure(r.Distribution, m) }); err != nil {
			return nil, err
		}
	}
	return &full, nil
}

// advised returns the methods whose advice can be drawn: there is advice to choose from.
func (r *Report) advised() []string {
	var names []string
	for _, d := range r.Distribution {
		if len(d.Advice) > 1 && !slices.Contains(names, d.Method) {
			names = append(names, d.Method)
		}
	}
	return names
}
