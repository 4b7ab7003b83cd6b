// Package lists has functions on ordered values that package slices lacks.
package lists

// Keep returns the values that wanted accepts, in their order; nil if there are none.
func Keep[T any](values []T, wanted func(T) bool) []T {
	var out []T
	for _, v := range values {
		if wanted(v) {
			out = append(out, v)
		}
	}
	return out
}

// Each returns f of every value.
func Each[T, U any](values []T, f func(T) U) []U {
	out := make([]U, len(values))
	for i, v := range values {
		out[i] = f(v)
	}
	return out
}

// Pick returns the values at the given indices; nil stays nil.
func Pick[T any](values []T, at []int) []T {
	if values == nil {
		return nil
	}
	return Each(at, func(i int) T { return values[i] })
}
