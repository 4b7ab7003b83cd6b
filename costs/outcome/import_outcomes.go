package outcome

import (
	"context"
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// readOutcomes reads the outcome table in either form.
func (m *importer) readOutcomes(ctx context.Context) (*outcomes, error) {
	tab, err := m.openOutcomes(ctx)
	if err != nil {
		return nil, err
	}
	defer tab.Close()
	if len(m.config.Outcomes.Wide.Pairs) > 0 {
		return m.readWide(ctx, tab)
	}
	return m.readLong(ctx, tab)
}

// newOutcomes has no outcomes yet.
func (m *importer) newOutcomes(texted bool) *outcomes {
	o := newOutcomes(m.meter.on, m.meter.keeps(m.config), texted, m.held)
	for _, name := range m.config.factNames() {
		o.facts = append(o.facts, factCells{name, m.config.factKind(name), textfile.NewNames(m.held)})
	}
	return o
}

// longTable reads outcomes in long form.
type longTable struct {
	*importer
	outcomes           *outcomes
	id, expert, advice *keys // advice is nil if the table has none
	level              int   // number of the advice in a table without advice, -1 before the first outcome
	cells              outcomeCells
	texts              func(n int, row tablefile.Row) error
}

func (m *importer) readLong(ctx context.Context, tab *tablefile.Table) (*outcomes, error) {
	c := m.config.Outcomes.Columns
	o := m.newOutcomes(c.Prediction+c.Answer != "")
	kind := "loss"
	switch {
	case c.Correct != "":
		kind = "correct"
	case c.Score != "":
		kind = "score"
	case c.Answer != "":
		kind = "answer"
	}
	var set columnSet
	t := &longTable{
		importer: m, outcomes: o, level: -1,
		id: set.wantKeys(c.ID, o.ids), expert: set.wantKeys(c.Expert, o.experts), advice: set.wantKeys(c.Advice, o.advice),
		cells: outcomeCells{
			value: set.want(c.Loss + c.Correct + c.Score + c.Answer), name: c.Loss + c.Correct + c.Score + c.Answer, loss: m.lossOf(kind),
			fee: m.meter.columns(&set, c.Fee, c.Usage), prediction: set.wantKeys(c.Prediction+c.Answer, o.texts),
			facts: o.wantFacts(&set, c.Observed), empty: m.config.Outcomes.EmptyAnswers == emptyWrong,
		},
		texts: m.instanceTexts(&set, c.instance()),
	}
	m.wantPropensity(&set)
	return o, m.walk(ctx, tab, &set, t.row)
}

func (t *longTable) row(row tablefile.Row) error {
	t.report.OutcomeRows++
	p, err := t.pair(row)
	switch {
	case err != nil:
		return err
	case p.Expert < 0:
		t.report.IgnoredRows++
		return nil
	case row.Missing(t.id.at):
		return &costs.DataError{Row: row.Place(), Column: t.config.Outcomes.Columns.ID, Msg: "is missing"}
	}
	n, err := t.id.add(row)
	if err != nil {
		return err
	}
	if err := t.texts(n, row); err != nil {
		return shiftedTo(err, row.Place())
	}
	if err := t.propensity.read(n, t.outcomes.ids.List()[n], row); err != nil {
		return err
	}
	if row.Missing(t.cells.value) && !t.cells.empty {
		return nil // counted as a missing cell
	}
	return t.store(t.outcomes, n, p, &t.cells, row)
}

// pair returns the pair of a row, with expert -1 if the row is ignored.
func (t *longTable) pair(row tablefile.Row) (p costs.Pair, err error) {
	p = costs.Pair{Expert: t.expert.find(row), Advice: t.level}
	if t.advice != nil {
		p.Advice = t.advice.find(row)
	}
	if p.Expert >= 0 && p.Advice >= 0 {
		return p, nil // both were wanted before
	}
	expert, level := row.Text(t.expert.at), ""
	if t.advice != nil {
		level = row.Text(t.advice.at)
	}
	switch keep, err := t.wanted(expert, level, t.advice != nil); {
	case err != nil:
		return p, &costs.DataError{Row: row.Place(), Err: err}
	case !keep:
		return costs.Pair{Expert: -1}, nil
	}
	p, err = t.outcomes.pair(expert, level)
	if t.advice == nil {
		t.level = p.Advice
	}
	return p, err
}

// outcomeCells holds the positions of one outcome in a row.
type outcomeCells struct {
	value      int
	name       string // of the column of the value
	loss       func(row tablefile.Row, value int) (float64, error)
	fee        meterColumns
	prediction *keys // nil if there are no predictions
	facts      []factColumn
	empty      bool // whether an empty value is an outcome
}

// store checks and stores one outcome.
func (m *importer) store(o *outcomes, n int, p costs.Pair, at *outcomeCells, row tablefile.Row) error {
	loss, err := at.loss(row, at.value)
	if err != nil {
		return &costs.DataError{Row: row.Place(), Column: at.name, Err: err}
	}
	var made call
	if m.meter.on {
		made, err = m.meter.read(&at.fee, row, o.experts.List()[p.Expert])
		switch {
		case errors.Is(err, errNoValue) && m.config.missing() != MissingError:
			m.report.MissingUsage++
			return nil // counted as a missing cell
		case err != nil:
			return shiftedTo(err, row.Place())
		}
	}
	c, err := o.column(p)
	if err != nil {
		return err
	}
	switch free, err := c.put(n, loss); {
	case err != nil:
		return err
	case !free:
		return &costs.DataError{Row: row.Place(), Column: at.name, Msg: fmt.Sprintf("instance %s, expert %s, advice %s is a duplicate",
			textfile.Quoted(o.ids.List()[n]), textfile.Quoted(o.experts.List()[p.Expert]), textfile.Quoted(o.advice.List()[p.Advice]))}
	}
	return o.putRest(c, n, made, at.prediction, at.facts, row)
}

// lossOf returns the conversion of a kind of value to a loss.
func (m *importer) lossOf(kind string) func(row tablefile.Row, value int) (float64, error) {
	switch kind {
	case "loss":
		return tablefile.Row.Float
	case "answer": // judged when all rows have been read
		return func(tablefile.Row, int) (float64, error) { return 0, nil }
	case "correct":
		return func(row tablefile.Row, value int) (float64, error) {
			v, err := row.Flag(value)
			return 1 - v, err
		}
	}
	worst, best := 0.0, 1.0
	if r := m.config.Outcomes.ScoreRange; r != nil {
		worst, best = r[0], r[1]
	}
	return func(row tablefile.Row, value int) (float64, error) {
		v, err := row.Float(value)
		loss := (best - v) / (best - worst)
		if err == nil && !(loss >= 0 && loss <= 1) {
			err = fmt.Errorf("is %v, outside %v to %v; set score_range for another range", v, worst, best)
		}
		return loss, err
	}
}

// instanceTexts prepares the columns of a table with properties of an instance. The function it returns stores the
// properties of instance n. An empty field is an error, or else the instance is incomplete unless another row has the value.
func (m *importer) instanceTexts(set *columnSet, from instanceColumns) func(n int, row tablefile.Row) error {
	var columns []*textColumn
	for _, c := range []struct {
		name string
		into **textColumn
	}{{from.label, &m.labels}, {from.split, &m.splits}, {from.group, &m.groups}, {from.reference, &m.references}, {from.question, &m.questions}} {
		if c.name != "" {
			*c.into = newTextColumn(set, c.name, m.held)
			columns = append(columns, *c.into)
		}
	}
	time := set.want(from.time)
	if time >= 0 {
		m.times = &timeColumn{name: from.time, unit: m.config.Time.Unit, held: m.held}
	}
	newSplit := newValues(from.split != "", &m.splits, func(word string) error {
		_, err := m.splitOf(word)
		return err
	})
	newReference := newValues(from.reference != "", &m.references, m.checkReference)
	mayMiss := m.config.missing() != MissingError
	return func(n int, row tablefile.Row) error {
		for _, c := range columns {
			if mayMiss && row.Missing(c.keys.at) {
				continue
			}
			if err := c.set(n, row); err != nil {
				return err
			}
		}
		if time >= 0 && !(mayMiss && row.Missing(time)) {
			if err := m.times.set(n, row.Cell(time)); err != nil {
				return err
			}
		}
		if err := newSplit(); err != nil {
			return err
		}
		return newReference()
	}
}

// newValues returns a function that checks the value that the last row added to
// a column, if it did.
func newValues(there bool, column **textColumn, check func(string) error) func() error {
	known := 0
	return func() error {
		if !there || (*column).values.Len() == known {
			return nil
		}
		known++
		return check((*column).values.List()[known-1])
	}
}

func shiftedTo(err error, row int) error {
	if data, ok := err.(*costs.DataError); ok {
		data.Row = row
	}
	return err
}

// wideTable reads outcomes in wide form.
type wideTable struct {
	*importer
	outcomes *outcomes
	id       *keys
	pairs    []widePair // the wanted ones
	texts    func(n int, row tablefile.Row) error
}

type widePair struct {
	costs.Pair
	cells outcomeCells
}

func (m *importer) readWide(ctx context.Context, tab *tablefile.Table) (*outcomes, error) {
	c, pairs := m.config.Outcomes.Columns, m.config.Outcomes.Wide.Pairs
	answers := m.config.Outcomes.answers()
	o := m.newOutcomes(answers || pairs[0].Prediction != "")
	var set columnSet
	t := &wideTable{importer: m, outcomes: o, id: set.wantKeys(c.ID, o.ids)}
	toLoss := m.lossOf(m.config.Outcomes.Wide.Value)
	for _, p := range pairs {
		switch keep, err := m.wanted(p.Expert, p.Advice, true); {
		case err != nil:
			return nil, err
		case !keep:
			continue
		}
		who, err := o.pair(p.Expert, p.Advice)
		if err != nil {
			return nil, err
		}
		if answers {
			p.Prediction = p.Column
		}
		t.pairs = append(t.pairs, widePair{who, outcomeCells{
			value: set.want(p.Column), name: p.Column, loss: toLoss,
			fee: m.meter.columns(&set, p.Fee, p.Usage), prediction: set.wantKeys(p.Prediction, o.texts),
			facts: o.wantFacts(&set, p.Observed), empty: m.config.Outcomes.EmptyAnswers == emptyWrong,
		}})
	}
	t.texts = m.instanceTexts(&set, c.instance())
	return o, m.walk(ctx, tab, &set, t.row)
}

func (t *wideTable) row(row tablefile.Row) error {
	t.report.OutcomeRows++
	column := t.config.Outcomes.Columns.ID
	if row.Missing(t.id.at) {
		return &costs.DataError{Row: row.Place(), Column: column, Msg: "is missing"}
	}
	n, err := t.id.add(row)
	if err != nil {
		return err
	}
	if n != t.report.OutcomeRows-1 {
		return &costs.DataError{Row: row.Place(), Column: column, Msg: textfile.Quoted(row.Text(t.id.at)) + " is a duplicate"}
	}
	if err := t.texts(n, row); err != nil {
		return shiftedTo(err, row.Place())
	}
	for i := range t.pairs {
		p := &t.pairs[i]
		if row.Missing(p.cells.value) && !p.cells.empty {
			continue
		}
		if err := t.store(t.outcomes, n, p.Pair, &p.cells, row); err != nil {
			return err
		}
	}
	return nil
}
