package outcome

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/dataerror"
	"pipe/internal/digest"
	"pipe/internal/storage"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// Import reads existing outcome tables into a cost tensor. Bad content gives a
// *DataError; a missing outcome or feature never becomes a number.
func Import(ctx context.Context, c Config) (*costs.Tensor, Report, error) {
	return importWithin(ctx, c, textfile.NewMemoryBudget(textfile.MaxHeld))
}

// importWithin is Import with another limit on memory.
func importWithin(ctx context.Context, c Config, held *textfile.MemoryBudget) (*costs.Tensor, Report, error) {
	return (&importer{config: &c, held: held}).finish(ctx)
}

// finish runs the import and closes what it opened.
func (m *importer) finish(ctx context.Context) (*costs.Tensor, Report, error) {
	t, err := m.run(ctx)
	for _, c := range m.closers {
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		return nil, m.report, fmt.Errorf("import: %w", err)
	}
	return t, m.report, nil
}

type importer struct {
	config   *Config
	report   Report
	closers  []io.Closer
	held     *textfile.MemoryBudget // memory of all data read
	partials Partials               // instead of the table of outcomes; nil: none
	meter    *meter                 // measured fees
	grading  *grading               // of answers; nil if outcomes are no answers

	outcomes   *outcomes
	features   []*featureBlock
	labels     *textColumn       // nil if no table has labels
	splits     *textColumn       // nil if no table has splits
	groups     *textColumn       // nil if no table has groups
	times      *timeColumn       // nil if no table has times
	references *textColumn       // of answers, nil if no table has them
	questions  *textColumn       // nil if no table has them
	propensity *propensityColumn // nil if the outcomes have none
}

