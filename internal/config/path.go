package config

import (
	"encoding/json"
	"path/filepath"
	"reflect"

	"pipe/internal/storage"
)

// Path is a file or folder named in a configuration file. Load makes a relative one relative to the folder of
// the file that names it, so that a configuration works from any working directory. Its JSON form is the base name:
// digests of settings depend on what a file holds, not on where it lies.
type Path string

// MarshalJSON returns the last element of the path.
func (p Path) MarshalJSON() ([]byte, error) { return json.Marshal(filepath.Base(string(p))) }

// Resolve returns a path that a file in the folder dir names. An absolute path stays, and a URL gets the form that package
// storage gives paths.
func Resolve(path, dir string) string {
	if storage.IsURL(path) {
		if known, err := storage.Path(path); err == nil {
			return known
		}
		return path // opening it has the error
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// resolvePaths joins dir to every relative, non-empty Path below v.
func resolvePaths(v reflect.Value, dir string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			resolvePaths(v.Elem(), dir)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				resolvePaths(v.Field(i), dir)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			resolvePaths(v.Index(i), dir)
		}
	case reflect.Map:
		resolveMapPaths(v, dir)
	case reflect.String:
		if v.Type() == pathType && v.CanSet() && v.String() != "" {
			v.SetString(Resolve(v.String(), dir))
		}
	}
}

// resolveMapPaths copies each value out and back in, because map elements cannot be set in place.
func resolveMapPaths(m reflect.Value, dir string) {
	for _, key := range m.MapKeys() {
		value := reflect.New(m.Type().Elem()).Elem()
		value.Set(m.MapIndex(key))
		resolvePaths(value, dir)
		m.SetMapIndex(key, value)
	}
}

var pathType = reflect.TypeFor[Path]()
