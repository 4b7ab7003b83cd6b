package tablefile

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/strictjson"
)

// jsonFile is a file that is one JSON value: a list of objects, or an object with such a list. Its rows are those
// objects, counted from 1.
type jsonFile struct {
	file   storage.Location
	ctx    context.Context // of Open: what choose needs may take another pass over the file
	rows   string          // key of the list; "": the file is the list
	outer  jsonPart
	inside jsonPart // the rows
	list   *jsonList
	empty  bool // there are no rows
	// partial says that what comes after the first row is not known.
	partial bool
}

// jsonPart is the object of a file without its list, or one of its rows.
type jsonPart struct {
	names  jsonNames
	object jsonRow
	fields *jsonFields
	at     []int // of the fields among the chosen columns
	cells  []Cell
}

// openJSONFile reads the file once to check it and to learn its columns: those of the first row, or with all those of
// all rows. The rows are read in a second pass. With quick there is only that, if no chosen column of the object comes
// after the list.
func openJSONFile(ctx context.Context, path storage.Location, rows string, all, quick bool) (*jsonFile, error) {
	t := &jsonFile{file: path, ctx: ctx, rows: rows}
	if !quick {
		if err := t.learn(all); err != nil {
			return nil, err
		}
	}
	var err error
	if t.list, err = openJSONList(ctx, path, rows); err != nil {
		return nil, err
	}
	if quick {
		if err = t.peek(); err != nil {
			t.list.Close()
		}
	}
	return t, err
}

// peek takes the columns from the beginning of the file, up to the first row.
func (t *jsonFile) peek() error {
	row, err := t.list.peek()
	switch {
	case errors.Is(err, io.EOF):
		t.empty = true
	case err != nil:
		return err
	default:
		if t.inside.names, err = namesOf(row); err != nil {
			return t.list.bad("", "", err)
		}
	}
	t.partial = !t.empty
	outer := maps.Clone(t.list.outer)
	delete(outer, t.rows)
	return t.setOuter(outer)
}

// setOuter sets the object without its list.
func (t *jsonFile) setOuter(outer map[string]json.RawMessage) error {
	t.outer.object.reset(outer)
	text, err := json.Marshal(outer)
	if err == nil {
		t.outer.names, err = namesOf(text)
	}
	return err
}

func (t *jsonFile) learn(all bool) error {
	list, err := openJSONList(t.ctx, t.file, t.rows)
	if err != nil {
		return err
	}
	defer list.Close()
	t.inside.names = jsonNames{keys: make(map[string]bool)}
	for {
		row, err := list.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if list.row > 1 && !all {
			continue
		}
		names, err := namesOf(row)
		if err == nil {
			err = t.inside.names.add(names)
		}
		if err != nil {
			return list.bad("", "", err)
		}
	}
	t.inside.names.group()
	t.empty = list.row == 0
	t.partial = false
	return t.setOuter(list.outer)
}

// columns are those of the object, and behind them those of its rows.
func (t *jsonFile) columns() []string {
	names := slices.Clone(t.outer.names.list)
	for _, name := range t.inside.names.list {
		names = append(names, t.prefix()+name)
	}
	return names
}

func (t *jsonFile) prefix() string {
	if t.rows == "" {
		return ""
	}
	return t.rows + "."
}

func (t *jsonFile) path() string { return t.file.String() }

func (t *jsonFile) choose(columns []string) error {
	var inside, outer []string
	t.inside.at, t.outer.at = nil, nil
	for i, name := range columns {
		if own, ok := strings.CutPrefix(name, t.prefix()); ok && !t.outer.names.keys[name] {
			inside, t.inside.at = append(inside, own), append(t.inside.at, i)
		} else {
			outer, t.outer.at = append(outer, name), append(t.outer.at, i)
		}
	}
	if t.empty {
		inside, t.inside.at = nil, nil
	}
	for _, name := range outer {
		if !t.partial || t.outer.names.keys[name] {
			continue
		}
		if err := t.learn(false); err != nil {
			return err
		}
		return t.choose(columns)
	}
	if err := t.outer.choose(t.file.String(), outer); err != nil {
		return t.missing(err, "")
	}
	return t.missing(t.inside.choose(t.file.String(), inside), t.prefix())
}

func (p *jsonPart) choose(file string, columns []string) (err error) {
	p.fields, err = newJSONFields(file, p.names, columns)
	p.cells = make([]Cell, len(columns))
	return err
}

// missing names the column as the caller does, and lists all columns.
func (t *jsonFile) missing(err error, prefix string) error {
	var data *dataerror.Error
	if !errors.As(err, &data) {
		return err
	}
	_, again := positions(t.file.String(), t.columns(), []string{prefix + data.Column})
	return again
}

func (t *jsonFile) row(cells []Cell) (int, error) {
	text, err := t.list.next()
	if errors.Is(err, io.EOF) {
		return 0, t.end()
	}
	if err != nil {
		return 0, err
	}
	object, err := strictjson.Values(text)
	if err != nil {
		return 0, t.list.bad("", "", strictjson.Plain(err))
	}
	t.inside.object.reset(object)
	if err := t.outer.read(cells, t.list.bad); err != nil {
		return 0, err
	}
	inRow := func(column, msg string, err error) error { return t.list.bad(t.prefix()+column, msg, err) }
	return t.list.row, t.inside.read(cells, inRow)
}

func (p *jsonPart) read(cells []Cell, bad func(column, msg string, err error) error) error {
	err := p.fields.read(&p.object, p.cells, bad)
	for i, at := range p.at {
		cells[at] = p.cells[i]
	}
	return err
}

func (t *jsonFile) end() error {
	if t.empty {
		return io.EOF
	}
	err := t.outer.fields.end(t.file.String())
	if errors.Is(err, io.EOF) {
		err = t.inside.fields.end(t.file.String())
	}
	if data, ok := errors.AsType[*dataerror.Error](err); ok && slices.Contains(t.inside.fields.names, data.Column) {
		data.Column = t.prefix() + data.Column
	}
	return err
}
