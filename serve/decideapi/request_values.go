package decideapi

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pipe/internal/strictjson"
	"pipe/internal/textfile"
	"pipe/serve/decision"
)

// features are rows of features: a list of numbers is one row, a list of such lists several.
type features struct {
	values  []float32 // one after another; nil: not given
	rows    int
	present bool // the member is there, possibly null
}

// valueError describes a wrong value for the client.
type valueError struct{ reason string }

func (e *valueError) Error() string { return e.reason }

func wrongValue(format string, args ...any) error { return &valueError{fmt.Sprintf(format, args...)} }

// UnmarshalJSONFrom reads the rows. A number that is too large for float32 is an error, and so are rows of different
// lengths. Numbers are rounded as pipe decide does.
func (f *features) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	raw, err := d.ReadValue() // checks the syntax
	if err != nil {
		return err
	}
	f.present = true
	switch raw.Kind() {
	case 'n':
		return nil
	case '[':
	default:
		return wrongValue("is neither a list of numbers nor a list of lists of numbers")
	}
	rest := skipSpace(raw[1:])
	if rest[0] != '[' {
		f.rows = 1
		f.values = make([]float32, 0, 1+strings.Count(string(raw), ","))
		f.values, _, err = readRow(f.values, raw, 0)
		return err
	}
	return f.readRows(rest)
}

// readRows reads rows up to the end of their list.
func (f *features) readRows(rest []byte) (err error) {
	width := -1
	for rest[0] != ']' {
		if rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
		if rest[0] != '[' {
			return wrongValue("row %d is not a list of numbers", f.rows)
		}
		before := len(f.values)
		if f.values, rest, err = readRow(f.values, rest, f.rows); err != nil {
			return err
		}
		if n := len(f.values) - before; width >= 0 && n != width {
			return wrongValue("row %d has %d numbers, row 0 has %d", f.rows, n, width)
		}
		width = len(f.values) - before
		f.rows++
		rest = skipSpace(rest)
	}
	if width == 0 {
		return wrongValue("row 0 has no numbers")
	}
	return nil
}

// readRow appends the numbers of a list to dst. raw begins with the list, whose syntax has been checked. rest is the text
// after it.
func readRow(dst []float32, raw []byte, row int) (_ []float32, rest []byte, err error) {
	first := len(dst)
	raw = skipSpace(raw[1:])
	for raw[0] != ']' {
		if raw[0] == ',' {
			raw = skipSpace(raw[1:])
		}
		n := 0
		for n < len(raw) && inNumber[raw[n]] {
			n++
		}
		v, err := textfile.ParseFloat32(string(raw[:n]))
		if err != nil || n == 0 {
			return dst, nil, wrongNumber(row, len(dst)-first, n, err)
		}
		dst = append(dst, v)
		raw = skipSpace(raw[n:])
	}
	return dst, raw[1:], nil
}

func wrongNumber(row, at, n int, err error) error {
	if n == 0 || !errors.Is(err, textfile.ErrTooLarge) {
		err = textfile.ErrNotNumber
	}
	return wrongValue("number %d of row %d %v", at, row, err)
}

// inNumber are the bytes that JSON numbers consist of.
var inNumber = func() (m [256]bool) {
	for _, c := range []byte("0123456789+-.eE") {
		m[c] = true
	}
	return m
}()

// skipSpace returns a text without the white space at its beginning.
func skipSpace(b []byte) []byte { return b[strictjson.SkipSpace(b, 0):] }

// row is one row of raw columns. Values are texts or numbers, written as in a table. null is a missing value.
type row map[string]string

// maxColumns is the most columns of a row.
const maxColumns = textfile.MaxColumns

