package features

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"pipe/costs"
	"pipe/featurize/tabular"
	"pipe/internal/atomicfile"
	"pipe/internal/config"
	"pipe/internal/lists"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/pipeline/stage"
)

// The files that Featurize writes.
const (
	TableFile   = "table.parquet"
	EncoderFile = "encoder.json"
	ReportFile  = "featurize.json"
)

// Options are the options of Run.
type Options struct {
	Primary storage.Location // CSV file, a row per instance
	Joined  storage.Location // CSV file whose columns join the rows with the same id; empty: none
	Columns storage.Location // the column groups (YAML)
	Split   Split            // the first draw is taken
	Out     storage.Location // folder
}

// DefaultOptions uses a quarter of the rows for validation, by the hash of the id.
func DefaultOptions() Options {
	return Options{Split: DefaultSplit()}
}

// Validate reports every problem at once.
func (o Options) Validate() error {
	var list config.Problems
	list.Check(!o.Primary.IsZero(), "no file with the rows is given")
	list.Check(!o.Columns.IsZero(), "no file with the column groups is given")
	list.Check(!o.Out.IsZero(), "no folder for the output is given")
	o.Split.Check(list.Check)
	return list.Err()
}

// Report describes the rows that were read and the table made of them. It is the JSON object of pipe featurize
// and the content of featurize.json.
type Report struct {
	Format     int                `json:"format"`
	Load       tabular.LoadReport `json:"load"`
	Train      int                `json:"train"`    // rows
	Validation int                `json:"val"`      // rows
	Left       int                `json:"left_out"` // rows in neither
	Positive   float64            `json:"positive"` // share of training rows whose label is not the first one
	Groups     []Group            `json:"groups"`
	Encoder    string             `json:"encoder"` // its digest
}

// Group is one column group of the table.
type Group struct {
	Name    string `json:"name"`
	Columns int    `json:"columns"` // of the table
	Dense   int    `json:"dense"`   // numbers that the dense layout makes of them
	Empty   int    `json:"empty"`   // columns without any value in the training rows
}

// Run reads and joins CSV files, fits an encoder on the training rows and writes table.parquet, encoder.json and
// featurize.json into o.Out. If the files there are complete and made from the same inputs, it does nothing.
//
// A problem in the rows is a *costs.DataError with file, line and column, a problem in the column groups a
// *stage.ConfigError.
func Run(ctx context.Context, o Options, p stage.Progress) (*Report, error) {
	p = stage.OrQuiet(p)
	if err := o.Validate(); err != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("featurize: %w", err)}
	}
	if err := o.Files().Check(ctx); err != nil {
		return nil, err
	}
	return stage.Alone(o.Out, func() (*Report, error) { return featurizeInto(ctx, o, p) })
}

func featurizeInto(ctx context.Context, o Options, p stage.Progress) (*Report, error) {
	p.Start(-1, "check the input files")
	defer p.Done()
	rows, err := OpenRows(ctx, o.Primary, o.Joined, o.Columns, p)
	if err != nil {
		return nil, err
	}
	return rows.Featurize(ctx, o.Out, o.Split, 0)
}

// schemaConfig is a file with column groups.
type schemaConfig struct {
	Columns tabular.Schema `yaml:"columns"`
}

func (f *schemaConfig) Validate() error { return f.Columns.Validate() }

// LoadSchema reads a file with column groups.
func LoadSchema(ctx context.Context, path storage.Location) (*tabular.Schema, error) {
	var c schemaConfig
	if err := config.Load(ctx, path, &c); err != nil {
		return nil, err
	}
	return &c.Columns, nil
}

// Rows are the rows of two files. They are read when first needed and kept for further splits.
type Rows struct {
	Schema   *tabular.Schema
	files    tabular.Files
	inputs   map[string]string // digests of files and schema
	progress stage.Progress
	frame    *tabular.Frame // nil until needed
	report   tabular.LoadReport
	labels   []string // per row
}

