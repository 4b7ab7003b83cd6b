package part

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Lookup returns the constructor of a kind; the error lists the known ones. A nil constructor is an error.
func Lookup[T any](kinds map[string]T, kind string) (T, error) {
	c, ok := kinds[kind]
	if !ok {
		return c, fmt.Errorf("unknown kind %q; known are %s", kind, Known(kinds))
	}
	if v := reflect.ValueOf(c); v.Kind() == reflect.Func && v.IsNil() {
		return c, fmt.Errorf("kind %q has no constructor: it is nil", kind)
	}
	return c, nil
}

// Known lists the names of a table as errors do.
func Known[T any](kinds map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")
}
