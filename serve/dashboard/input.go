package dashboard

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"pipe/internal/strictjson"
)

// formError means that the form has an invalid value.
type formError struct{ err error }

func (e *formError) Error() string { return e.err.Error() }
func (e *formError) Unwrap() error { return e.err }

func formErrorf(format string, args ...any) error { return &formError{fmt.Errorf(format, args...)} }

// parseFeatures reads dim numbers that are separated by commas, semicolons or white space, optionally in brackets.
func parseFeatures(text string, dim int) ([]float32, error) {
	text = strings.TrimSpace(text)
	for range 2 { // [[1, 2]] is a list of one row
		if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
			text = strings.TrimSpace(text[1 : len(text)-1])
		}
	}
	var out []float32
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' || r == '\r' || r == ';' }) {
		v, err := strconv.ParseFloat(field, 32)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, formErrorf("feature %d, %q, is not a number", len(out)+1, excerpt(field))
		}
		if len(out) == dim {
			return nil, formErrorf("there are more than %d features", dim)
		}
		out = append(out, float32(v))
	}
	if len(out) != dim {
		return nil, formErrorf("there are %d features; the policy takes %d", len(out), dim)
	}
	return out, nil
}

// parseRow reads a JSON object of columns. Numbers and booleans are kept as they are written. null is a missing value.
func parseRow(text string) (map[string]string, error) {
	object, err := strictjson.Object([]byte(text))
	if err != nil {
		return nil, formErrorf("the row is not a JSON object: %v", strictjson.Plain(err))
	}
	row := make(map[string]string, len(object))
	for column, raw := range object {
		switch raw[0] {
		case 'n':
		case '"':
			var s string
			if err := json.Unmarshal(raw, &s); err != nil {
				return nil, formErrorf("column %q: %v", excerpt(column), err)
			}
			row[column] = s
		case '{', '[':
			return nil, formErrorf("column %q is not a single value", excerpt(column))
		default:
			row[column] = string(raw)
		}
	}
	return row, nil
}

// emptyRow returns columns as members of a JSON object with empty values, for a single-quoted text of the shell.
func emptyRow(columns []string) string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, quoted(c)+`: ""`)
	}
	return strings.Join(parts, ", ")
}

// quoted returns a name as JSON, for a single-quoted text of the shell.
func quoted(name string) string {
	text, err := json.Marshal(name)
	if err != nil {
		panic(err) // strings always marshal
	}
	return strings.ReplaceAll(string(text), "'", `'\''`)
}

// host matches a host and port that are safe in a shell command.
var host = regexp.MustCompile(`^[A-Za-z0-9.:\[\]_-]{1,255}$`)

// hostOf returns a host if it is safe in a shell command, and else localhost.
func hostOf(h string) string {
	if host.MatchString(h) {
		return h
	}
	return "localhost"
}

// excerpt shortens a text for a message.
func excerpt(text string) string {
	const most = 60
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
