package tablefile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/strictjson"
	"pipe/internal/textfile"
)

// jsonList reads the objects of a list in a JSON file, one after the other.
type jsonList struct {
	file   string
	closer io.Closer
	dec    *json.Decoder
	rows   string                     // key of the list; "": the file is the list
	outer  map[string]json.RawMessage // values of the object read so far
	row    int                        // objects read so far
	ahead  json.RawMessage            // an object that was looked at and not taken
	done   bool
}

// openJSONList reads up to the first object.
func openJSONList(ctx context.Context, path storage.Location, rows string) (*jsonList, error) {
	r, file, err := openText(ctx, path)
	if err != nil {
		return nil, err
	}
	in := &meter{r: r}
	l := &jsonList{file: path.String(), closer: file, dec: json.NewDecoder(in), rows: rows, outer: make(map[string]json.RawMessage)}
	in.dec = l.dec
	if err := l.start(); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// meter limits the length of one value.
type meter struct {
	r    io.Reader
	dec  *json.Decoder
	read int64
}

func (m *meter) Read(b []byte) (int, error) {
	if m.read-m.dec.InputOffset() > textfile.MaxLine {
		return 0, &textfile.Fault{Msg: fmt.Sprintf("a value is longer than %d MiB, the most that is read", textfile.MaxLine>>20)}
	}
	n, err := m.r.Read(b)
	m.read += int64(n)
	return n, err
}

// Close closes the file.
func (l *jsonList) Close() error { return l.closer.Close() }

// bad is an error about the last row.
func (l *jsonList) bad(column, msg string, err error) error {
	return &dataerror.Error{File: l.file, Row: l.row, Column: column, Msg: msg, Err: err}
}

// broken is an error of the decoder.
func (l *jsonList) broken(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &dataerror.Error{File: l.file, Row: l.row + 1, Msg: "cannot be read", Err: err}
}

func (l *jsonList) wrong(format string, args ...any) error {
	return &dataerror.Error{File: l.file, Msg: fmt.Sprintf(format, args...)}
}

func (l *jsonList) start() error {
	open, err := l.dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return l.wrong("is empty")
	case err != nil:
		return l.broken(err)
	case l.rows == "" && open == json.Delim('['):
		return nil
	case l.rows == "":
		return l.wrong("is not a list of JSON objects; if it is an object with such a list, name the key of the list with rows; if every line has an object, let its name end in .jsonl")
	case open != json.Delim('{'):
		return l.wrong("is not a JSON object with a list %q", l.rows)
	}
	found, err := l.values()
	if err == nil && !found {
		err = l.wrong("has no list %q; its keys are %s", l.rows, textfile.Listed(slices.Sorted(maps.Keys(l.outer)), 12))
	}
	return err
}

// values reads the values of the object up to its list, or else to its end.
func (l *jsonList) values() (found bool, err error) {
	for l.dec.More() {
		token, err := l.dec.Token()
		if err != nil {
			return false, l.broken(err)
		}
		key, _ := token.(string)
		if _, twice := l.outer[key]; twice {
			return false, l.wrong("duplicate key %q in the object", textfile.Short(key))
		}
		if key == l.rows {
			l.outer[key] = nil
			return true, l.openList()
		}
		var value json.RawMessage
		if err := l.dec.Decode(&value); err != nil {
			return false, l.broken(err)
		}
		if !utf8.Valid(value) {
			return false, l.wrong("the value of %q is not UTF-8 text", textfile.Short(key))
		}
		if err := strictjson.CheckKeys(value); err != nil {
			return false, &dataerror.Error{File: l.file, Column: key, Err: err}
		}
		if l.outer[key] = value; len(l.outer) > textfile.MaxColumns {
			return false, l.wrong("the object has more than %d keys, the most that are read", textfile.MaxColumns)
		}
	}
	_, err = l.dec.Token() // the end of the object
	if err != nil {
		return false, l.broken(err)
	}
	return false, nil
}

func (l *jsonList) openList() error {
	open, err := l.dec.Token()
	if err != nil {
		return l.broken(err)
	}
	if open != json.Delim('[') {
		return l.wrong("%q is not a list", l.rows)
	}
	return nil
}

// next returns the next object. At the end it reads the rest of the file and returns io.EOF.
func (l *jsonList) next() (json.RawMessage, error) {
	switch {
	case l.ahead != nil:
		row := l.ahead
		l.ahead = nil
		return row, nil
	case l.done:
		return nil, io.EOF
	}
	if !l.dec.More() {
		return nil, l.finish()
	}
	var row json.RawMessage
	if err := l.dec.Decode(&row); err != nil {
		return nil, l.broken(err)
	}
	if l.row++; row[0] != '{' {
		return nil, l.bad("", "is not a JSON object", nil)
	}
	return row, nil
}

// peek returns the next object, which stays the next one.
func (l *jsonList) peek() (json.RawMessage, error) {
	var err error
	if l.ahead == nil {
		l.ahead, err = l.next()
	}
	return l.ahead, err
}

func (l *jsonList) finish() error {
	if _, err := l.dec.Token(); err != nil { // the end of the list
		return l.broken(err)
	}
	if l.rows != "" {
		if _, err := l.values(); err != nil {
			return err
		}
		delete(l.outer, l.rows)
	}
	if _, err := l.dec.Token(); err == nil {
		return l.wrong("goes on after the end of its JSON value")
	} else if !errors.Is(err, io.EOF) {
		return l.broken(err)
	}
	l.done = true
	return io.EOF
}