// OpenRows reads the column groups and digests the two files, whose rows are read later. joined is empty if there
// is only one file.
func OpenRows(ctx context.Context, primary, joined, columns storage.Location, p stage.Progress) (*Rows, error) {
	p = stage.OrQuiet(p)
	schema, err := LoadSchema(ctx, columns)
	if err != nil {
		return nil, err
	}
	t := &Rows{
		Schema: schema, files: tabular.Files{Primary: primary, Joined: joined}, progress: p,
		inputs: map[string]string{"columns": stage.Digest(schema)},
	}
	for _, f := range []struct {
		role string
		path storage.Location
	}{{"primary", primary}, {"joined", joined}} {
		if f.path.IsZero() {
			continue
		}
		if t.inputs[f.role], err = costs.FileDigest(ctx, f.path); err != nil {
			return nil, fmt.Errorf("featurize: %w", err)
		}
	}
	return t, nil
}

// load reads the files, once.
func (t *Rows) load(ctx context.Context) error {
	if t.frame != nil {
		return nil
	}
	t.progress.Start(-1, "read rows")
	defer t.progress.Done()
	f, report, err := tabular.Load(ctx, t.Schema, t.files, func(n int) { t.progress.Add(int64(n)) })
	if err != nil {
		return err
	}
	t.labels = make([]string, f.Len())
	for i, l := range f.Labels {
		if l < 0 {
			return &costs.DataError{File: t.files.Primary.String(), Column: t.Schema.Label, Msg: "is missing; experts cannot learn without labels"}
		}
		t.labels[i] = t.Schema.Labels[l]
	}
	t.frame, t.report = f, report
	return nil
}

// Featurize writes the table, the encoder and the report of one draw of the split into a folder.
func (t *Rows) Featurize(ctx context.Context, out storage.Location, split Split, draw int) (*Report, error) {
	return Step(ctx, out, split.Describe(draw), t.inputs, func() error {
		if err := t.load(ctx); err != nil {
			return err
		}
		return t.write(ctx, out, split, draw)
	})
}

// Step has write make the files of Featurize in a folder, unless they are complete and of the same inputs and
// split. inputs are digests.
func Step(ctx context.Context, out storage.Location, split string, inputs map[string]string, write func() error) (*Report, error) {
	s := stage.Step{Folder: out, Name: "featurize", Inputs: map[string]string{"split": split, "format": "1"}}
	maps.Copy(s.Inputs, inputs)
	err := s.Run(ctx, func() ([]string, error) { return []string{TableFile, EncoderFile, ReportFile}, write() })
	if err != nil {
		return nil, err
	}
	return readReport(ctx, out.Join(ReportFile))
}

func (t *Rows) write(ctx context.Context, out storage.Location, split Split, draw int) error {
	names, err := split.draw(t.frame.IDs, t.labels, t.frame.Groups, draw)
	if data, ok := errors.AsType[*costs.DataError](err); ok {
		data.File = t.files.Primary.String()
	}
	if err != nil {
		return err
	}
	f, used := framePart(t.frame, names)
	train := rowsOf(used, costs.Train)
	e, err := tabular.Fit(f, t.Schema, train)
	if err != nil {
		return err
	}
	if _, err := atomicfile.MkdirAllAt(ctx, out); err != nil {
		return err
	}
	t.progress.Start(int64(f.Len()), "write table")
	defer t.progress.Done()
	table := out.Join(TableFile)
	if err := tabular.WriteTable(ctx, table, e, f, used, func(n int) { t.progress.Add(int64(n)) }); err != nil {
		return err
	}
	if err := e.WriteFile(ctx, out.Join(EncoderFile)); err != nil {
		return err
	}
	return atomicfile.WriteAt(ctx, out.Join(ReportFile), stage.Indented(t.describe(e, f, used)))
}

