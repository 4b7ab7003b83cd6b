package report

// RowKey is what the rows of one line of the table share.
type RowKey struct {
	Setting, Method string
	Lambda          float64 // -1: the row is of no regime
}

// Key is what the row shares with the same row of other reports.
func (r Row) Key() RowKey {
	k := RowKey{Setting: r.Setting, Method: r.Method, Lambda: -1}
	if r.Lambda != nil {
		k.Lambda = *r.Lambda
	}
	return k
}
