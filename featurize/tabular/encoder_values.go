package tabular

import (
	"fmt"
	"strings"

	"pipe/internal/textfile"
)

// encoderColumn finds the codes of a category.
type encoderColumn struct{ codes map[string]int }

// lookUp builds the map from level to code.
func (e *Encoder) lookUp() {
	e.index = make([]encoderColumn, len(e.fitted.Columns))
	for i, c := range e.fitted.Columns {
		if c.Kind != kindCategory {
			continue
		}
		codes := make(map[string]int, len(c.Levels)+len(c.Rare))
		for n, level := range c.Levels {
			codes[level] = codeFirst + n
		}
		for _, level := range c.Rare {
			codes[level] = CodeRare
		}
		e.index[i].codes = codes
	}
}

// code returns the code of a level, CodeUnseen if it is unknown.
func (c *encoderColumn) code(level string) float32 { return float32(c.codes[level]) }

// binding maps the columns of an encoder to those of one frame.
type binding struct {
	frame   *Frame
	numbers [][]float32 // by column of the encoder; nil for categories and missing columns
	codes   [][]int32
	values  [][]float32 // of a category: the encoder's code by the frame's code
}

func (e *Encoder) bind(f *Frame) *binding {
	if b := e.binding.Load(); b != nil && b.frame == f {
		return b
	}
	at := make(map[string]*FrameColumn, len(f.Columns))
	for i := range f.Columns {
		at[f.Columns[i].Name] = &f.Columns[i]
	}
	n := len(e.fitted.Columns)
	b := &binding{frame: f, numbers: make([][]float32, n), codes: make([][]int32, n), values: make([][]float32, n)}
	for i, c := range e.fitted.Columns {
		have := at[c.Name]
		switch {
		case have == nil || have.Categorical != (c.Kind == kindCategory):
		case have.Categorical:
			b.codes[i] = have.Codes
			b.values[i] = make([]float32, len(have.Levels))
			for k, level := range have.Levels {
				b.values[i][k] = e.index[i].code(level)
			}
		default:
			b.numbers[i] = have.Numbers
		}
	}
	e.binding.Store(b)
	return b
}

// Values writes the values of a row of a frame, which must have been loaded
// with the schema that the encoder was fitted with. dst has one element per
// column of Columns; a column that the frame lacks is NaN. Values is safe for
// concurrent use, and fast if calls do not alternate between frames.
func (e *Encoder) Values(dst []float32, f *Frame, row int) {
	if len(dst) != len(e.fitted.Columns) {
		panic(fmt.Sprintf("featurize: values of %d columns into %d elements", len(e.fitted.Columns), len(dst)))
	}
	b := e.bind(f)
	for i := range dst {
		dst[i] = b.value(i, row)
	}
}

func (b *binding) value(i, row int) float32 {
	if n := b.numbers[i]; n != nil {
		return n[row]
	}
	if c := b.codes[i]; c != nil && c[row] >= 0 {
		return b.values[i][c[row]]
	}
	return nan32
}

// ParseRow writes the values of one raw row. They equal those that Values gives
// for the row in a file. cell returns the text of a column, false if the row
// does not have it; "" also means a missing value. For a column "id_01",
// ParseRow also asks for "id-01". Text that is not a number in a numeric column
// is a *DataError with the column.
func (e *Encoder) ParseRow(dst []float32, cell func(column string) (string, bool)) error {
	if len(dst) != len(e.fitted.Columns) {
		panic(fmt.Sprintf("featurize: values of %d columns into %d elements", len(e.fitted.Columns), len(dst)))
	}
	for i := range e.fitted.Columns {
		c := &e.fitted.Columns[i]
		text, ok := cell(c.Name)
		if !ok && strings.Contains(c.Name, "_") {
			text, _ = cell(strings.ReplaceAll(c.Name, "_", "-"))
		}
		v, err := e.parseCell(i, text)
		if err != nil {
			return &DataError{Column: c.Name, Msg: badCell(text, err)}
		}
		dst[i] = v
	}
	return nil
}

func (e *Encoder) parseCell(i int, text string) (float32, error) {
	switch kind := e.fitted.Columns[i].Kind; {
	case text == "":
		return nan32, nil
	case kind == kindCategory:
		return e.index[i].code(plainLevel(text)), nil
	case kind == kindTime:
		seconds, err := textfile.ParseNumber(text)
		return hourOfWeek(seconds), err
	}
	return textfile.ParseFloat32(text)
}
