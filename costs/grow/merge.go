package grow

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"pipe/costs"
	"pipe/internal/progress"
	"pipe/internal/storage"
)

// How tensors are joined.
const (
	Rows  = "rows"  // the same actions, other instances: row by row
	Pairs = "pairs" // the same instances, other experts or advice: side by side
)

// MergeOptions control Merge. The zero value finds the mode, and accepts nothing
// that is not equal.
type MergeOptions struct {
	Mode        string           // Rows or Pairs; "": Rows if all files have the same actions, else Pairs
	KeepSame    bool             // of rows with the same id and the same content keep the first; otherwise they are an error
	Fees        costs.FeeList    // fees that replace those of the files; all others must be equal
	FeeFile     storage.Location // a file for costs.ReadFees; Fees take precedence
	Drop        []string         // what is left out of the result although not all files have it, see CheckDrop
	FillFee     bool             // in the mode Pairs, measured fees that a file does not have are 0
	FillGroup   bool             // rows of a file without groups are each a group of their own
	FillTime    time.Time        // of the rows of a file without times; zero: such a file is an error where others have times
	FeatureName string           // name of the features in the result; "": that of the files, which must be equal
	Names       []string         // of the files, as the result records them; nil: their base names
	Progress    progress.Progress
	Watch       func(file int, rows *costs.Tensor) // is shown all rows that are read, in the mode Rows; may be nil

	batch int // rows that are read at a time; 0: as many as the reader likes
}

// MergeReport describes a merged tensor.
type MergeReport struct {
	Format  int            `json:"format"`
	File    string         `json:"file"`
	Digest  string         `json:"digest"` // of the file
	Mode    string         `json:"mode"`
	Rows    int            `json:"rows"`
	Splits  map[string]int `json:"splits"`
	Actions int            `json:"actions"`
	Dim     int            `json:"dim"`
	Inputs  []MergeInput   `json:"inputs"`
	Unknown int            `json:"unknown,omitempty"`  // outcomes that are not known
	NoUsage []string       `json:"no_usage,omitempty"` // quantities, propensities and facts that some files do not have, so that they are not known of their rows
	Same    int            `json:"same,omitempty"`     // rows that were there already, with equal content
	GroupReport
	Digests []string `json:"other_digests,omitempty"` // inputs, such as models of experts, that several files were made from and whose digests differ
	Left    []string `json:"left_out,omitempty"`      // metadata that the files do not share, and columns, that the result does not have
}

// MergeInput is one of the files.
type MergeInput struct {
	File string `json:"file"`
	Rows int    `json:"rows"`
	Same int    `json:"same,omitempty"` // of these, rows that were there already, with equal content
}

// merger joins open files.
type merger struct {
	options MergeOptions
	inputs  []*input
	layout  *layout
	columns costs.WriterOptions
	writer  *costs.Writer
	groups  groupCount
	report  MergeReport
}

// Merge joins tensors, each a file or a folder of parts, in the order given, and
// writes the result to out, which appears only when it is complete. Experts,
// advice, features and optional columns must be equal, or be settled by an
// option: otherwise the error, a *costs.DataError, names the first difference.
// Digests of other inputs are recorded, not compared.
//
// In the mode Rows the result has the rows of the first file, then those of the
// second, and so on. In the mode Pairs it has the rows of the first file, and
// the pairs of all files.
func Merge(ctx context.Context, files []storage.Location, out storage.Location, o MergeOptions) (*MergeReport, error) {
	if o.Progress == nil {
		o.Progress = progress.Silent{}
	}
	m := &merger{options: o}
	defer m.close()
	err := m.open(ctx, files)
	if err == nil {
		err = m.run(ctx, out)
	}
	if err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	return &m.report, nil
}

func (m *merger) close() {
	for _, in := range m.inputs {
		in.close()
	}
	if m.writer != nil {
		m.writer.Abort()
	}
}

// Append writes to out the rows of the tensor at path and then those of t, which
// is called name in messages and in the parts. out may be path: the old file
// stays until the new one is complete. It is Merge in the mode Rows.
func Append(ctx context.Context, path storage.Location, t *costs.Tensor, name, out storage.Location, o MergeOptions) (*MergeReport, error) {
	if err := t.ValidatePartial(); err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	if o.Progress == nil {
		o.Progress = progress.Silent{}
	}
	o.Mode = Rows
	m := &merger{options: o}
	defer m.close()
	err := m.open(ctx, []storage.Location{path})
	if err == nil {
		m.inputs = append(m.inputs, &input{path: name, name: name.Base(), memory: t, actions: t.Actions, columns: t.Columns(), total: t.Len()})
		err = m.run(ctx, out)
	}
	if err != nil {
		return nil, fmt.Errorf("append: %w", err)
	}
	return &m.report, nil
}

func (m *merger) open(ctx context.Context, files []storage.Location) error {
	for i, file := range files {
		in, err := openInput(ctx, file, m.options.batch)
		if err != nil {
			return err
		}
		m.inputs = append(m.inputs, in)
		if i < len(m.options.Names) {
			in.name = m.options.Names[i]
		}
	}
	return nil
}

