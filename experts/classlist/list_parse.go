package classlist

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"pipe/costs"
	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// parseFile reads classes in any of the three forms. It allows duplicate ids.
func parseFile(ctx context.Context, path storage.Location) (*List, error) {
	b, err := textfile.ReadFileAt(ctx, path, textfile.MaxConfig)
	if err != nil {
		return nil, dataerror.FromText(err)
	}
	return parse(b, path.String())
}

func parse(b []byte, path string) (_ *List, err error) {
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	bad := &costs.DataError{File: path}
	p := &parser{text: b, bad: bad}
	switch first := bytes.TrimLeft(b, " \t\r\n"); {
	case !utf8.Valid(b):
		bad.Msg = "is not UTF-8 text"
	case len(first) == 0:
		bad.Msg = "is empty"
	case first[0] == '{':
		err = p.index()
	case first[0] == '[':
		err = p.names()
	default:
		err = p.lines()
	}
	if err != nil && bad.Msg == "" {
		bad.Err = err
	}
	if bad.Msg != "" || bad.Err != nil {
		return nil, bad
	}
	if len(p.list.IDs) == 0 {
		bad.Msg = "has no classes"
		return nil, bad
	}
	return &p.list, nil
}

// parser collects the classes of one file.
type parser struct {
	text []byte
	json *json.Decoder
	at   int64            // offset up to which line breaks are counted
	line int              // line at that offset
	bad  *costs.DataError // gets row, column and message
	list List
}

// errClasses means that parser.bad holds the error.
var errClasses = errors.New("bad classes")

func (p *parser) fail(row int, column, format string, args ...any) error {
	p.bad.Row, p.bad.Column, p.bad.Msg = row, column, fmt.Sprintf(format, args...)
	return errClasses
}

// row is the line that the JSON decoder has reached.
func (p *parser) row() int {
	to := p.json.InputOffset()
	p.line += bytes.Count(p.text[p.at:to], []byte("\n"))
	p.at = to
	return p.line + 1
}

func (p *parser) add(id, name string, row int) error {
	if strings.TrimSpace(id) == "" || strings.TrimSpace(name) == "" {
		return p.fail(row, "", "class %d has an empty name", len(p.list.IDs))
	}
	p.list.IDs, p.list.Names, p.list.rows = append(p.list.IDs, id), append(p.list.Names, name), append(p.list.rows, row)
	return nil
}

func (p *parser) lines() error {
	for i, line := range strings.Split(strings.TrimRight(string(p.text), "\r\n"), "\n") {
		line = strings.TrimSpace(line)
		if err := p.add(line, line, i+1); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) names() error {
	return p.each(func() error {
		var name string
		if err := p.json.Decode(&name); err != nil {
			return p.fail(p.row(), "", "class %d is not a string", len(p.list.IDs))
		}
		return p.add(name, name, p.row())
	})
}

// index reads an object of index -> [id, name]; the indices may come in any order.
func (p *parser) index() error {
	var order []int
	err := p.each(func() error {
		key, err := p.json.Token()
		if err != nil {
			return err
		}
		text := key.(string) // the decoder accepts no other key
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || strconv.Itoa(n) != text {
			return p.fail(p.row(), text, "is not the index of a class")
		}
		var pair []string
		if err := p.json.Decode(&pair); err != nil || len(pair) != 2 {
			return p.fail(p.row(), text, "is not a pair of id and name")
		}
		order = append(order, n)
		return p.add(pair[0], pair[1], p.row())
	})
	if err != nil {
		return err
	}
	return p.sort(order)
}

// sort puts the classes in the order of their indices, which must be 0 to n-1.
func (p *parser) sort(order []int) error {
	sorted := List{IDs: make([]string, len(order)), Names: make([]string, len(order)), rows: make([]int, len(order))}
	for i, n := range order {
		row := p.list.rows[i]
		switch {
		case n >= len(order):
			return p.fail(row, strconv.Itoa(n), "is too large for %d classes, so another index is missing", len(order))
		case sorted.rows[n] > 0:
			return p.fail(row, strconv.Itoa(n), "is a duplicate of row %d", sorted.rows[n])
		}
		sorted.IDs[n], sorted.Names[n], sorted.rows[n] = p.list.IDs[i], p.list.Names[i], row
	}
	p.list = sorted
	return nil
}

// each calls next at every element of a JSON list or object, and checks that
// nothing follows it.
func (p *parser) each(next func() error) error {
	p.json = json.NewDecoder(bytes.NewReader(p.text))
	if _, err := p.json.Token(); err != nil {
		return err
	}
	for p.json.More() {
		if err := next(); errors.Is(err, errClasses) {
			return err
		} else if err != nil {
			return p.fail(p.row(), "", "%v", err)
		}
	}
	if _, err := p.json.Token(); err != nil {
		return p.fail(p.row(), "", "%v", err)
	}
	if _, err := p.json.Token(); !errors.Is(err, io.EOF) {
		return p.fail(p.row(), "", "unexpected data after the classes")
	}
	return nil
}
