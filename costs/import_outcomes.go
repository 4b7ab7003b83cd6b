package costs

import (
	"fmt"
	"math"

	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// outcomes are the cells read so far, one column per pair seen. Instances are
// numbered as they appear.
type outcomes struct {
	ids     *textfile.Names
	experts *textfile.Names
	advice  *textfile.Names
	pairs   map[Pair]*outcomeColumn // by number in experts and advice
	texts   *textfile.Names         // predictions
	fees    bool
	texted  bool
	held    *textfile.Held
}

// outcomeColumn holds one pair's cells by instance. A loss that has not come
// is NaN, which no loss can be.
type outcomeColumn struct {
	loss []float32
	fee  []float32
	text []int32
}

func newOutcomes(fees, texted bool, held *textfile.Held) *outcomes {
	return &outcomes{
		ids: textfile.NewNames(held), experts: textfile.NewNames(held), advice: textfile.NewNames(held), texts: textfile.NewNames(held),
		pairs: make(map[Pair]*outcomeColumn), fees: fees, texted: texted, held: held,
	}
}

// put stores a cell and reports whether the place was free.
func (o *outcomes) put(n int, p Pair, loss, fee float64, text string) (free bool, err error) {
	c := o.pairs[p]
	if c == nil {
		const bytesOfPair = 120 // about, with its place in the map
		if err := o.held.Add(bytesOfPair); err != nil {
			return false, err
		}
		c = &outcomeColumn{}
		o.pairs[p] = c
	}
	if c.loss, err = grown(c.loss, n, float32(math.NaN()), o.held); err != nil {
		return false, err
	}
	if l := c.loss[n]; l == l {
		return false, nil
	}
	c.loss[n] = float32(loss)
	if o.fees {
		if c.fee, err = grown(c.fee, n, 0, o.held); err != nil {
			return false, err
		}
		c.fee[n] = float32(fee)
	}
	if o.texted {
		if c.text, err = grown(c.text, n, 0, o.held); err != nil {
			return false, err
		}
		number, err := o.texts.Add(text)
		if err != nil {
			return false, err
		}
		c.text[n] = int32(number)
	}
	return true, nil
}

// grown returns s with an element n, the new ones being gap.
func grown[T int32 | float32](s []T, n int, gap T, held *textfile.Held) ([]T, error) {
	if len(s) > n {
		return s, nil
	}
	if err := held.AddCells(n+1-len(s), 1, bytesOfValue); err != nil {
		return nil, err
	}
	for len(s) <= n {
		s = append(s, gap)
	}
	return s, nil
}

// pair returns the numbers of an expert and an advice.
func (o *outcomes) pair(expert, advice string) (p Pair, err error) {
	if p.Expert, err = o.experts.Add(expert); err != nil {
		return p, err
	}
	p.Advice, err = o.advice.Add(advice)
	return p, err
}

// has reports whether the cell of instance n is there.
func (c *outcomeColumn) has(n int) bool {
	return c != nil && n < len(c.loss) && c.loss[n] == c.loss[n]
}

// fill copies the cells of the kept instances into t. The pair of action i has
// the number order[i] = expert*levels+advice in the order of appearance, or -1
// if it never appeared.
func (o *outcomes) fill(t *Tensor, order []int, keep []int) error {
	a := len(order)
	bytes := bytesOfValue
	if o.fees {
		bytes += bytesOfValue
	}
	if o.texted {
		bytes += bytesOfText
	}
	if err := o.held.AddCells(len(keep), a, bytes); err != nil {
		return err
	}
	t.Loss = make([]float32, len(keep)*a)
	if o.fees {
		t.Fee = make([]float32, len(keep)*a)
	}
	if o.texted {
		t.Predictions = make([]string, len(keep)*a)
	}
	for i := range order {
		c := o.column(order[i])
		for row, n := range keep {
			if !c.has(n) {
				t.Loss[row*a+i] = float32(math.NaN())
				continue
			}
			t.Loss[row*a+i] = c.loss[n]
			if o.fees {
				t.Fee[row*a+i] = c.fee[n]
			}
			if o.texted {
				t.Predictions[row*a+i] = o.texts.List()[c.text[n]]
			}
		}
	}
	return nil
}

func (o *outcomes) column(number int) *outcomeColumn {
	if number < 0 {
		return nil
	}
	levels := o.advice.Len()
	return o.pairs[Pair{number / levels, number % levels}]
}

// readOutcomes reads the outcome table in either form.
func (m *importer) readOutcomes() (*outcomes, error) {
	tab, err := tablefile.Open(m.config.Outcomes.File)
	if err != nil {
		return nil, err
	}
	defer tab.Close()
	if len(m.config.Outcomes.Wide.Pairs) > 0 {
		return m.readWide(tab)
	}
	return m.readLong(tab)
}

// columnSet collects the columns to choose and where each will be.
type columnSet struct {
	names []string
	at    map[string]int
}

// want returns the position of a column, -1 for the empty name.
func (s *columnSet) want(name string) int {
	if name == "" {
		return -1
	}
	if i, ok := s.at[name]; ok {
		return i
	}
	if s.at == nil {
		s.at = make(map[string]int)
	}
	s.at[name] = len(s.names)
	s.names = append(s.names, name)
	return len(s.names) - 1
}

func (m *importer) readLong(tab tablefile.Table) (*outcomes, error) {
	c := m.config.Outcomes.Columns
	o := newOutcomes(c.Fee != "", c.Prediction != "", m.held)
	var set columnSet
	id, expert, advice := set.want(c.ID), set.want(c.Expert), set.want(c.Advice)
	value, valueName := set.want(c.Loss+c.Correct+c.Score), c.Loss+c.Correct+c.Score
	fee, prediction := set.want(c.Fee), set.want(c.Prediction)
	toLoss := m.lossOf(map[bool]string{true: "correct", false: "score"}[c.Correct != ""])
	if c.Loss != "" {
		toLoss = m.lossOf("loss")
	}
	texts := m.instanceTexts(&set, c.Label, c.Split, c.Group)
	err := m.walk(tab, set.names, func(row int, cells []tablefile.Cell) error {
		m.report.OutcomeRows++
		name := cells[expert].String()
		level := ""
		if advice >= 0 {
			level = cells[advice].String()
		}
		switch keep, err := m.wanted(name, level, advice >= 0); {
		case err != nil:
			return &DataError{Row: row, Err: err}
		case !keep:
			m.report.IgnoredRows++
			return nil
		}
		if cells[id].Missing() {
			return &DataError{Row: row, Column: c.ID, Msg: "is missing"}
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
			return nil // counted with the cells that are not there at all
		}
		return m.store(o, n, p, outcomeCells{row, cells, value, fee, prediction, valueName, c.Fee}, toLoss)
	})
	return o, err
}

// outcomeCells says where one outcome is in a row.
type outcomeCells struct {
	row                    int
	cells                  []tablefile.Cell
	value, fee, prediction int
	valueName, feeName     string
}

// store checks one outcome and puts it into its place.
func (m *importer) store(o *outcomes, n int, p Pair, at outcomeCells, toLoss func(*tablefile.Cell) (float64, error)) error {
	loss, err := toLoss(&at.cells[at.value])
	if err != nil {
		return &DataError{Row: at.row, Column: at.valueName, Err: err}
	}
	fee, text := 0.0, ""
	if at.fee >= 0 {
		if fee, err = at.cells[at.fee].Float(); err == nil && fee < 0 {
			err = fmt.Errorf("is %v; a fee is not negative", fee)
		}
		if err != nil {
			return &DataError{Row: at.row, Column: at.feeName, Err: err}
		}
	}
	if at.prediction >= 0 {
		text = at.cells[at.prediction].String()
	}
	free, err := o.put(n, p, loss, fee, text)
	if err != nil {
		return err
	}
	if !free {
		return &DataError{Row: at.row, Column: at.valueName, Msg: fmt.Sprintf("instance %s, expert %s, advice %s is there already",
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
			err = fmt.Errorf("is %v, outside %v to %v; a score_range can say otherwise", v, worst, best)
		}
		return loss, err
	}
}

// instanceTexts prepares the columns of a table with an instance's label, split
// and group, "" where it has none. The function it returns notes them for
// instance n.
func (m *importer) instanceTexts(set *columnSet, label, split, group string) func(n int, cells []tablefile.Cell) error {
	var columns []*textColumn
	var at []int
	for _, c := range []struct {
		name string
		into **textColumn
	}{{label, &m.labels}, {split, &m.splits}, {group, &m.groups}} {
		if c.name != "" {
			*c.into = newTextColumn(c.name, m.held)
			columns, at = append(columns, *c.into), append(at, set.want(c.name))
		}
	}
	s := set.want(split)
	return func(n int, cells []tablefile.Cell) error {
		for i, c := range columns {
			if err := c.set(n, cells[at[i]]); err != nil {
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
	if data, ok := err.(*DataError); ok {
		data.Row = row
	}
	return err
}

func (m *importer) readWide(tab tablefile.Table) (*outcomes, error) {
	c, pairs := m.config.Outcomes.Columns, m.config.Outcomes.Wide.Pairs
	o := newOutcomes(pairs[0].Fee != "", pairs[0].Prediction != "", m.held)
	var set columnSet
	id := set.want(c.ID)
	at := make([]outcomeCells, len(pairs))
	who := make([]Pair, len(pairs))
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
			value: set.want(p.Column), fee: set.want(p.Fee), prediction: set.want(p.Prediction),
			valueName: p.Column, feeName: p.Fee,
		}
	}
	toLoss := m.lossOf(m.config.Outcomes.Wide.Value)
	texts := m.instanceTexts(&set, c.Label, c.Split, c.Group)
	err := m.walk(tab, set.names, func(row int, cells []tablefile.Cell) error {
		m.report.OutcomeRows++
		if cells[id].Missing() {
			return &DataError{Row: row, Column: c.ID, Msg: "is missing"}
		}
		n, err := o.ids.Add(cells[id].String())
		if err != nil {
			return err
		}
		if n != m.report.OutcomeRows-1 {
			return &DataError{Row: row, Column: c.ID, Msg: textfile.Quoted(cells[id].String()) + " is there already"}
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
