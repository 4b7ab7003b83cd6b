package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// UnknownKeyError is about an unknown key in the settings of a part.
type UnknownKeyError struct {
	Key string       // with the sections around it, such as "limits.side"
	Of  reflect.Type // the section's struct
}

// Error returns the key and the known keys.
func (e *UnknownKeyError) Error() string {
	keys := SettingKeys(e.Of)
	if len(keys) == 0 {
		return fmt.Sprintf("unknown key %q; there are no settings", e.Key)
	}
	return fmt.Sprintf("unknown key %q; known are %s", e.Key, strings.Join(slices.Sorted(maps.Keys(keys)), ", "))
}

// checkKeys compares the keys of settings with those of the struct that they go
// into, letter by letter: the JSON package ignores case. It also finds what JSON
// cannot hold, or drops: a number that is not finite, and a key or an element of a
// list without a value where the setting is no pointer. within names the sections
// around, each followed by a dot.
func checkKeys(settings map[string]any, of reflect.Type, within string) error {
	known := SettingKeys(of)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		field, ok := known[name]
		if !ok {
			return &UnknownKeyError{within + name, of}
		}
		if err := checkValue(settings[name], field.Type, within+name); err != nil {
			return err
		}
	}
	return nil
}

// checkValue checks one value, and those within it.
func checkValue(value any, of reflect.Type, name string) error {
	switch v := value.(type) {
	case nil:
		if of.Kind() != reflect.Pointer && of.Kind() != reflect.Interface {
			return fmt.Errorf("%s has no value; remove the key to use its default", name)
		}
	case float64:
		if v-v != 0 {
			return fmt.Errorf("%s is %v; it must be finite", name, v)
		}
	case []any:
		for i, element := range v {
			if err := checkValue(element, elementType(of), fmt.Sprintf("%s[%d]", name, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		if section := sectionType(of); section != nil {
			return checkKeys(v, section, name+".")
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := checkValue(v[key], elementType(of), name+"."+key); err != nil {
				return err
			}
		}
	case map[any]any:
		for key := range v {
			if _, ok := key.(string); !ok {
				return fmt.Errorf("%s: the key %v is not a string; write it in quotes", name, key)
			}
		}
	}
	return nil
}

// sectionType is the struct of a section that has keys, nil for other types.
func sectionType(of reflect.Type) reflect.Type {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	return of
}

// elementType is the type of the elements of a list, or of the values of a map; any
// for other types, which do not fit anyway.
func elementType(of reflect.Type) reflect.Type {
	switch of.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return of.Elem()
	}
	return reflect.TypeFor[any]()
}

// SettingKeys returns the fields of settings by their keys. Fields of embedded
// structs are keys of the same section.
func SettingKeys(of reflect.Type) map[string]reflect.StructField {
	keys := make(map[string]reflect.StructField)
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			maps.Copy(keys, SettingKeys(f.Type))
		case f.IsExported() && name != "-":
			keys[name] = f
		}
	}
	return keys
}
