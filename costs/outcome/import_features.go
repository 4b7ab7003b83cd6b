package outcome

import (
	"context"
	"fmt"
	"path/filepath"

	"pipe/costs"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

func (m *importer) hasFeatures(n int) bool {
	for _, b := range m.features {
		if !b.there[n] {
			return false
		}
	}
	return true
}

func (m *importer) readFeatures(ctx context.Context) error {
	for i := range m.config.Features {
		f := &m.config.Features[i]
		tab, err := m.openFeatures(ctx, f)
		if err != nil {
			return err
		}
		block, err := m.readFeatureTable(ctx, tab, f)
		tab.Close()
		if err != nil {
			return err
		}
		m.features = append(m.features, block)
	}
	return nil
}

// featureRow holds the positions of the parts of a row of features.
type featureRow struct {
	id                *keys
	list              int
	columns, lengths  []int
	encoded           []*textColumn // that encoders read
	set               columnSet
	width, listLength int  // listLength is -1 until the first row
	repeats           bool // several rows of an instance are no error
	earlier           []float32
}

func (m *importer) readFeatureTable(ctx context.Context, tab *tablefile.Table, f *FeatureTable) (*featureBlock, error) {
	columns, err := f.matchColumns(tab)
	if err != nil {
		return nil, err
	}
	row := &featureRow{listLength: -1, repeats: f.File.IsZero() && !m.config.Outcomes.isWide()}
	set := &row.set
	row.id, row.list = set.wantKeys(f.ID, m.outcomes.ids), set.want(f.List)
	if err := m.held.AddCells(m.outcomes.ids.Len(), 2, 1); err != nil {
		return nil, asData(tab.Path(), err)
	}
	b := &featureBlock{there: make([]bool, m.outcomes.ids.Len())}
	for _, name := range columns {
		row.columns = append(row.columns, set.want(name))
		b.numbers = append(b.numbers, name)
	}
	for _, name := range f.Length {
		row.lengths = append(row.lengths, set.want(name))
		b.numbers = append(b.numbers, lengthName(name))
	}
	for _, name := range f.Categorical {
		b.categorical = append(b.categorical, newTextColumn(set, name, m.held))
	}
	row.wantEncoded(b, set, f, m.held)
	texts := m.instanceTexts(set, f.instance())
	seen := make([]bool, len(b.there))
	return b, m.walk(ctx, tab, set, func(cells tablefile.Row) error {
		line := cells.Place()
		if cells.Missing(row.id.at) {
			return &costs.DataError{Row: line, Column: f.ID, Msg: "is missing"}
		}
		n := row.id.find(cells)
		if n < 0 {
			m.report.UnusedRows++
			m.noteSpelling(tab.Path(), cells.Text(row.id.at))
			return nil
		}
		again := seen[n]
		if again && !row.repeats {
			return &costs.DataError{Row: line, Column: f.ID, Msg: textfile.Quoted(cells.Text(row.id.at)) + " is a duplicate"}
		}
		seen[n] = true
		if row.listLength < 0 {
			if row.list >= 0 && cells.Missing(row.list) {
				return nil // incomplete, so the length is still unknown
			}
			if err := row.fixWidth(b, f, cells, m.held); err != nil {
				return shiftedTo(err, line)
			}
		}
		if err := texts(n, cells); err != nil {
			return shiftedTo(err, line)
		}
		if again {
			return shiftedTo(row.repeat(b, n, cells), line)
		}
		return shiftedTo(row.read(b, n, cells), line)
	})
}

// noteSpelling notes that an id, of features without outcomes or of an instance that lacks some, is an instance with another
// spelling of the same number.
func (m *importer) noteSpelling(file, id string) {
	if m.report.Spelling != "" {
		return
	}
	if other := textfile.FloatSpelling(id); other != "" && m.outcomes.ids.Find(other) >= 0 {
		m.report.Spelling = fmt.Sprintf("id %s of the outcomes is %s in %s, which is another id: write both alike (pandas makes floats of integers where some are missing; .astype(\"Int64\") makes them integers again)",
			textfile.Quoted(other), textfile.Quoted(id), textfile.Quoted(filepath.Base(file)))
	}
}

// The settings with columns for encoders.
const textSetting, imageSetting = "text", "image"

// wantEncoded adds the columns that encoders read.
func (r *featureRow) wantEncoded(b *featureBlock, set *columnSet, f *FeatureTable, held *textfile.MemoryBudget) {
	add := func(setting string, columns ...string) {
		e := &encodedBlock{setting: setting}
		for _, name := range columns {
			c := newTextColumn(set, name, held)
			e.columns, r.encoded = append(e.columns, c), append(r.encoded, c)
		}
		b.encoded = append(b.encoded, e)
	}
	if names := f.Text.names(); len(names) > 0 {
		add(textSetting, names...)
	}
	if f.Image.Column != "" {
		add(imageSetting, f.Image.Column)
	}
}

// bytesOfName is the approximate size of the name of a value in a list.
const bytesOfName = 64

// fixWidth learns the length of the list column from the first row.
func (r *featureRow) fixWidth(b *featureBlock, f *FeatureTable, cells tablefile.Row, held *textfile.MemoryBudget) error {
	r.listLength = 0
	if r.list >= 0 {
		cell := cells.Cell(r.list)
		list, err := cell.Floats()
		if err != nil {
			return &costs.DataError{Column: f.List, Err: err}
		}
		r.listLength = len(list)
		if err := held.AddCells(len(list), 1, bytesOfName); err != nil {
			return err
		}
		for i := range list {
			b.numbers = append(b.numbers, fmt.Sprintf("%s[%d]", f.List, i))
		}
	}
	r.width = len(b.numbers)
	if err := held.AddCells(len(b.there), r.width, bytesOfValue); err != nil {
		return err
	}
	b.values = make([]float32, len(b.there)*r.width)
	return nil
}

// read reads one row. An instance with an empty field stays incomplete; a field
// that is not a number is an error.
func (r *featureRow) read(b *featureBlock, n int, cells tablefile.Row) error {
	dst := b.values[n*r.width : (n+1)*r.width]
	complete := true
	for _, at := range r.columns {
		if cells.Missing(at) {
			complete, dst = false, dst[1:]
			continue
		}
		v, err := cells.FlagOrFloat(at)
		if err != nil {
			return &costs.DataError{Column: r.set.names[at], Err: err}
		}
		dst[0], dst = float32(v), dst[1:]
	}
	for _, at := range r.lengths {
		cell := cells.Cell(at)
		v, err := cell.Length()
		if err != nil {
			return &costs.DataError{Column: r.set.names[at], Err: err}
		}
		dst[0], dst = float32(v), dst[1:]
	}
	if r.list >= 0 && cells.Missing(r.list) {
		complete = false
	} else if r.list >= 0 {
		cell := cells.Cell(r.list)
		list, err := cell.Floats()
		if err == nil && len(list) != r.listLength {
			err = fmt.Errorf("list has %d values, expected %d", len(list), r.listLength)
		}
		if err != nil {
			return &costs.DataError{Column: r.set.names[r.list], Err: err}
		}
		copy(dst, list)
	}
	for _, columns := range [][]*textColumn{b.categorical, r.encoded} {
		for _, c := range columns {
			if cells.Missing(c.keys.at) {
				complete = false
			} else if err := c.set(n, cells); err != nil {
				return err
			}
		}
	}
	b.there[n] = complete
	return nil
}
