package grade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"pipe/internal/config"
	"pipe/internal/strictjson"
)

// object compares fields of a JSON object with those of the reference.
type object struct {
	normaliser
	fields []string // paths with dots; empty: all fields of the reference
}

type jsonSettings struct {
	Fields []string `json:"fields"` // a.b is field b of the object a
	Ignore []string `json:"ignore"` // of strings: case, punctuation, articles, space
}

func newJSON(_ context.Context, settings map[string]any, _ Models) (Grader, error) {
	var cfg jsonSettings
	if err := config.DecodeSettings(settings, &cfg); err != nil {
		return nil, err
	}
	n, err := newNormaliser(cfg.Ignore)
	problems := []error{err}
	for i, path := range cfg.Fields {
		if path == "" || slices.Contains(strings.Split(path, "."), "") {
			problems = append(problems, fmt.Errorf("fields: %q is not the name of a field", path))
		}
		if slices.Contains(cfg.Fields[:i], path) {
			problems = append(problems, fmt.Errorf("fields: %q is a duplicate", path))
		}
	}
	return texts{object{n, cfg.Fields}}, errors.Join(problems...)
}

// parse reads a JSON object, which may be inside a code block of Markdown.
func (g object) parse(text string) (map[string]any, error) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "```"); ok {
		inner = strings.TrimPrefix(inner, "json")
		if inner, ok = strings.CutSuffix(inner, "```"); ok {
			text = strings.TrimSpace(inner)
		}
	}
	if err := strictjson.Check([]byte(text)); err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return nil, strictjson.Plain(err)
	}
	if v == nil || d.More() || len(bytes.TrimSpace([]byte(text[d.InputOffset():]))) > 0 {
		return nil, errors.New("is not one JSON object")
	}
	return v, nil
}

// names returns the paths that count.
func (g object) names(reference map[string]any) []string {
	if len(g.fields) > 0 {
		return g.fields
	}
	return slices.Sorted(maps.Keys(reference))
}

// at returns the value of a path.
func (g object) at(v map[string]any, path string) (any, bool) {
	if len(g.fields) == 0 {
		value, ok := v[path]
		return value, ok
	}
	head, rest, deeper := strings.Cut(path, ".")
	value, ok := v[head]
	if !ok || !deeper {
		return value, ok
	}
	inner, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	return g.at(inner, rest)
}

func (g object) check(reference string) error {
	v, err := g.parse(reference)
	if err != nil {
		return fmt.Errorf("is not a JSON object: %w", err)
	}
	if len(g.names(v)) == 0 {
		return errors.New("has no fields to compare")
	}
	for _, path := range g.names(v) {
		if _, ok := g.at(v, path); !ok {
			return fmt.Errorf("has no field %s", path)
		}
	}
	return nil
}

// key is the compared part of the object with sorted fields.
func (g object) key(answer string) (string, bool) {
	v, err := g.parse(answer)
	if err != nil {
		return "", false
	}
	kept := make(map[string]any)
	for _, path := range g.names(v) {
		if value, ok := g.at(v, path); ok {
			kept[path] = g.plain(value)
		}
	}
	b, err := json.Marshal(kept)
	return string(b), err == nil
}

// score is the share of fields that are equal.
func (g object) score(answer, reference string) float64 {
	given, err := g.parse(answer)
	wanted, err2 := g.parse(reference)
	if err != nil || err2 != nil {
		return 0
	}
	names := g.names(wanted)
	equal := 0
	for _, path := range names {
		a, ok := g.at(given, path)
		b, _ := g.at(wanted, path)
		if ok && g.equal(a, b) {
			equal++
		}
	}
	return float64(equal) / float64(len(names))
}

// equal compares values of the same type: 1 is 1.0, and not "1".
func (g object) equal(a, b any) bool { return reflect.DeepEqual(g.plain(a), g.plain(b)) }

// plain brings strings and numbers into one spelling.
func (g object) plain(v any) any {
	switch v := v.(type) {
	case string:
		return g.text(v)
	case json.Number:
		return plainNumber(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = g.plain(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[name] = g.plain(value)
		}
		return out
	}
	return v
}

// exactNumber is a number in one spelling. Its type distinguishes it from a string.
type exactNumber string

// MarshalJSON gives numbers another form than strings.
func (n exactNumber) MarshalJSON() ([]byte, error) { return json.Marshal([]string{string(n)}) }

// plainNumber returns the exact value of a number. One of very many digits stays as it is written.
func plainNumber(n json.Number) exactNumber {
	text := strings.ToLower(string(n))
	_, exponent, scaled := strings.Cut(text, "e")
	e := 0
	if scaled {
		var err error
		if e, err = strconv.Atoi(exponent); err != nil {
			return exactNumber(text)
		}
	}
	if len(text) > mostDigits || e < -mostExponent || e > mostExponent {
		return exactNumber(text)
	}
	if v, ok := new(big.Rat).SetString(text); ok {
		text = v.RatString()
	}
	return exactNumber(text)
}
