package costs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/digest"
	"pipe/internal/parquetfile"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// ImportReport counts what an import read, kept and left out.
type ImportReport struct {
	OutcomeRows  int            `json:"outcome_rows"`            // rows of the outcome table
	IgnoredRows  int            `json:"ignored_rows,omitempty"`  // of them, rows of experts or advice that are not listed
	Instances    int            `json:"instances"`               // distinct ids among the outcomes
	Kept         int            `json:"kept"`                    // instances in the tensor
	MissingCells int            `json:"missing_cells"`           // pairs without an outcome, over all instances
	Dropped      []Dropped      `json:"dropped,omitempty"`       // why instances were left out
	UnusedRows   int            `json:"unused_rows,omitempty"`   // feature rows of ids without outcomes
	Splits       map[string]int `json:"splits"`                  // instances per split
	Groups       int            `json:"groups,omitempty"`        // distinct groups, where there are any
	Divided      int            `json:"divided,omitempty"`       // of them, groups that a split column puts on several sides
	FeatureNames []string       `json:"feature_names,omitempty"` // one per feature
	Constants    []Constants    `json:"constants"`               // per split, what a constant choice costs at lambda 1
}

// Dropped is a reason for leaving instances out. An instance with several
// reasons counts under the first.
type Dropped struct {
	Reason string   `json:"reason"`
	Count  int      `json:"count"`
	First  []string `json:"first"` // some of the ids
}

// Constants compares the best fixed pair of a split with its oracle, at lambda
// 1.
type Constants struct {
	Split    string  `json:"split"`
	Rows     int     `json:"rows"`
	Best     string  `json:"best_fixed"`
	BestCost float64 `json:"best_fixed_cost"`
	Oracle   float64 `json:"oracle"`
}

// Import reads foreign tables into a cost tensor. Bad content gives a
// *DataError; a missing outcome or feature never becomes a number.
func Import(ctx context.Context, c ImportConfig) (*Tensor, ImportReport, error) {
	return importWithin(ctx, c, textfile.NewHeld(textfile.MaxHeld))
}

// importWithin is Import with another bound on the memory that it takes.
func importWithin(ctx context.Context, c ImportConfig, held *textfile.Held) (*Tensor, ImportReport, error) {
	m := &importer{ctx: ctx, config: &c, held: held}
	t, err := m.run()
	if err != nil {
		return nil, m.report, fmt.Errorf("import: %w", err)
	}
	return t, m.report, nil
}

type importer struct {
	ctx    context.Context
	config *ImportConfig
	report ImportReport
	held   *textfile.Held // memory of all that is read

	outcomes *outcomes
	features []*featureBlock
	labels   *textColumn // nil if no table has labels
	splits   *textColumn // nil if no table has splits
	groups   *textColumn // nil if no table has groups
}

func (m *importer) run() (*Tensor, error) {
	if err := m.config.Validate(); err != nil {
		return nil, err
	}
	var err error
	if m.outcomes, err = m.readOutcomes(); err != nil {
		return nil, err
	}
	m.report.Instances = m.outcomes.ids.Len()
	if m.report.Instances == 0 {
		return nil, &DataError{File: m.config.Outcomes.File, Msg: "has no rows"}
	}
	if err := m.readFeatures(); err != nil {
		return nil, err
	}
	actions, order, err := m.actions()
	if err != nil {
		return nil, err
	}
	keep, err := m.complete(actions, order)
	if err != nil {
		return nil, err
	}
	t, err := m.assemble(actions, order, keep)
	if err != nil {
		return nil, err
	}
	m.summarise(t)
	return t, t.Validate()
}

// assemble builds the tensor of the kept instances.
func (m *importer) assemble(actions *Actions, order []int, keep []int) (*Tensor, error) {
	t := &Tensor{Actions: actions}
	if err := m.held.AddCells(len(keep), 1, bytesOfText); err != nil {
		return nil, asData(m.config.Outcomes.File, err)
	}
	t.IDs = make([]string, len(keep))
	for i, n := range keep {
		t.IDs[i] = m.outcomes.ids.List()[n]
	}
	if m.labels != nil {
		t.Labels = m.labels.pick(keep)
	}
	if m.groups != nil {
		t.Groups = m.groups.pick(keep)
	}
	if err := m.outcomes.fill(t, order, keep); err != nil {
		return nil, asData(m.config.Outcomes.File, err)
	}
	m.outcomes = nil
	var err error
	if t.Features, t.Dim, m.report.FeatureNames, err = joinFeatures(m.features, keep, m.held); err != nil {
		return nil, asData(m.featureFile(m.config.Features[0]), err)
	}
	if t.Dim == 0 {
		return nil, errors.New("the feature tables give no feature")
	}
	m.features = nil
	actions.Features = FeatureSource{Name: m.featureName(), Dim: t.Dim}
	if t.Splits, err = m.splitRows(t, keep); err != nil {
		return nil, err
	}
	m.report.Kept = len(keep)
	names, err := json.Marshal(m.report.FeatureNames)
	if err != nil {
		return nil, err
	}
	t.Meta = map[string]string{NamesKey: string(names)}
	if actions.Digests, err = m.digests(); err != nil {
		return nil, err
	}
	actions.Digests[FeatureDigest] = digest.Of(names)
	return t, nil
}