func (m *importer) run(ctx context.Context) (*costs.Tensor, error) {
	err := m.start(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.openGrader(ctx); err != nil {
		return nil, err
	}
	read := m.readOutcomes
	if m.partials != nil {
		read = m.mergePartials
	}
	if m.outcomes, err = read(ctx); err != nil {
		return nil, err
	}
	m.report.Instances = m.outcomes.ids.Len()
	if m.report.Instances == 0 {
		return nil, &costs.DataError{File: m.config.Outcomes.File.String(), Msg: "has no rows"}
	}
	if err := m.readFeatures(ctx); err != nil {
		return nil, err
	}
	actions, order, err := m.actions(ctx)
	if err != nil {
		return nil, err
	}
	keep, err := m.complete(actions, order)
	if err != nil {
		return nil, err
	}
	t, err := m.assemble(ctx, actions, order, keep)
	if err != nil {
		return nil, err
	}
	m.report.summarise(t)
	return t, m.inTensor(t.ValidatePartial())
}

// start checks the configuration and reads the prices.
func (m *importer) start(ctx context.Context) (err error) {
	if err := m.config.Validate(); err != nil {
		return err
	}
	if m.config.Base != nil {
		m.config.Base.complete(m.config)
	}
	m.config.Features = slices.Clone(m.config.Features) // those of the caller stay as they are
	for i := range m.config.Features {
		f := &m.config.Features[i]
		f.ID = cmp.Or(f.ID, m.config.Outcomes.Columns.ID)
	}
	m.meter, err = newMeter(ctx, m.config)
	return err
}

// keptIDs returns the ids of the kept instances; if that is all, without a copy.
func (m *importer) keptIDs(keep []int) ([]string, error) {
	all := m.outcomes.ids.List()
	if len(keep) == len(all) {
		return slices.Clip(all), nil
	}
	if err := m.held.AddCells(len(keep), 1, bytesOfText); err != nil {
		return nil, err
	}
	ids := make([]string, len(keep))
	for i, n := range keep {
		ids[i] = all[n]
	}
	return ids, nil
}

// inTensor names the table in an error about a row of the tensor, which is not
// a row of the table.
func (m *importer) inTensor(err error) error {
	data, ok := err.(*costs.DataError)
	if !ok || data.File != "" {
		return err
	}
	named := *data
	named.File, named.Row = m.config.Outcomes.File.String(), 0
	named.Msg = strings.TrimSpace(fmt.Sprintf("instance number %d %s", data.Row, data.Msg))
	return &named
}

// assemble builds the tensor of the kept instances.
func (m *importer) assemble(ctx context.Context, actions *costs.Actions, order []int, keep []int) (*costs.Tensor, error) {
	t := &costs.Tensor{Actions: actions}
	var err error
	if t.IDs, err = m.keptIDs(keep); err != nil {
		return nil, asData(m.config.Outcomes.File.String(), err)
	}
	if m.labels != nil {
		t.Labels = m.labels.pick(keep)
	}
	if m.groups != nil {
		t.Groups = m.groups.pick(keep)
	}
	if m.times != nil {
		t.Times = m.times.pick(keep)
	}
	if t.Splits, err = m.splitRows(t, keep); err != nil {
		return nil, err
	}
	if err := m.outcomes.fill(t, order, keep); err != nil {
		return nil, asData(m.config.Outcomes.File.String(), err)
	}
	if err := m.addPropensities(t, keep); err != nil {
		return nil, asData(m.config.Outcomes.File.String(), err)
	}
	m.outcomes, t.Meta = nil, make(map[string]string)
	if err := m.gradeAnswers(ctx, t, keep); err != nil {
		return nil, err
	}
	if err := m.encodeColumns(ctx, keep, t.IDs); err != nil {
		return nil, err
	}
	if err := m.fixCategories(keep, t.IDs); err != nil {
		return nil, err
	}
	var widths []int
	if t.Features, m.report.FeatureNames, widths, err = joinFeatures(m.features, keep, m.held); err != nil {
		return nil, asData(m.featureFile(m.config.Features[0]).String(), err)
	}
	if t.Dim = len(m.report.FeatureNames); t.Dim == 0 {
		return nil, errors.New("the feature tables have no features")
	}
	actions.Features = costs.FeatureSource{Name: m.featureName(), Dim: t.Dim}
	m.report.Kept, m.report.Unserved = len(keep), unserved(m.report.FeatureNames)
	names, err := json.Marshal(m.report.FeatureNames)
	if err != nil {
		return nil, err
	}
	t.Meta[costs.NamesKey] = string(names)
	if blocks := costs.BlocksText(widths); blocks != "" {
		t.Meta[costs.BlocksKey] = blocks
	}
	if actions.Digests, err = m.digests(ctx); err != nil {
		return nil, err
	}
	m.identify(actions, names)
	m.report.MeasuredFees, err = m.meter.measure(t)
	return t, dataerror.InFile(m.config.Outcomes.File.String(), err)
}

// identify adds the digests of the encoders, and of how the features are made.
func (m *importer) identify(a *costs.Actions, names []byte) {
	text := string(names)
	for i, b := range m.features {
		for _, e := range b.encoded {
			a.Digests[fmt.Sprintf("features[%d] %sencoder", i, map[bool]string{true: "image "}[e.setting == imageSetting])] = e.digest
			if text += "\n" + e.digest; e.decoder != "" {
				a.Digests[costs.DecoderDigest] = e.decoder
			}
		}
	}
	a.Digests[costs.FeatureDigest] = digest.Of([]byte(text))
	if v := m.onlyVectors(); v != nil {
		a.Digests[costs.FeatureDigest] = v.identity
	}
}

func (m *importer) featureName() string {
	if m.config.FeatureName != "" {
		return m.config.FeatureName
	}
	if v := m.onlyVectors(); v != nil {
		return v.name
	}
	var names []string
	for _, f := range m.config.Features {
		names = append(names, m.featureFile(f).Base())
	}
	return strings.Join(names, " + ")
}

func (m *importer) featureFile(f FeatureTable) storage.Location {
	if f.File.IsZero() {
		return m.config.Outcomes.File
	}
	return f.File
}

// digests returns the sha256 of every file that was read.
func (m *importer) digests(ctx context.Context) (map[string]string, error) {
	files := map[string]tablefile.Layout{"outcomes": m.config.Outcomes.layout()}
	if !m.config.Fees.File.IsZero() {
		files["fees"] = tablefile.Layout{Path: m.config.Fees.File}
	}
	if !m.config.Fees.Prices.IsZero() {
		files["prices"] = tablefile.Layout{Path: m.config.Fees.Prices}
	}
	for i := range m.config.Features {
		files[fmt.Sprintf("features[%d]", i)] = m.featureLayout(&m.config.Features[i])
	}
	digests := make(map[string]string)
	for _, role := range slices.Sorted(maps.Keys(files)) {
		parts, err := partsOf(ctx, files[role])
		if err != nil {
			return nil, err
		}
		for name, part := range parts {
			if digests[role+" "+name], err = costs.FileDigest(ctx, part); err != nil {
				return nil, err
			}
		}
	}
	return digests, nil
}

// walk reads the columns of a set row by row.
func (m *importer) walk(ctx context.Context, tab *tablefile.Table, set *columnSet, row func(tablefile.Row) error) error {
	if err := tab.Choose(set.names, m.timeColumns()...); err != nil {
		return m.expecting(err)
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := tab.Read()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return dataerror.InFile(tab.Path(), err)
		}
		set.open(b)
		for i := range b.Rows {
			if err := row(b.Row(i)); err != nil {
				return dataerror.InFile(b.Path, inRow(b.Place(i), err))
			}
		}
	}
}

// timeColumns are the columns of any table that hold times.
func (m *importer) timeColumns() []string {
	names := []string{m.config.Outcomes.Columns.Time}
	for _, f := range m.config.Features {
		names = append(names, f.Time)
	}
	return names
}

// inRow makes a data error of an error in a row, unless it already has a position.
func inRow(row int, err error) error {
	if fault, ok := err.(*textfile.Fault); ok {
		return &costs.DataError{Row: row, Err: fault}
	}
	return err
}
