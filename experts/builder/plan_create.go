package builder

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"pipe/costs"
	"pipe/experts/builder/part"
)

// constructors are those of one sort of part, by kind.
type constructors[T any] = map[string]func(ctx context.Context, s *part.Setup, settings map[string]any) (T, error)

// create makes a part of the kind and the settings of c. A constructor that returns neither a part nor an error is at fault.
func create[T any](ctx context.Context, known constructors[T], s *part.Setup, c part.Part) (T, error) {
	construct, err := part.Lookup(known, c.Kind)
	if err != nil {
		var none T
		return none, err
	}
	v, err := construct(ctx, s, c.Settings)
	if err == nil && isNil(v) {
		err = fmt.Errorf("the constructor of kind %q returned nil and no error", c.Kind)
	}
	return v, err
}

// isNil also finds a nil pointer or function within an interface, whose methods would crash.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func:
		return r.IsNil()
	}
	return false
}

// checkEncoder reports a source that promises an encoder and has none.
func checkEncoder(source part.Source) error {
	if e, ok := source.(part.EncodedSource); ok && e.Encoder() == nil {
		return errors.New("the source has no encoder, which an EncodedSource needs")
	}
	return nil
}

// checkSplits reports splits that are not one per instance, or that there are not.
func checkSplits(splits []costs.Split, entries []part.Entry) error {
	if len(splits) != len(entries) {
		return fmt.Errorf("it gave %d splits for %d instances", len(splits), len(entries))
	}
	for n, s := range splits {
		if s > costs.Test {
			return fmt.Errorf("instance %q: unknown split number %d", entries[n].ID, s)
		}
	}
	return nil
}
