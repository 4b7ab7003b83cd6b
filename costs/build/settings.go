package build

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Path is a file or folder of a configuration; a relative one starts from the
// folder of the configuration file. Its JSON form is the base name: the digest
// of a build depends on what a file holds, not on where it lies.
type Path string

// MarshalJSON returns the last element of the path.
func (p Path) MarshalJSON() ([]byte, error) { return json.Marshal(filepath.Base(string(p))) }

// decodeSettings fills dst, a pointer to a struct that holds the defaults, from
// the settings of a part. Unknown keys and wrong types are errors that name the
// key.
func decodeSettings(settings map[string]any, dst any) error {
	b, err := json.Marshal(settings)
	if err != nil {
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			if v, ok := settings[name].(float64); ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
				return fmt.Errorf("%s is %v; a finite number is needed", name, v)
			}
		}
		return settingsError(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if len(settings) == 0 {
		return nil
	}
	if err := d.Decode(dst); err != nil {
		return settingsError(err)
	}
	return nil
}

// inWords names a type of value as who writes YAML knows it.
func inWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return inWords(t.Elem())
	case reflect.Map, reflect.Struct:
		return "a section with keys"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "an integer"
}

var unknownField = regexp.MustCompile(`unknown field ("[^"]*")`)

// settingsError says in the user's words what the JSON package found; the user
// wrote YAML.
func settingsError(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: expected %s, not a %s", cmp.Or(wrong.Field, "settings"), inWords(wrong.Type), wrong.Value)
	}
	if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("unknown key %s", m[1])
	}
	return fmt.Errorf("settings: %s", strings.TrimPrefix(err.Error(), "json: "))
}
