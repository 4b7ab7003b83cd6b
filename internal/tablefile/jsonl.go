package tablefile

import (
	"bytes"
	"context"
	"errors"
	"io"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/strictjson"
	"pipe/internal/textfile"
)

// jsonTable is a file with one JSON object per line.
type jsonTable struct {
	file   storage.Location
	lines  *textfile.Lines
	first  []byte // the first line, read for its keys and not yet returned
	names  jsonNames
	fields *jsonFields
	object jsonRow
}

func newJSONTable(path storage.Location, r io.Reader) (*jsonTable, error) {
	t := &jsonTable{file: path, lines: textfile.NewLines(path.String(), r)}
	line, err := t.read()
	if errors.Is(err, io.EOF) {
		return nil, &dataerror.Error{File: path.String(), Msg: "is empty"}
	}
	if err != nil {
		return nil, err
	}
	t.first = bytes.Clone(line)
	if _, err := strictjson.Values(line); err != nil {
		return nil, t.bad("", "", strictjson.InLine(err))
	}
	if t.names, err = namesOf(line); err != nil {
		return nil, t.bad("", "", err)
	}
	return t, nil
}

// survey reads the file once more for the names of all rows.
func (t *jsonTable) survey(ctx context.Context) error {
	r, file, err := openText(ctx, t.file)
	if err != nil {
		return err
	}
	defer file.Close()
	all := &jsonTable{file: t.file, lines: textfile.NewLines(t.file.String(), r)}
	for {
		line, err := all.read()
		if errors.Is(err, io.EOF) {
			t.names.group()
			return nil
		}
		if err != nil {
			return err
		}
		names, err := namesOf(line)
		if err == nil {
			err = t.names.add(names)
		}
		if err != nil {
			return all.bad("", "", err)
		}
	}
}

// read returns the next line, valid until the next call.
func (t *jsonTable) read() ([]byte, error) {
	line, err := t.lines.Next()
	var text *textfile.Error
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &text) {
		return line, dataerror.FromText(err)
	}
	return nil, t.bad("", "cannot be read", err)
}

// bad is an error about the last line.
func (t *jsonTable) bad(column, msg string, err error) error {
	return &dataerror.Error{File: t.file.String(), Row: t.lines.Number(), Column: column, Msg: msg, Err: err}
}

func (t *jsonTable) columns() []string { return t.names.list }
func (t *jsonTable) path() string      { return t.file.String() }

func (t *jsonTable) choose(columns []string) (err error) {
	t.fields, err = newJSONFields(t.file.String(), t.names, columns)
	return err
}

func (t *jsonTable) row(cells []Cell) (int, error) {
	line := t.first
	if t.first = nil; line == nil {
		var err error
		if line, err = t.read(); errors.Is(err, io.EOF) {
			return 0, t.fields.end(t.file.String())
		} else if err != nil {
			return 0, err
		}
	}
	object, err := strictjson.Values(line)
	if err != nil {
		return 0, t.bad("", "", strictjson.InLine(err))
	}
	t.object.reset(object)
	if err := t.fields.read(&t.object, cells, t.bad); err != nil {
		return 0, err
	}
	return t.lines.Number(), nil
}
