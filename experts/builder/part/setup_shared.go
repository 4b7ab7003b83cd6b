package part

import (
	"errors"
	"io"
	"reflect"
	"slices"
)

// registry holds resources that are opened once per build and closed with it.
type registry struct {
	opened map[registryKey]any
	order  []any // as they were opened
}

// registryKey distinguishes resources of different types with the same key.
type registryKey struct {
	kind reflect.Type
	key  string
}

// Shared returns the T of a key, such as the encoder of a path. The first caller opens it, later callers get the same
// one, and Build.Close closes it if it is an io.Closer. An error of open is returned, and nothing is kept. Constructors
// run one after the other, so Shared is not for concurrent use.
func Shared[T any](b *Build, key string, open func() (T, error)) (T, error) {
	k := registryKey{reflect.TypeFor[T](), key}
	if v, ok := b.shared.opened[k]; ok {
		return v.(T), nil
	}
	v, err := open()
	if err != nil {
		return v, err
	}
	if b.shared.opened == nil {
		b.shared.opened = make(map[registryKey]any)
	}
	b.shared.opened[k] = v
	b.Own(v)
	return v, nil
}

// Opened returns what of type T the build holds, by Shared or Own, in the order in which it was opened.
func Opened[T any](b *Build) []T {
	var list []T
	for _, v := range b.shared.order {
		if t, ok := v.(T); ok {
			list = append(list, t)
		}
	}
	return list
}

// Own makes the build close v, if it is an io.Closer, after everything that is opened later.
func (b *Build) Own(v any) { b.shared.order = append(b.shared.order, v) }

// Close closes the resources of the build, in reverse order of opening, and joins the errors. A second call does nothing.
func (b *Build) Close() error {
	order := b.shared.order
	b.shared = registry{}
	var errs []error
	for _, v := range slices.Backward(order) {
		if c, ok := v.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// VectorsOf returns the vectors of the image model of a digest, which covers weights, preprocessing and precision.
func VectorsOf(b *Build, digest string) (*ImageVectors, error) {
	return Shared(b, digest, func() (*ImageVectors, error) { return &ImageVectors{}, nil })
}
