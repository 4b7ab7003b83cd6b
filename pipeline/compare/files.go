package compare

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/dataerror"
	"pipe/internal/textfile"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// Files compares the reports in two files, report.json or folders that have one. With out, a folder, it writes
// comparison.json and comparison.html. What is not a report is a *costs.DataError.
func Files(a, b, out string) (*Comparison, error) {
	a, b = reportFile(a), reportFile(b)
	if err := files(a, b, out).Check(); err != nil {
		return nil, err
	}
	var read [2]*report.Report
	for i, file := range []string{a, b} {
		var err error
		if read[i], err = readReport(file); err != nil {
			return nil, err
		}
	}
	c := Reports(a, b, read[0], read[1])
	if out == "" {
		return c, nil
	}
	return stage.Alone(out, func() (*Comparison, error) { return c, c.write(out) })
}

const (
	jsonName = "comparison.json"
	htmlName = "comparison.html"
)

func files(a, b, out string) stage.Files {
	f := stage.Files{Reads: stage.NamedFiles(a, b)}
	if out != "" {
		f.Writes = []stage.Output{{Path: out, Patterns: []string{jsonName, htmlName}}}
	}
	return f
}

// reportFile is the report in a folder, or the file itself.
func reportFile(path string) string {
	if stage.IsFolder(path) {
		return filepath.Join(path, "report.json")
	}
	return path
}

func readReport(file string) (*report.Report, error) {
	b, err := textfile.ReadFile(file, textfile.MaxConfig)
	if err != nil {
		return nil, dataerror.FromText(err)
	}
	r, err := report.Read(bytes.NewReader(b))
	if err != nil {
		return nil, &costs.DataError{File: file, Msg: "is not a report", Err: err}
	}
	if len(r.Rows) == 0 {
		return nil, &costs.DataError{File: file, Msg: "is not a report: it has no rows"}
	}
	return r, nil
}

func (c *Comparison) write(out string) error {
	for name, write := range map[string]func(io.Writer) error{jsonName: c.WriteJSON, htmlName: c.WriteHTML} {
		if err := atomicfile.Write(filepath.Join(out, name), write); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes the comparison as one object.
func (c *Comparison) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(c)
}
