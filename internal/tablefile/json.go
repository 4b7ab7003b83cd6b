package tablefile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"pipe/internal/dataerror"
	"pipe/internal/strictjson"
	"pipe/internal/textfile"
)

// jsonCell keeps every value except strings as it is written.
func jsonCell(raw json.RawMessage) (Cell, error) {
	if bytes.Contains(raw, []byte(`\u`)) { // there may be lone surrogates
		if err := strictjson.Check(raw); err != nil {
			return Cell{}, err
		}
	}
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

// maxNesting is how deep objects are searched for columns.
const maxNesting = 8

// jsonNames are the columns of an object: its keys in their order, and behind each key whose value is an object the
// paths to its values, which are their keys joined by dots.
type jsonNames struct {
	list  []string
	keys  map[string]bool // the names in the list that are keys, not paths
	known map[string]bool // those of the list, once names were added
}

func namesOf(object []byte) (n jsonNames, err error) {
	n.keys = make(map[string]bool)
	bytes := 0
	err = eachKey(object, func(key string, value json.RawMessage) error {
		n.list = append(n.list, key)
		n.keys[key] = true
		nested, err := nestedKeys(key, value, 1, &bytes)
		n.list = append(n.list, nested...)
		return err
	})
	seen := make(map[string]bool, len(n.keys))
	n.list = slices.DeleteFunc(n.list, func(name string) bool { // a key wins over a path of the same name
		twice := n.keys[name] && seen[name]
		seen[name] = true
		return twice
	})
	return n, err
}

// add adds the names of another object, behind those that are known.
func (n *jsonNames) add(more jsonNames) error {
	if n.known == nil {
		n.known = make(map[string]bool, len(n.list))
		for _, name := range n.list {
			n.known[name] = true
		}
	}
	for _, name := range more.list {
		if !n.known[name] {
			n.known[name] = true
			n.list = append(n.list, name)
		}
		if more.keys[name] {
			n.keys[name] = true
		}
	}
	if len(n.list) > textfile.MaxColumns {
		return fmt.Errorf("the rows up to this one have more than %d columns together, the most that are read", textfile.MaxColumns)
	}
	return nil
}

// group puts paths behind the key that they begin with, where names were added later than their key.
func (n *jsonNames) group() {
	place := make(map[string]int, len(n.keys))
	for i, name := range n.list {
		if n.keys[name] {
			place[name] = i
		}
	}
	at := make(map[string]int, len(n.list))
	for i, name := range n.list {
		at[name] = i
		for end, c := range name {
			if key := name[:end]; c == '.' && n.keys[key] && !n.keys[name] {
				at[name] = place[key]
				break
			}
		}
	}
	slices.SortStableFunc(n.list, func(a, b string) int { return cmp.Compare(at[a], at[b]) })
}

// maxPathBytes limits the memory of the names of nested columns.
const maxPathBytes = 64 << 20

// nestedKeys returns the paths to the values of an object, none if the value is something else. bytes counts their
// length.
func nestedKeys(prefix string, value json.RawMessage, depth int, bytes *int) (names []string, err error) {
	if len(value) == 0 || value[0] != '{' || depth > maxNesting {
		return nil, nil
	}
	err = eachKey(value, func(key string, value json.RawMessage) error {
		name := prefix + "." + key
		if *bytes += len(name); *bytes > maxPathBytes {
			return fmt.Errorf("the names of its nested values take more than %d MiB", maxPathBytes>>20)
		}
		names = append(names, name)
		more, err := nestedKeys(name, value, depth+1, bytes)
		names = append(names, more...)
		return err
	})
	return names, err
}

// eachKey visits the values of an object in their order.
func eachKey(object []byte, visit func(key string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(object))
	open, err := dec.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') {
		return errors.New("is not a JSON object")
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		if err := visit(key, value); err != nil {
			return err
		}
	}
	return nil
}

// jsonRow is an object with the objects in it that were decoded so far.
type jsonRow struct {
	object map[string]json.RawMessage
	nested map[*byte]map[string]json.RawMessage // by the first byte of their text
}

