package costs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds one line of a JSONL file, so that a file of another kind does
// not have to fit into memory.
const maxLine = 64 << 20

// jsonTable is a file with one JSON object per line.
type jsonTable struct {
	file   string
	reader *bufio.Reader
	line   int
	buf    []byte
	first  []byte // the first line, read for its keys and not yet returned
	keys   []string
	chosen []string
}

func newJSONTable(path string, r io.Reader) (table, error) {
	t := &jsonTable{file: path, reader: bufio.NewReaderSize(r, 1<<16)}
	line, err := t.read()
	if errors.Is(err, io.EOF) {
		return nil, &DataError{File: path, Msg: "is empty"}
	}
	if err != nil {
		return nil, err
	}
	t.first = bytes.Clone(line)
	t.keys, err = objectKeys(line)
	if err != nil {
		return nil, &DataError{File: path, Row: t.line, Err: err}
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
		return nil, errors.New("is no JSON object")
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

// read returns the next line that is not blank, valid until the next call.
func (t *jsonTable) read() ([]byte, error) {
	for {
		t.buf = t.buf[:0]
		t.line++
		for {
			piece, err := t.reader.ReadSlice('\n')
			t.buf = append(t.buf, piece...)
			if len(t.buf) > maxLine {
				return nil, &DataError{File: t.file, Row: t.line, Msg: fmt.Sprintf("is longer than %d bytes", maxLine)}
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && err != io.EOF {
				return nil, &DataError{File: t.file, Row: t.line, Msg: "cannot be read", Err: err}
			}
			if line := bytes.TrimSpace(t.buf); len(line) > 0 {
				return line, nil
			}
			if err == io.EOF {
				return nil, io.EOF
			}
			break
		}
	}
}

func (t *jsonTable) names() []string { return t.keys }
func (t *jsonTable) path() string    { return t.file }
func (t *jsonTable) close()          {}

func (t *jsonTable) choose(columns []string) error {
	if _, err := positions(t.file, t.keys, columns); err != nil {
		return err
	}
	t.chosen = columns
	return nil
}

func (t *jsonTable) next(cells []cell) (int, error) {
	line := t.first
	if t.first = nil; line == nil {
		var err error
		if line, err = t.read(); err != nil {
			return 0, err
		}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(line, &object); err != nil {
		return 0, &DataError{File: t.file, Row: t.line, Err: plainJSON(err)}
	}
	if object == nil {
		return 0, &DataError{File: t.file, Row: t.line, Msg: "is no JSON object"}
	}
	for i, name := range t.chosen {
		raw, ok := object[name]
		if !ok {
			cells[i] = cell{}
			continue
		}
		var err error
		if cells[i], err = jsonCell(raw); err != nil {
			return 0, &DataError{File: t.file, Row: t.line, Column: name, Err: err}
		}
	}
	return t.line, nil
}

// jsonCell keeps everything but strings as it is written.
func jsonCell(raw json.RawMessage) (cell, error) {
	switch {
	case string(raw) == "null":
		return cell{}, nil
	case raw[0] != '"':
		return cell{kind: textCell, text: string(raw)}, nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return cell{}, err
	}
	if s == "" {
		return cell{}, nil
	}
	return cell{kind: textCell, text: s}, nil
}
