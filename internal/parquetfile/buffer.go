package parquetfile

// sized returns a slice of n elements, s itself where it has the room.
func sized[T any](s []T, n int64) []T {
	if int64(cap(s)) < n {
		return make([]T, n)
	}
	return s[:n]
}