// reset makes r the row of another object.
func (r *jsonRow) reset(object map[string]json.RawMessage) {
	r.object = object
	clear(r.nested)
}

// find returns the value of a column: of the key of this name, or at this path.
func (r *jsonRow) find(name string, isPath bool) (value json.RawMessage, ok bool, err error) {
	value, ok = r.object[name]
	if !isPath {
		return value, ok, nil
	}
	if ok {
		return nil, false, errors.New("is one key here, and the path to a nested value in the first row")
	}
	s := pathSearch{row: r, name: name}
	s.search(r.object, 0, 1)
	switch {
	case s.found > 1:
		return nil, false, errors.New("is the path to more than one value of this object")
	case s.found == 0 && s.blocked != "":
		return nil, false, fmt.Errorf("%s is not a JSON object here", textfile.Quoted(s.blocked))
	}
	return s.value, s.found == 1, nil
}

// inside decodes an object that is part of valid JSON.
func (r *jsonRow) inside(text json.RawMessage) map[string]json.RawMessage {
	if object, ok := r.nested[&text[0]]; ok {
		return object
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil {
		object = nil
	}
	if r.nested == nil {
		r.nested = make(map[*byte]map[string]json.RawMessage)
	}
	r.nested[&text[0]] = object
	return object
}

// pathSearch looks for the values whose keys, joined by dots, are a name. A key may contain dots itself.
type pathSearch struct {
	row     *jsonRow
	name    string
	value   json.RawMessage
	found   int
	blocked string // the path of a value that is no object
}

// search looks in the object at name[:from].
func (s *pathSearch) search(object map[string]json.RawMessage, from, depth int) {
	if value, ok := object[s.name[from:]]; ok && from > 0 {
		s.value = value
		s.found++
	}
	if depth > maxNesting {
		return
	}
	for at := from; at < len(s.name); at++ {
		if s.name[at] != '.' {
			continue
		}
		value, ok := object[s.name[from:at]]
		switch {
		case !ok || string(value) == "null":
		case value[0] != '{':
			s.blocked = s.name[:at]
		default:
			s.search(s.row.inside(value), at+1, depth+1)
		}
	}
}

// jsonFields reads the chosen columns of objects.
type jsonFields struct {
	names  []string
	isPath []bool // the column is a path, not a key
	found  []bool // a row has this path
	known  []string
}

// newJSONFields prepares columns. A path is accepted if its first key is known, because the object may be null in the
// row from which the names are known.
func newJSONFields(file string, known jsonNames, columns []string) (*jsonFields, error) {
	f := &jsonFields{columns, make([]bool, len(columns)), make([]bool, len(columns)), known.list}
	for i, name := range columns {
		f.isPath[i] = !known.keys[name] && known.hasStart(name)
		if !f.isPath[i] {
			if _, err := positions(file, known.list, columns[i:i+1]); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// hasStart reports whether a name can be a path that begins with one of the keys.
func (n jsonNames) hasStart(name string) bool {
	for at, c := range name {
		if c == '.' && n.keys[name[:at]] {
			return true
		}
	}
	return false
}

// read fills one cell per column. bad makes an error about the row.
func (f *jsonFields) read(row *jsonRow, cells []Cell, bad func(column, msg string, err error) error) error {
	for i, name := range f.names {
		raw, ok, err := row.find(name, f.isPath[i])
		if err == nil && ok {
			f.found[i] = true
			cells[i], err = jsonCell(raw)
		} else {
			cells[i] = Cell{}
		}
		if err != nil {
			return bad(name, "", err)
		}
	}
	return nil
}

// end returns io.EOF, or an error if a path was in no row.
func (f *jsonFields) end(file string) error {
	for i, name := range f.names {
		if f.isPath[i] && !f.found[i] {
			return &dataerror.Error{File: file, Column: name, Msg: "is missing: no row has such a nested value; the table has " + textfile.ListedNear(f.known, name, 12)}
		}
	}
	return io.EOF
}
