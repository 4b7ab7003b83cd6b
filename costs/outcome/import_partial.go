package outcome

import (
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"maps"
	"slices"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// Partial is the outcomes of some pieces of an outcome table, pivoted: the cells of every pair by instance, with the texts
// and the times of the instances. The partials of all pieces, in their order, are the outcomes of the table.
type Partial struct {
	Rows, Ignored, MissingUsage int // counts for the report

	IDs, Experts, Advice, Texts []string   // in the order of their first appearance
	Facts                       [][]string // values of every fact, by the names of the facts
	Pairs                       []PartialPair
	Columns                     []PartialTexts // as far as the table has them, sorted by name
	Times                       []int64        // nil if the table has none
	Propensity                  []float64      // of the only pair of each instance; nil if the table has none
}

// PartialPair has the cells of a pair. The slices are parallel; Rows are the instances that have an outcome.
type PartialPair struct {
	Expert, Advice int
	Rows           []int32
	Loss, Fee      []float32 // Fee is nil if no fees are measured
	Usage          costs.Usage
	Text           []int32   // predictions, numbers in Texts; nil if there are none
	Facts          [][]int32 // numbers in the values of every fact, -1 where none is known
}

// PartialTexts is a text per instance.
type PartialTexts struct {
	Name   string // label, split, group, reference or question
	Values []string
	At     []int32 // numbers in Values, by instance
}

// OutcomePieces returns into how many pieces the outcome table can be cut: the row groups of a Parquet file, or the files of a
// folder. Other files are one piece.
func OutcomePieces(ctx context.Context, c Config) (int, error) {
	n, err := c.Outcomes.layout().Pieces(ctx)
	if err != nil {
		return 0, fmt.Errorf("import: %w", err)
	}
	return n, nil
}

// OutcomeFiles are the files of the outcome table, in the order in which they are read.
func OutcomeFiles(ctx context.Context, c Config) ([]storage.Location, error) {
	files, err := c.Outcomes.layout().Files(ctx)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	return files, nil
}

// ReadPartial reads the pieces [from, to) of the outcome table. Errors are those of Import. A range without pieces has no
// outcomes.
func ReadPartial(ctx context.Context, c Config, from, to int) (*Partial, error) {
	if from == to {
		return &Partial{}, nil
	}
	m := &importer{config: &c, held: textfile.NewMemoryBudget(textfile.MaxHeld)}
	p, err := m.partial(ctx, [2]int{from, to})
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	return p, nil
}

func (m *importer) partial(ctx context.Context, pieces [2]int) (*Partial, error) {
	if err := m.start(ctx); err != nil {
		return nil, err
	}
	m.config.Outcomes.part = &pieces
	o, err := m.readOutcomes(ctx)
	if err != nil {
		return nil, err
	}
	p := &Partial{
		Rows: m.report.OutcomeRows, Ignored: m.report.IgnoredRows, MissingUsage: m.report.MissingUsage,
		IDs: o.ids.List(), Experts: o.experts.List(), Advice: o.advice.List(), Texts: o.texts.List(),
	}
	for _, f := range o.facts {
		p.Facts = append(p.Facts, f.values.List())
	}
	for expert, levels := range o.pairs {
		for advice, c := range levels {
			if c != nil {
				p.Pairs = append(p.Pairs, c.partial(expert, advice, o))
			}
		}
	}
	columns := m.instanceColumns()
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		if c := *columns[name]; c != nil {
			t := PartialTexts{Name: name, Values: c.values.List()}
			for n := range o.ids.Len() {
				t.At = append(t.At, c.at.get(n))
			}
			p.Columns = append(p.Columns, t)
		}
	}
	if m.times != nil {
		p.Times = m.times.at
	}
	if m.propensity != nil {
		p.Propensity = m.propensity.at
	}
	return p, nil
}

// instanceColumns are the columns with a text per instance, by what they are.
func (m *importer) instanceColumns() map[string]**textColumn {
	return map[string]**textColumn{
		"label": &m.labels, "split": &m.splits, "group": &m.groups, "reference": &m.references, "question": &m.questions,
	}
}

// partial are the cells of a column that are set.
func (c *outcomeColumn) partial(expert, advice int, o *outcomes) PartialPair {
	p := PartialPair{Expert: expert, Advice: advice, Facts: make([][]int32, len(o.facts))}
	for n := range o.ids.Len() {
		if !c.has(n) {
			continue
		}
		p.Rows, p.Loss = append(p.Rows, int32(n)), append(p.Loss, c.loss.get(n))
		if o.fees {
			p.Fee = append(p.Fee, c.fee.get(n))
		}
		for q, kept := range o.usage {
			if kept {
				p.Usage[q] = append(p.Usage[q], c.usage[q].get(n))
			}
		}
		if o.texted {
			p.Text = append(p.Text, c.text.get(n))
		}
		for i := range p.Facts {
			p.Facts[i] = append(p.Facts[i], c.facts[i].get(n))
		}
	}
	return p
}

// Write writes a partial for ReadPartialFrom.
func (p *Partial) Write(w io.Writer) error { return gob.NewEncoder(w).Encode(p) }

// ReadPartialFrom reads what Write wrote.
func ReadPartialFrom(r io.Reader) (*Partial, error) {
	p := &Partial{}
	if err := gob.NewDecoder(r).Decode(p); err != nil {
		return nil, fmt.Errorf("read partial outcomes: %w", err)
	}
	return p, nil
}

// Partials calls use for the partials of all pieces, in their order.
type Partials func(use func(*Partial) error) error

