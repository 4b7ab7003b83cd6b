package parquetfile

// sized returns a slice of n elements; it reuses s if its capacity is large enough.
func sized[T any](s []T, n int64) []T {
	if int64(cap(s)) < n {
		return make([]T, n)
	}
	return s[:n]
}
