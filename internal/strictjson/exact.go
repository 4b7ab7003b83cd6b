package strictjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// known are the keys of struct types that were decoded before.
var known sync.Map // of map[string]reflect.Type

// keysOf returns the types of the fields of a struct by their keys in JSON.
func keysOf(t reflect.Type) map[string]reflect.Type {
	if keys, ok := known.Load(t); ok {
		return keys.(map[string]reflect.Type)
	}
	keys := make(map[string]reflect.Type)
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Tag.Get("json") == "-", !f.IsExported(), f.Anonymous && name == "" && target(f.Type).Kind() == reflect.Struct:
		case name == "":
			keys[f.Name] = f.Type
		default:
			keys[name] = f.Type
		}
	}
	known.Store(t, keys)
	return keys
}

// target is what pointers of a type lead to.
func target(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// visible is the type of a value whose keys the JSON package compares with fields, nil for others: those that decode
// themselves, and any.
func visible(t reflect.Type) reflect.Type {
	if t == nil {
		return nil
	}
	t = target(t)
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array:
		return t
	}
	return nil
}

// inside is the type of the values of a key, and whether they are read. near is the key of a field that differs from it
// only in case.
func inside(t reflect.Type, key string) (value reflect.Type, near string, read bool) {
	switch {
	case t == nil:
		return nil, "", true
	case t.Kind() == reflect.Map:
		return t.Elem(), "", true
	case t.Kind() != reflect.Struct:
		return nil, "", true
	}
	keys := keysOf(t)
	if value, ok := keys[key]; ok {
		return value, "", true
	}
	for name := range keys {
		if strings.EqualFold(name, key) {
			return nil, name, false
		}
	}
	return nil, "", false
}
