package build

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"pipe/costs"
)

// jsonRecords reads one JSON object per line. Columns are the keys in the order
// of first appearance; blank lines are passed over.
type jsonRecords struct {
	file   string
	in     *bufio.Reader
	closer io.Closer
	names  []string
	index  map[string]int
	record []string
	line   int
	err    error
}

func newJSONRecords(file string, text *bufio.Reader, closer io.Closer) (records, error) {
	return &jsonRecords{file: file, in: text, closer: closer, index: make(map[string]int)}, nil
}

func (r *jsonRecords) Next() bool {
	for r.err == nil {
		text, err := r.in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			r.err = &costs.DataError{File: r.file, Row: r.line + 1, Err: err}
			return false
		}
		if len(text) == 0 {
			return false
		}
		r.line++
		if text = bytes.TrimSpace(text); len(text) > 0 {
			r.err = r.parse(text)
			return r.err == nil
		}
	}
	return false
}

// parse reads an object token by token: a map would lose the order of the keys
// and hide a key that is there twice.
func (r *jsonRecords) parse(text []byte) error {
	bad := func(column, msg string) error {
		return &costs.DataError{File: r.file, Row: r.line, Column: column, Msg: msg}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return bad("", "is not a JSON object")
	}
	r.record = make([]string, len(r.names))
	seen := make([]bool, len(r.names))
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return bad("", "is not a JSON object: "+err.Error())
		}
		name := fmt.Sprint(key)
		at := r.column(name)
		if at == len(r.record) {
			r.record, seen = append(r.record, ""), append(seen, false)
		}
		if seen[at] {
			return bad(name, "is there twice")
		}
		seen[at] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return bad(name, err.Error())
		}
		r.record[at] = cellText(value)
	}
	if _, err := d.Token(); err != nil {
		return bad("", "the object is not closed")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return bad("", "something follows the object")
	}
	return nil
}

func (r *jsonRecords) column(name string) int {
	at, ok := r.index[name]
	if !ok {
		at = len(r.names)
		r.index[name] = at
		r.names = append(slices.Clip(r.names), name)
	}
	return at
}

// cellText returns the text of a JSON value: strings unquoted, null as "".
func cellText(value json.RawMessage) string {
	var s string
	if string(value) == "null" || json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}

func (r *jsonRecords) Record() []string  { return r.record }
func (r *jsonRecords) Line() int         { return r.line }
func (r *jsonRecords) Columns() []string { return r.names }
func (r *jsonRecords) Err() error        { return r.err }
func (r *jsonRecords) Close() error      { return r.closer.Close() }