func (m *importer) featureName() string {
	if m.config.FeatureName != "" {
		return m.config.FeatureName
	}
	var names []string
	for _, f := range m.config.Features {
		names = append(names, filepath.Base(m.featureFile(f)))
	}
	return strings.Join(names, " + ")
}

func (m *importer) featureFile(f FeatureTable) string {
	if f.File == "" {
		return m.config.Outcomes.File
	}
	return f.File
}

// digests returns the sha256 of every file that was read.
func (m *importer) digests() (map[string]string, error) {
	files := map[string]string{"outcomes": m.config.Outcomes.File}
	if m.config.Fees.File != "" {
		files["fees"] = m.config.Fees.File
	}
	for i, f := range m.config.Features {
		files[fmt.Sprintf("features[%d]", i)] = m.featureFile(f)
	}
	digests := make(map[string]string)
	for _, role := range slices.Sorted(maps.Keys(files)) {
		parts, _, err := parquetfile.Parts(files[role])
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			sum, err := FileDigest(m.ctx, part)
			if err != nil {
				return nil, err
			}
			digests[role+" "+filepath.Base(part)] = sum
		}
	}
	return digests, nil
}

// summarise fills in what the report says about the finished tensor.
func (m *importer) summarise(t *Tensor) {
	m.report.Splits = make(map[string]int)
	m.report.Groups, m.report.Divided = CountGroups(t.Groups, t.Splits)
	all := make([]int, t.Len())
	for n := range all {
		all[n] = n
		m.report.Splits[t.Splits[n].String()]++
	}
	add := func(name string, rows []int) {
		if len(rows) == 0 {
			return
		}
		s := Summarize(t, rows, 1)
		m.report.Constants = append(m.report.Constants, Constants{
			Split: name, Rows: len(rows), Best: t.Actions.Name(s.Best), BestCost: s.BestCost, Oracle: s.Oracle,
		})
	}
	add("all", all)
	for s := Train; s <= Test; s++ {
		add(s.String(), t.Rows(s))
	}
}

// walk reads the chosen columns of a table row by row.
func (m *importer) walk(tab tablefile.Table, columns []string, row func(row int, cells []tablefile.Cell) error) error {
	if err := tab.Choose(columns); err != nil {
		return err
	}
	cells := make([]tablefile.Cell, len(columns))
	for count := 0; ; count++ {
		if count%1024 == 0 {
			if err := m.ctx.Err(); err != nil {
				return err
			}
		}
		n, err := tab.Next(cells)
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err == nil {
			err = inRow(n, row(n, cells))
		}
		if err != nil {
			return dataerror.InFile(tab.Path(), err)
		}
	}
}

// inRow makes an error about data of a fault in a row whose place is not said yet.
func inRow(row int, err error) error {
	if fault, ok := err.(*textfile.Fault); ok {
		return &DataError{Row: row, Err: fault}
	}
	return err
}

// Bytes of a text in a slice of texts, and of a number or the number of a text.
const (
	bytesOfText  = 16
	bytesOfValue = 4
)

// textColumn is one text per instance, -1 while it is not known.
type textColumn struct {
	name   string
	values *textfile.Names
	at     []int32
	held   *textfile.Held
}

func newTextColumn(name string, held *textfile.Held) *textColumn {
	return &textColumn{name: name, values: textfile.NewNames(held), held: held}
}

// set notes the text of an instance, which must be the same every time.
func (c *textColumn) set(n int, text tablefile.Cell) error {
	var err error
	if c.at, err = grown(c.at, n, -1, c.held); err != nil {
		return err
	}
	if text.Missing() {
		return &DataError{Column: c.name, Msg: "is missing"}
	}
	number, err := c.values.Add(text.String())
	if err != nil {
		return err
	}
	v := int32(number)
	if c.at[n] >= 0 && c.at[n] != v {
		return &DataError{Column: c.name, Msg: fmt.Sprintf("is %s, but earlier in the same instance %s",
			textfile.Quoted(c.values.List()[v]), textfile.Quoted(c.values.List()[c.at[n]]))}
	}
	c.at[n] = v
	return nil
}

// has reports whether the text of an instance is known.
func (c *textColumn) has(n int) bool { return n < len(c.at) && c.at[n] >= 0 }

func (c *textColumn) pick(rows []int) []string {
	out := make([]string, len(rows))
	for i, n := range rows {
		out[i] = c.values.List()[c.at[n]]
	}
	return out
}