// ImportPartials is Import of outcomes that were read before. An error about two rows that are not in one partial has no
// row.
func ImportPartials(ctx context.Context, c Config, partials Partials) (*costs.Tensor, Report, error) {
	m := &importer{config: &c, held: textfile.NewMemoryBudget(textfile.MaxHeld), partials: partials}
	return m.finish(ctx)
}

// mergePartials is readOutcomes of partials.
func (m *importer) mergePartials(ctx context.Context) (*outcomes, error) {
	tab, err := m.openOutcomes(ctx) // finds the pairs of a wide table
	if err != nil {
		return nil, err
	}
	tab.Close()
	c := m.config.Outcomes.Columns
	texted := c.Prediction+c.Answer != ""
	if pairs := m.config.Outcomes.Wide.Pairs; len(pairs) > 0 {
		texted = m.config.Outcomes.answers() || pairs[0].Prediction != ""
	}
	o := m.newOutcomes(texted)
	m.instanceTexts(&columnSet{}, c.instance())
	m.wantPropensity(&columnSet{})
	return o, m.partials(func(p *Partial) error { return m.mergePartial(o, p) })
}

func (m *importer) mergePartial(o *outcomes, p *Partial) error {
	m.report.OutcomeRows += p.Rows
	m.report.IgnoredRows += p.Ignored
	m.report.MissingUsage += p.MissingUsage
	type renamed struct {
		list []string
		to   *textfile.Names
	}
	lists := []renamed{{p.IDs, o.ids}, {p.Experts, o.experts}, {p.Advice, o.advice}, {p.Texts, o.texts}}
	if len(p.Facts) != len(o.facts) && len(p.IDs) > 0 {
		return m.again("", "the outcomes of a shard have other facts than the configuration")
	}
	for i, values := range p.Facts {
		lists = append(lists, renamed{values, o.facts[i].values})
	}
	numbers := make([][]int, len(lists))
	for i, from := range lists {
		before := from.to.Len()
		for k, name := range from.list {
			n, err := from.to.Add(name)
			if err != nil {
				return asData(m.config.Outcomes.File.String(), err)
			}
			if i == 0 && m.config.Outcomes.isWide() && n != before+k {
				return m.again(m.config.Outcomes.Columns.ID, textfile.Quoted(name)+" is a duplicate")
			}
			numbers[i] = append(numbers[i], n)
		}
	}
	columns := m.instanceColumns()
	for _, c := range p.Columns {
		if columns[c.Name] == nil || *columns[c.Name] == nil {
			return m.again(c.Name, "is in the outcomes of a shard, and not in the configuration")
		}
		if err := m.mergeTexts(*columns[c.Name], c, numbers[0]); err != nil {
			return err
		}
	}
	if err := m.mergeTimes(p.Times, numbers[0]); err != nil {
		return err
	}
	if err := m.mergePropensities(p.Propensity, o.ids, numbers[0]); err != nil {
		return err
	}
	for i := range p.Pairs {
		if err := m.mergePair(o, &p.Pairs[i], numbers); err != nil {
			return err
		}
	}
	return nil
}

// again is an error about a row that contradicts another one.
func (m *importer) again(column, msg string) error {
	return &costs.DataError{File: m.config.Outcomes.File.String(), Column: column, Msg: msg}
}

func (m *importer) mergeTexts(c *textColumn, from PartialTexts, ids []int) error {
	for k, v := range from.At {
		if v < 0 {
			continue
		}
		at, err := c.at.slot(ids[k])
		if err != nil {
			return asData(m.config.Outcomes.File.String(), err)
		}
		known := c.values.Len()
		n, err := c.values.Add(from.Values[v])
		if err == nil && n == known && c == m.references {
			err = m.checkReference(from.Values[v])
		}
		if err != nil {
			return asData(m.config.Outcomes.File.String(), err)
		}
		if *at >= 0 && *at != int32(n) {
			return m.again(c.name, fmt.Sprintf("is %s, but earlier in the same instance %s",
				textfile.Quoted(from.Values[v]), textfile.Quoted(c.values.List()[*at])))
		}
		*at = int32(n)
	}
	return nil
}

func (m *importer) mergeTimes(times []int64, ids []int) error {
	for k, at := range times {
		if err := m.times.keep(ids[k], at); err != nil {
			return asData(m.config.Outcomes.File.String(), err)
		}
	}
	return nil
}

func (m *importer) mergePair(o *outcomes, p *PartialPair, numbers [][]int) error {
	pair := costs.Pair{Expert: numbers[1][p.Expert], Advice: numbers[2][p.Advice]}
	c, err := o.column(pair)
	if err != nil {
		return asData(m.config.Outcomes.File.String(), err)
	}
	for k, row := range p.Rows {
		n := numbers[0][row]
		free, err := c.put(n, float64(p.Loss[k]))
		if err == nil && !free {
			return m.again("", fmt.Sprintf("instance %s, expert %s, advice %s is a duplicate",
				textfile.Quoted(o.ids.List()[n]), textfile.Quoted(o.experts.List()[pair.Expert]), textfile.Quoted(o.advice.List()[pair.Advice])))
		}
		if err == nil && o.fees {
			err = set(&c.fee, n, p.Fee[k])
		}
		for q, kept := range o.usage {
			if err == nil && kept && p.Usage[q] != nil {
				err = set(&c.usage[q], n, p.Usage[q][k])
			}
		}
		if err == nil && o.texted && p.Text != nil {
			err = set(&c.text, n, int32(numbers[3][p.Text[k]]))
		}
		for i, values := range p.Facts {
			if v := values[k]; err == nil && v >= 0 {
				err = set(&c.facts[i], n, int32(numbers[4+i][v]))
			}
		}
		if err != nil {
			return asData(m.config.Outcomes.File.String(), err)
		}
	}
	return nil
}