// framePart returns the rows that are in a split, with their splits.
func framePart(f *tabular.Frame, names []string) (*tabular.Frame, []string) {
	var rows []int
	for n, name := range names {
		if name != "" {
			rows = append(rows, n)
		}
	}
	if len(rows) == len(names) {
		return f, names
	}
	part := &tabular.Frame{
		File: f.File, Absent: f.Absent, IDs: lists.Pick(f.IDs, rows), Groups: lists.Pick(f.Groups, rows), Labels: lists.Pick(f.Labels, rows), Time: lists.Pick(f.Time, rows), Lines: lists.Pick(f.Lines, rows),
	}
	for _, c := range f.Columns {
		c.Numbers, c.Codes = lists.Pick(c.Numbers, rows), lists.Pick(c.Codes, rows)
		part.Columns = append(part.Columns, c)
	}
	return part, lists.Pick(names, rows)
}

func rowsOf(names []string, split costs.Split) []int {
	var rows []int
	for n, name := range names {
		if name == split.String() {
			rows = append(rows, n)
		}
	}
	return rows
}

func (t *Rows) describe(e *tabular.Encoder, f *tabular.Frame, names []string) *Report {
	train := rowsOf(names, costs.Train)
	r := &Report{Load: t.report, Train: len(train), Validation: len(rowsOf(names, costs.Val)), Left: t.frame.Len() - f.Len()}
	positive := 0
	for _, n := range train {
		if f.Labels[n] > 0 {
			positive++
		}
	}
	return r.Complete(e, positive)
}

// Complete fills in the rest of a report with load and rows: how many of the training rows have another label than the
// first one.
func (r *Report) Complete(e *tabular.Encoder, positive int) *Report {
	r.Format, r.Encoder = 1, e.Digest()
	for range positive {
		r.Positive += 1 / float64(r.Train)
	}
	columns, from := e.Columns(), 0
	for g, end := range e.GroupEnds(tabular.LayoutDense) {
		group := Group{Name: e.Groups()[g], Dense: end - from}
		for _, c := range columns {
			if c.Group == g {
				group.Columns++
				if c.Empty {
					group.Empty++
				}
			}
		}
		r.Groups, from = append(r.Groups, group), end
	}
	return r
}

func readReport(ctx context.Context, path storage.Location) (*Report, error) {
	text, err := textfile.ReadFileAt(ctx, path, textfile.MaxConfig)
	if err != nil {
		return nil, fmt.Errorf("read featurize report: %w", err)
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read featurize report %q: %w", path, err)
	}
	return &r, nil
}

// WriteText writes the report for a reader at a terminal.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows: %d train (%.2f%% positive), %d val, %d left out\n", r.Load.Rows, r.Train, 100*r.Positive, r.Validation, r.Left)
	if r.Load.Joined > 0 {
		fmt.Fprintf(&b, "%d rows of the second file joined, %d belong to no row of the first\n", r.Load.Matched, r.Load.Unmatched)
	}
	for _, line := range []struct {
		what    string
		columns []string
	}{
		{"columns that no file has", r.Load.Absent},
		{"columns of the files that no group has", r.Load.Ignored},
		{"columns without a value", r.Load.Empty},
	} {
		if len(line.columns) > 0 {
			fmt.Fprintf(&b, "%d %s: %s\n", len(line.columns), line.what, safetext.Line(textfile.Listed(line.columns, 12)))
		}
	}
	for _, warning := range r.Load.Warnings {
		fmt.Fprintf(&b, "note: %s\n", safetext.Line(warning))
	}
	rows := [][]string{{"group", "columns", "dense", "empty"}}
	for _, g := range r.Groups {
		rows = append(rows, []string{g.Name, fmt.Sprint(g.Columns), fmt.Sprint(g.Dense), fmt.Sprint(g.Empty)})
	}
	_, err := io.WriteString(w, b.String()+"\n"+safetext.Table(rows))
	return err
}

// Files are what a run reads and writes.
func (o Options) Files() stage.Files {
	return stage.Files{
		Reads:  stage.NamedFiles(o.Columns, o.Primary, o.Joined),
		Writes: []stage.Output{{Path: o.Out, Patterns: []string{TableFile, EncoderFile, ReportFile, "featurize.stage.json"}}},
	}
}