// UnmarshalJSONFrom reads the columns.
func (r *row) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '{' {
		*r = row{}
	}
	return members(d, "columns", func(name string) error {
		if len(*r) >= maxColumns {
			return wrongValue("has more than %d columns", maxColumns)
		}
		kind := d.PeekKind()
		if kind != '"' && kind != '0' && kind != 'n' {
			return wrongKind(d, fmt.Sprintf("column %q is not a string, a number or null; write true and false as the table does that the policy was trained on", textfile.Short(name)))
		}
		value, err := d.ReadToken()
		if err == nil && kind != 'n' {
			(*r)[name] = value.String()
		}
		return err
	})
}

// members calls read for each member of an object of things, with the decoder before its value. null has none.
func members(d *jsontext.Decoder, things string, read func(name string) error) error {
	switch d.PeekKind() {
	case 'n':
		_, err := d.ReadToken()
		return err
	case '{':
	default:
		return wrongKind(d, "is not an object of "+things)
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		key, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := read(key.String()); err != nil { // a key is valid only until the next token is read
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// wrongKind returns an error about the next value, or the syntax error if it is not valid JSON.
func wrongKind(d *jsontext.Decoder, reason string) error {
	if err := d.SkipValue(); err != nil {
		return err
	}
	return &valueError{reason}
}

// jsonString is a string that must not be null.
type jsonString string

// UnmarshalJSONFrom reads a text.
func (t *jsonString) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '"' {
		return wrongKind(d, "is not a string")
	}
	token, err := d.ReadToken()
	if err == nil {
		*t = jsonString(token.String())
	}
	return err
}

// number is a number that must not be null.
type number float64

// UnmarshalJSONFrom reads a number.
func (n *number) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '0' {
		return wrongKind(d, "is not a number")
	}
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	v, err := textfile.ParseNumber(token.String())
	if err != nil {
		return wrongValue("%v", err)
	}
	*n = number(v)
	return nil
}

// fees are fees by name, in the order of the request.
type fees []struct {
	name   string
	amount number
}

// UnmarshalJSONFrom reads an object of numbers.
func (f *fees) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return members(d, "fees", func(name string) error {
		amount := number(0)
		err := json.UnmarshalDecode(d, &amount)
		*f = append(*f, struct {
			name   string
			amount number
		}{name, amount})
		return err
	})
}

// integer is a whole number that must not be null. It may be written as 2.0.
type integer int

// maxInteger is the largest integer. Larger ones are read as maxInteger.
const maxInteger = 1 << 30

// UnmarshalJSONFrom reads a whole number.
func (n *integer) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var v number
	if err := v.UnmarshalJSONFrom(d); err != nil {
		return err
	}
	if v != number(math.Trunc(float64(v))) {
		return wrongValue("is not a whole number")
	}
	*n = integer(max(-1, min(v, maxInteger)))
	return nil
}

// unreadable is the error for a body that cannot be decoded.
func unreadable(err error) error {
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntax):
		return invalid("invalid_json", "", "the body is not JSON: %s", decision.PlainJSON(err))
	case !errors.As(err, &semantic):
		return invalid("invalid_json", "", "the body is not JSON: %v", err)
	}
	param := paramOf(semantic.JSONPointer)
	var wrong *valueError
	switch {
	case errors.As(err, &wrong):
		return invalid("invalid_value", param, "%s %s", orBody(param), wrong.reason)
	case errors.Is(err, json.ErrUnknownName):
		return invalid("unknown_parameter", param, "%s is not a parameter of this request", param)
	}
	return invalid("invalid_value", param, "%s", strings.TrimPrefix(decision.PlainJSON(err), "/"))
}

func orBody(param string) string {
	if param == "" {
		return "the body"
	}
	return param
}

// paramOf writes the path of a value as clients do: prices.lambda, rows[3].
func paramOf(p jsontext.Pointer) string {
	var b strings.Builder
	for name := range p.Tokens() {
		switch {
		case b.Len() > 0 && strings.Trim(name, "0123456789") == "":
			fmt.Fprintf(&b, "[%s]", name)
		case b.Len() > 0:
			b.WriteString("." + name)
		default:
			b.WriteString(name)
		}
	}
	return textfile.Short(b.String())
}
