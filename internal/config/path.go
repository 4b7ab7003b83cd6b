package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"

	"pipe/internal/storage"
)

// Path is a file or folder named in a configuration file. Load makes a relative one relative to the folder of
// the file that names it, so that a configuration works from any working directory. Its JSON form is the base name:
// digests of settings depend on what a file holds, not on where it lies.
type Path string

// MarshalJSON returns the last element of the path.
func (p Path) MarshalJSON() ([]byte, error) { return json.Marshal(p.Location().Base()) }

// Location is where the file or folder is. That of a URL that storage.Parse refuses is a path that does not exist: the URL
// without parameters, which may hold secrets.
func (p Path) Location() storage.Location {
	l, err := storage.Parse(string(p))
	var refused *storage.Error
	switch {
	case err == nil:
		return l
	case storage.IsURL(string(p)) && errors.As(err, &refused):
		return storage.File(refused.URL)
	}
	return storage.File(string(p))
}

// String is the path or URL without parameters.
func (p Path) String() string { return p.Location().String() }

// CheckLocal reports a URL of an object store, where only a file or a folder of this machine can be used.
func (p Path) CheckLocal() error {
	if at := p.Location(); at.IsRemote() || storage.IsURL(at.Path()) {
		return fmt.Errorf("%s must be on a local disk", at)
	}
	return nil
}

// Resolve returns the location of a path that a file in the folder dir names. An absolute path and a URL stay.
func Resolve(path string, dir storage.Location) storage.Location {
	if at := Path(path).Location(); at.IsRemote() || filepath.IsAbs(at.Path()) || storage.IsURL(path) {
		return at.With(dir)
	}
	return dir.Join(path)
}

// resolvePaths joins dir to every relative, non-empty Path below v.
func resolvePaths(v reflect.Value, dir storage.Location) {
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
			v.SetString(Resolve(v.String(), dir).URL())
		}
	}
}

// resolveMapPaths copies each value out and back in, because map elements cannot be set in place.
func resolveMapPaths(m reflect.Value, dir storage.Location) {
	for _, key := range m.MapKeys() {
		value := reflect.New(m.Type().Elem()).Elem()
		value.Set(m.MapIndex(key))
		resolvePaths(value, dir)
		m.SetMapIndex(key, value)
	}
}

var pathType = reflect.TypeFor[Path]()
