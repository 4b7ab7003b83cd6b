package tablefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"pipe/internal/dataerror"
	"pipe/internal/strictjson"
	"pipe/internal/textfile"
)

// jsonTable is a file with one JSON object per line.
type jsonTable struct {
	file   string
	lines  *textfile.Lines
	first  []byte // the first line, read for its keys and not yet returned
	keys   []string
	chosen []string
}

func newJSONTable(path string, r io.Reader) (*jsonTable, error) {
	t := &jsonTable{file: path, lines: textfile.NewLines(path, r)}
	line, err := t.read()
	if errors.Is(err, io.EOF) {
		return nil, &dataerror.Error{File: path, Msg: "is empty"}
	}
	if err != nil {
		return nil, err
	}
	t.first = bytes.Clone(line)
	t.keys, err = objectKeys(line)
	if err != nil {
		return nil, t.bad("", "", err)
	}
	return t, nil
}

// objectKeys returns the keys of a JSON object in their order.
func objectKeys(line []byte) ([]string, error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	open, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, errors.New("is not a JSON object")
	}
	var keys []string
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		keys = append(keys, name)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
	}
	return keys, nil
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
	return &dataerror.Error{File: t.file, Row: t.lines.Number(), Column: column, Msg: msg, Err: err}
}

func (t *jsonTable) columns() []string { return t.keys }
func (t *jsonTable) path() string      { return t.file }

func (t *jsonTable) choose(columns []string) error {
	if _, err := positions(t.file, t.keys, columns); err != nil {
		return err
	}
	t.chosen = columns
	return nil
}

func (t *jsonTable) row(cells []Cell) (int, error) {
	line := t.first
	if t.first = nil; line == nil {
		var err error
		if line, err = t.read(); err != nil {
			return 0, err
		}
	}
	object, err := strictjson.Object(line)
	if err != nil {
		return 0, t.bad("", "", strictjson.Plain(err))
	}
	for i, name := range t.chosen {
		raw, ok := object[name]
		if !ok {
			cells[i] = Cell{}
			continue
		}
		if cells[i], err = jsonCell(raw); err != nil {
			return 0, t.bad(name, "", err)
		}
	}
	return t.lines.Number(), nil
}

// jsonCell keeps every value except strings as it is written.
func jsonCell(raw json.RawMessage) (Cell, error) {
	switch {
	case string(raw) == "null":
		return Cell{}, nil
	case raw[0] != '"':
		return Cell{kind: textCell, text: string(raw)}, nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return Cell{}, err
	}
	if s == "" {
		return Cell{}, nil
	}
	return Cell{kind: textCell, text: s}, nil
}
