package compare

import (
	"bytes"
	"context"
	"io"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// Files compares the reports in two files, report.json or folders that have one. With out, a folder, it writes
// comparison.json and comparison.html. What is not a report is a *costs.DataError.
func Files(ctx context.Context, a, b, out storage.Location) (*Comparison, error) {
	a, b = reportFile(ctx, a), reportFile(ctx, b)
	if err := files(a, b, out).Check(ctx); err != nil {
		return nil, err
	}
	var read [2]*report.Report
	for i, file := range []storage.Location{a, b} {
		var err error
		if read[i], err = readReport(ctx, file); err != nil {
			return nil, err
		}
	}
	c := Reports(a.String(), b.String(), read[0], read[1])
	if out.IsZero() {
		return c, nil
	}
	return stage.Alone(out, func() (*Comparison, error) { return c, c.write(ctx, out) })
}

const (
	jsonName = "comparison.json"
	htmlName = "comparison.html"
)

func files(a, b, out storage.Location) stage.Files {
	f := stage.Files{Reads: stage.NamedFiles(a, b)}
	if !out.IsZero() {
		f.Writes = []stage.Output{{Path: out, Patterns: []string{jsonName, htmlName}}}
	}
	return f
}

// reportFile is the report in a folder, or the file itself.
func reportFile(ctx context.Context, path storage.Location) storage.Location {
	if stage.IsFolder(ctx, path) {
		return path.Join("report.json")
	}
	return path
}

func readReport(ctx context.Context, file storage.Location) (*report.Report, error) {
	b, err := textfile.ReadFileAt(ctx, file, textfile.MaxConfig)
	if err != nil {
		return nil, dataerror.FromText(err)
	}
	r, err := report.Read(bytes.NewReader(b))
	if err != nil {
		return nil, &costs.DataError{File: file.String(), Msg: "is not a report", Err: err}
	}
	if len(r.Rows) == 0 {
		return nil, &costs.DataError{File: file.String(), Msg: "is not a report: it has no rows"}
	}
	return r, nil
}

func (c *Comparison) write(ctx context.Context, out storage.Location) error {
	for name, write := range map[string]func(io.Writer) error{jsonName: stage.Indented(c), htmlName: c.WriteHTML} {
		if err := atomicfile.WriteAt(ctx, out.Join(name), write); err != nil {
			return err
		}
	}
	return nil
}
