package outcome

import (
	"context"
	"fmt"

	"pipe/costs"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// readOutcomes reads the outcome table in either form.
func (m *importer) readOutcomes(ctx context.Context) (*outcomes, error) {
	tab, err := tablefile.Open(m.config.Outcomes.File)
	if err != nil {
		return nil, err
	}
	defer tab.Close()
	if len(m.config.Outcomes.Wide.Pairs) > 0 {
		return m.readWide(ctx, tab)
	}
	return m.readLong(ctx, tab)
}

func (m *importer) readLong(ctx context.Context, tab *tablefile.Table) (*outcomes, error) {
	c := m.config.Outcomes.Columns
	o := newOutcomes(m.meter.on, c.Prediction != "", m.held)
	var set columnSet
	id, expert, advice := set.want(c.ID), set.want(c.Expert), set.want(c.Advice)
	value, valueName := set.want(c.Loss+c.Correct+c.Score), c.Loss+c.Correct+c.Score
	fee, prediction := m.meter.columns(&set, c.Fee, c.Usage), set.want(c.Prediction)
	toLoss := m.lossOf(map[bool]string{true: "correct", false: "score"}[c.Correct != ""])
	if c.Loss != "" {
		toLoss = m.lossOf("loss")
	}
	texts := m.instanceTexts(&set, instanceColumns{c.Label, c.Split, c.Group, c.Time})
	err := m.walk(ctx, tab, set.names, func(row int, cells []tablefile.Cell) error {
		m.report.OutcomeRows++
		name := cells[expert].String()
		level := ""
		if advice >= 0 {
			level = cells[advice].String()
		}
		switch keep, err := m.wanted(name, level, advice >= 0); {
		case err != nil:
			return &costs.DataError{Row: row, Err: err}
		case !keep:
			m.report.IgnoredRows++
			return nil
		}
		if cells[id].Missing() {
			return &costs.DataError{Row: row, Column: c.ID, Msg: "is missing"}
		}
		n, err := o.ids.Add(cells[id].String())
		if err != nil {
			return err
		}
		p, err := o.pair(name, level)
		if err != nil {
			return err
		}
		if err := texts(n, cells); err != nil {
			return shiftedTo(err, row)
		}
		if cells[value].Missing() {
			return nil // counted as a missing cell
		}
		return m.store(o, n, p, outcomeCells{row, cells, value, prediction, fee, valueName}, toLoss)
	})
	return o, err
}

// outcomeCells holds the positions of one outcome in a row.
type outcomeCells struct {
	row               int
	cells             []tablefile.Cell
	value, prediction int
	fee               meterColumns
	valueName         string
}

// store checks and stores one outcome.
func (m *importer) store(o *outcomes, n int, p costs.Pair, at outcomeCells, toLoss func(*tablefile.Cell) (float64, error)) error {
	loss, err := toLoss(&at.cells[at.value])
	if err != nil {
		return &costs.DataError{Row: at.row, Column: at.valueName, Err: err}
	}
	fee, err := m.meter.fee(at.fee, at.cells, o.experts.List()[p.Expert], 0, false)
	if err != nil {
		return shiftedTo(err, at.row)
	}
	text := ""
	if at.prediction >= 0 {
		text = at.cells[at.prediction].String()
	}
	free, err := o.put(n, p, loss, fee, text)
	if err != nil {
		return err
	}
	if !free {
		return &costs.DataError{Row: at.row, Column: at.valueName, Msg: fmt.Sprintf("instance %s, expert %s, advice %s is a duplicate",
			textfile.Quoted(o.ids.List()[n]), textfile.Quoted(o.experts.List()[p.Expert]), textfile.Quoted(o.advice.List()[p.Advice]))}
	}
	return nil
}

// lossOf returns the conversion of a kind of value to a loss.
func (m *importer) lossOf(kind string) func(*tablefile.Cell) (float64, error) {
	switch kind {
	case "loss":
		return (*tablefile.Cell).Float
	case "correct":
		return func(c *tablefile.Cell) (float64, error) {
			v, err := c.Flag()
			return 1 - v, err
		}
	}
	worst, best := 0.0, 1.0
	if r := m.config.Outcomes.ScoreRange; r != nil {
		worst, best = r[0], r[1]
	}
	return func(c *tablefile.Cell) (float64, error) {
		v, err := c.Float()
		loss := (best - v) / (best - worst)
		if err == nil && !(loss >= 0 && loss <= 1) {
			err = fmt.Errorf("is %v, outside %v to %v; set score_range for another range", v, worst, best)
		}
		return loss, err
	}
}

// instanceColumns are the columns of a table with properties of an instance, ""
// where it has none.
type instanceColumns struct{ label, split, group, time string }

// instanceTexts prepares these columns. The function it returns stores the
// properties of instance n.
func (m *importer) instanceTexts(set *columnSet, from instanceColumns) func(n int, cells []tablefile.Cell) error {
	var columns []*textColumn
	var at []int
	for _, c := range []struct {
		name string
		into **textColumn
	}{{from.label, &m.labels}, {from.split, &m.splits}, {from.group, &m.groups}} {
		if c.name != "" {
			*c.into = newTextColumn(c.name, m.held)
			columns, at = append(columns, *c.into), append(at, set.want(c.name))
		}
	}
	s, time := set.want(from.split), set.want(from.time)
	if time >= 0 {
		m.times = &timeColumn{name: from.time, unit: m.config.Time.Unit, held: m.held}
	}
	return func(n int, cells []tablefile.Cell) error {
		for i, c := range columns {
			if err := c.set(n, cells[at[i]]); err != nil {
				return err
			}
		}
		if time >= 0 {
			if err := m.times.set(n, cells[time]); err != nil {
				return err
			}
		}
		if s < 0 {
			return nil
		}
		_, err := m.splitOf(cells[s].String())
		return err
	}
}

func shiftedTo(err error, row int) error {
	if data, ok := err.(*costs.DataError); ok {
		data.Row = row
	}
	return err
}

func (m *importer) readWide(ctx context.Context, tab *tablefile.Table) (*outcomes, error) {
	c, pairs := m.config.Outcomes.Columns, m.config.Outcomes.Wide.Pairs
	o := newOutcomes(m.meter.on, pairs[0].Prediction != "", m.held)
	var set columnSet
	id := set.want(c.ID)
	at := make([]outcomeCells, len(pairs))
	who := make([]costs.Pair, len(pairs))
	for i, p := range pairs {
		keep, err := m.wanted(p.Expert, p.Advice, true)
		if err != nil {
			return nil, err
		}
		if !keep {
			who[i].Expert = -1
			continue
		}
		if who[i], err = o.pair(p.Expert, p.Advice); err != nil {
			return nil, err
		}
		at[i] = outcomeCells{
			value: set.want(p.Column), fee: m.meter.columns(&set, p.Fee, p.Usage), prediction: set.want(p.Prediction),
			valueName: p.Column,
		}
	}
	toLoss := m.lossOf(m.config.Outcomes.Wide.Value)
	texts := m.instanceTexts(&set, instanceColumns{c.Label, c.Split, c.Group, c.Time})
	err := m.walk(ctx, tab, set.names, func(row int, cells []tablefile.Cell) error {
		m.report.OutcomeRows++
		if cells[id].Missing() {
			return &costs.DataError{Row: row, Column: c.ID, Msg: "is missing"}
		}
		n, err := o.ids.Add(cells[id].String())
		if err != nil {
			return err
		}
		if n != m.report.OutcomeRows-1 {
			return &costs.DataError{Row: row, Column: c.ID, Msg: textfile.Quoted(cells[id].String()) + " is a duplicate"}
		}
		if err := texts(n, cells); err != nil {
			return shiftedTo(err, row)
		}
		for i, where := range at {
			if who[i].Expert < 0 || cells[where.value].Missing() {
				continue
			}
			where.row, where.cells = row, cells
			if err := m.store(o, n, who[i], where, toLoss); err != nil {
				return err
			}
		}
		return nil
	})
	return o, err
}