func (m *merger) run(ctx context.Context, out storage.Location) error {
	if len(m.inputs) < 2 {
		return fmt.Errorf("%d files; at least two are needed", len(m.inputs))
	}
	if err := m.check(ctx); err != nil {
		return err
	}
	if err := m.describe(ctx); err != nil {
		return err
	}
	var err error
	if m.writer, err = costs.NewWriter(ctx, out, m.layout.actions, m.columns); err != nil {
		return err
	}
	if err := m.join(ctx); err != nil {
		return err
	}
	return m.finish(ctx, out)
}

// check compares what the files say about themselves.
func (m *merger) check(ctx context.Context) error {
	if err := m.findMode(); err != nil {
		return err
	}
	for _, in := range m.inputs[1:] {
		if err := m.sameFeatures(m.inputs[0], in); err != nil {
			return err
		}
	}
	if err := m.settleColumns(); err != nil {
		return err
	}
	fees, err := m.fees(ctx)
	if err != nil {
		return err
	}
	m.layout, err = newLayout(m.inputs, fees)
	return err
}

// fees are those that replace the fees of the files. A price list may name other
// experts and advice too.
func (m *merger) fees(ctx context.Context) (costs.FeeList, error) {
	fees := costs.FeeList{Experts: map[string]float64{}, Advice: map[string]float64{}}
	if !m.options.FeeFile.IsZero() {
		list, err := costs.ReadFees(ctx, m.options.FeeFile)
		if err != nil {
			return fees, err
		}
		for _, in := range m.inputs {
			for _, e := range in.actions.Experts {
				copyFee(fees.Experts, list.Experts, e.Name)
			}
			for _, v := range in.actions.Advice {
				copyFee(fees.Advice, list.Advice, v.Name)
			}
		}
	}
	maps.Copy(fees.Experts, m.options.Fees.Experts)
	maps.Copy(fees.Advice, m.options.Fees.Advice)
	return fees, nil
}

func copyFee(to, from map[string]float64, name string) {
	if fee, listed := from[name]; listed {
		to[name] = fee
	}
}

// findMode determines the mode from the actions, or checks that they suit it.
func (m *merger) findMode() error {
	differ := sameActions(m.inputs)
	m.report.Mode = m.options.Mode
	switch {
	case m.options.Mode == "" && differ == nil:
		m.report.Mode = Rows
	case m.options.Mode == "":
		m.report.Mode = Pairs
	case m.options.Mode == Rows:
		return differ
	case m.options.Mode != Pairs:
		return fmt.Errorf("mode %q; known are %s and %s", m.options.Mode, Rows, Pairs)
	}
	return nil
}

func (m *merger) sameFeatures(a, b *input) error {
	changes, err := featureChanges(a, b)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if c.What == nameOfFeatures && m.options.FeatureName != "" || c.What == namesOfFeatures && sameDigest(a, b) {
			continue
		}
		remedy := ""
		if c.What == nameOfFeatures {
			remedy = "; if they are the same features, --feature-name sets one name"
		}
		return &costs.DataError{
			File: b.path.String(), Column: "features",
			Msg: fmt.Sprintf("%s is %s, but %s in %q%s", c.What, quotedOrNone(c.B), quotedOrNone(c.A), a.path, remedy),
		}
	}
	return nil
}

// join writes the rows.
func (m *merger) join(ctx context.Context) error {
	defer m.options.Progress.Done()
	m.report.Splits = map[string]int{}
	if m.report.Mode == Pairs {
		return m.joinPairs(ctx)
	}
	return m.joinRows(ctx)
}

// add writes rows of file f, whose actions are those of the result.
func (m *merger) add(f int, batch *costs.Tensor) error {
	batch.Actions = m.layout.actions
	for n, s := range batch.Splits {
		m.report.Splits[s.String()]++
		if batch.Groups != nil {
			m.groups.add(f, batch.Groups[n], s)
		}
	}
	m.report.Rows += batch.Len()
	if m.columns.Unknown {
		m.report.Unknown += batch.UnknownCells()
	}
	return m.writer.Append(batch)
}

func (m *merger) finish(ctx context.Context, out storage.Location) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.writer.Close(); err != nil {
		return err
	}
	for i, in := range m.inputs {
		if i == len(m.report.Inputs) {
			m.report.Inputs = append(m.report.Inputs, MergeInput{})
		}
		r := &m.report.Inputs[i]
		r.File, r.Rows = in.path.String(), in.rows
		m.report.Same += r.Same
	}
	m.report.Format, m.report.File = 1, out.String()
	m.report.Actions, m.report.Dim = m.layout.actions.Len(), m.columns.Dim
	m.report.GroupReport = m.groups.report()
	slices.Sort(m.report.Left)
	m.report.Left = slices.Compact(m.report.Left)
	var err error
	m.report.Digest, err = costs.FileDigest(ctx, out)
	return err
}
