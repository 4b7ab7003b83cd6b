package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// DecodeSettings fills dst, a pointer to a struct that holds the defaults, from the settings of a component that a
// configuration chooses by its kind. Keys are the JSON names of the fields. Unknown keys, keys without a value and wrong
// types are errors that name the key.
func DecodeSettings(settings map[string]any, dst any) error {
	if err := checkKeys(settings, reflect.TypeOf(dst).Elem(), ""); err != nil {
		return err
	}
	b, err := json.Marshal(settings)
	if err != nil {
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

// settingName is the path of a field in the configuration, without the names of
// embedded structs, which are not keys.
func settingName(field string) string {
	parts := strings.Split(field, ".")
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return strings.HasSuffix(s, "Settings") }), ".")
}

// worded is implemented by types of settings that take more than one type of value.
type worded interface{ InWords() string }

// inWords names a type of value as people who write YAML know it.
func inWords(t reflect.Type) string {
	if w, ok := reflect.Zero(t).Interface().(worded); ok && t.Kind() != reflect.Pointer {
		return w.InWords()
	}
	if t.Kind() == reflect.Pointer {
		return inWords(t.Elem())
	}
	return typeInWords(t.Kind().String())
}

// valueInWords does the same for the JSON package's name of a value.
func valueInWords(value string) string {
	switch value {
	case "object":
		return "a section with keys"
	case "array", "bool", "string":
		return typeInWords(value)
	}
	return "a " + value // a number, perhaps with its digits
}

// settingsError translates an error of the JSON package for a user who wrote
// YAML.
func settingsError(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		advice := ""
		if wrong.Type.Kind() == reflect.String && wrong.Value != "object" && wrong.Value != "array" {
			advice = "; write it in quotes"
		}
		return fmt.Errorf("%s: expected %s, not %s%s", cmp.Or(settingName(wrong.Field), "settings"), inWords(wrong.Type), valueInWords(wrong.Value), advice)
	}
	return fmt.Errorf("settings: %s", strings.TrimPrefix(err.Error(), "json: "))
}
